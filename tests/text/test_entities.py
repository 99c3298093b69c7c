"""The words inside the entities of a task file: what is read, and what is refused."""

import gzip

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.text.entities import read_entity_words
from vocadapt.text.splitter import Splitter

UNCASED = Splitter.bert()
TYPED = "Gout\tB-Disease\nand\tO\nrenal\tB-Disease\nfailure\tI-Disease\n\nGout\tB-Disease\n"


def write(tmp_path, content, name="task.tsv"):
    (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path / name


def test_words_entities_and_sentences(tmp_path):
    found = read_entity_words(write(tmp_path, TYPED), UNCASED)
    assert found.counts == {"gout": 2, "renal": 1, "failure": 1}
    assert next(iter(found.counts)) == "gout"
    assert (found.entities, found.sentences, found.tokens) == (3, 2, 5)


def test_bare_tags_and_document_lines(tmp_path):
    text = "-DOCSTART- 95369245\n\nIL-2\tB\ngene\tI\nis\tO\n-DOCSTART-\tO\nCD28\tB\n"
    found = read_entity_words(write(tmp_path, text), UNCASED)
    assert found.counts == {"il": 1, "-": 1, "2": 1, "gene": 1, "cd28": 1}
    assert (found.entities, found.sentences, found.tokens) == (2, 2, 4)


def test_a_cased_model_keeps_the_case(tmp_path):
    assert (
        read_entity_words(write(tmp_path, TYPED), Splitter.bert(lowercase=False)).counts["Gout"]
        == 2
    )


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("a\tI\nb\tI\n", 1),  # an I that nothing began
        ("a\tI-X\nb\tI-Y\n", 2),  # another type begins another entity
        ("a\tB-X\nb\tI-X\nc\tB-X\n", 2),
        ("a\tB-X\nb\tI-Y\n", 2),
        ("a\tB\n\nb\tI\n", 2),  # never across sentences
    ],
)
def test_where_an_entity_begins(tmp_path, text, entities):
    assert read_entity_words(write(tmp_path, text), UNCASED).entities == entities


def test_gzip_and_windows_lines(tmp_path):
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(TYPED.replace("\n", "\r\n").encode()))
    assert read_entity_words(tmp_path / "t.tsv.gz", UNCASED).counts["gout"] == 2


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("a\tB\nb O\n", "not-a-word-and-tag", "line 2"),
        ("a\tB\textra\n", "not-a-word-and-tag", "3 columns"),
        ("a\n", "not-a-word-and-tag", "1 columns"),
        ("\tB\n", "not-a-word-and-tag", "line 1"),
        ("a\tS-X\n", "unknown-tag", "'S-X'"),
        ("a\tB-\n", "unknown-tag", "'B-'"),
        ("a\tb\n", "unknown-tag", "'b'"),
        ("a\tB-X Y\n", "unknown-tag", "'B-X Y'"),
        ("a\tO\n", "no-entity", "1 words"),
        ("\n\n", "no-entity", "0 words"),
        ("a\tB\nb\tB-X\n", "mixed-tags", "lines 1 and 2"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, code, value):
    with raises_input_error(code, value) as raised:
        read_entity_words(write(tmp_path, text), UNCASED)
    assert raised.value.remedy


def test_no_file_a_folder_and_a_binary(tmp_path):
    (tmp_path / "b.tsv").write_bytes(b"a\tB\n\0\0")
    (tmp_path / "latin.tsv").write_bytes("café\tB\n".encode("latin-1"))
    for path in (tmp_path / "none.tsv", tmp_path, tmp_path / "b.tsv", tmp_path / "latin.tsv"):
        with pytest.raises(InputError):
            read_entity_words(path, UNCASED)


def test_the_published_number_of_entities(shared):
    found = read_entity_words(shared / "data/ner/NCBI-disease/train.tsv", UNCASED)
    assert (found.entities, found.sentences, found.tokens) == (5134, 5424, 135701)
