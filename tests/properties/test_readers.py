"""Properties of readers: what is written is read back, and hostile bytes are refused in words."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.spaces.io.import_formats import read_space
from vocadapt.text.corpus import open_corpus
from vocadapt.text.spreadsheet import escape_cell, format_csv, unescape_cell
from vocadapt.training.tasks.formats.conll import read_sentences
from vocadapt.training.tasks.formats.squad import read_questions
from vocadapt.training.tasks.formats.table_rows import read_table_rows

characters = st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp", "Cn"))
word = st.text(characters, min_size=1, max_size=8)
line = st.lists(word, min_size=1, max_size=5).map(" ".join)
json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=("Cs",)), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
    max_leaves=8,
)
# Bytes without form, and bytes that begin like a file of some format.
hostile = st.builds(
    bytes.__add__,
    st.sampled_from(
        [
            b"",
            b"{",
            b"[",
            b'{"text": ',
            b"2 3\n",
            b"1 2\na ",
            b"\x1f\x8b\x08",
            b"\x93NUMPY\x01\x00",
            b"a\tB-X\n",
            b"text,label\n",
            b'"',
            b"\xff\xfe",
            b"PAR1",
            b"\x10\0\0\0\0\0\0\0{",
            b"<?xml",
            b"word 1 nan\n",
            b'{"data": [',
            b"\xef\xbb\xbf",
        ]
    ),
    st.binary(max_size=60),
)


@given(st.dictionaries(word, json_value, max_size=4))
def test_strict_json_reads_what_it_writes(tmp_path: Path, value) -> None:
    path = tmp_path / "a.json"
    strict_json.write(path, value)
    assert strict_json.read(path) == value


@pytest.mark.parametrize(
    "name", ["a.txt", "a.jsonl", "a.csv", "a.tsv", "a.txt.gz", "a.json", "a.xml", "a.parquet"]
)
@given(hostile)
def test_a_corpus_of_any_bytes_is_read_or_refused(tmp_path: Path, name: str, content) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    try:
        assert all("\n" not in one for one in open_corpus([path]))
    except InputError as error:
        assert error.problem


def read_rows(path: Path) -> object:
    return list(read_table_rows(path))


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (read_space, "a.vec"),
        (read_space, "a.npy"),
        (read_space, "a.safetensors"),
        (read_sentences, "a.conll"),
        (read_sentences, "a.jsonl"),
        (read_questions, "a.json"),
        (read_rows, "a.tsv"),
        (strict_json.read, "a.json"),
    ],
)
@given(hostile)
@example(b"[" * 100_000)
@example(b'{"a": ' + b"9" * 5000 + b"}")
def test_any_bytes_are_read_or_refused(tmp_path: Path, read, name: str, content) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (tmp_path / "words.txt").write_text("a\nb\n", encoding="utf-8")
    try:
        read(path)
    except InputError as error:
        assert error.problem


@given(st.lists(line, min_size=1, max_size=10))
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.tsv"])
def test_a_corpus_has_the_lines_that_were_written(tmp_path: Path, name: str, lines) -> None:
    path = tmp_path / name
    if name == "a.txt":
        text = "".join(f"{one}\n" for one in lines)
    elif name == "a.jsonl":
        text = "".join(json.dumps({"text": one}) + "\n" for one in lines)
    else:
        table = io.StringIO()
        delimiter = "," if name == "a.csv" else "\t"
        writer = csv.writer(table, delimiter=delimiter, lineterminator="\n")
        writer.writerows([["id", "text"], *([str(i), one] for i, one in enumerate(lines))])
        text = table.getvalue()
    path.write_text(text, encoding="utf-8")
    assert list(open_corpus([path])) == lines


@given(
    st.lists(
        st.lists(
            st.tuples(word, st.sampled_from(["O", "B-X", "I-X", "B-Y"])), min_size=1, max_size=6
        ),
        min_size=1,
        max_size=5,
    )
)
def test_tagged_sentences_are_read_as_they_were_written(tmp_path: Path, sentences) -> None:
    assume(not any(one[0][0].startswith("-DOCSTART-") for one in sentences))
    path = tmp_path / "a.conll"
    blocks = ["".join(f"{text}\t{tag}\n" for text, tag in one) for one in sentences]
    path.write_text("\n".join(blocks), encoding="utf-8")
    read = read_sentences(path, iob2=False).examples
    assert [list(zip(one.words, one.tags, strict=True)) for one in read] == sentences


finite = st.floats(-1000, 1000, width=32)


@given(st.data())
@pytest.mark.parametrize("binary", [False, True])
def test_word_vectors_are_read_as_they_were_written(tmp_path: Path, binary: bool, data) -> None:
    words = data.draw(st.lists(word, min_size=1, max_size=6, unique=True))
    dim = data.draw(st.integers(2, 4))
    row = st.lists(finite, min_size=dim, max_size=dim)
    rows = data.draw(st.lists(row, min_size=len(words), max_size=len(words)))
    matrix = np.array(rows, dtype=np.float32)
    content = f"{len(words)} {dim}\n".encode()
    for name, vector in zip(words, matrix, strict=True):
        numbers = " ".join(map(repr, vector.tolist())).encode()
        content += name.encode() + b" " + (vector.tobytes() if binary else numbers) + b"\n"
    path = tmp_path / "a.vec"
    path.write_bytes(content)
    space = read_space(path).space
    assert space.words == tuple(words)
    assert np.array_equal(space.matrix, matrix)


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=12))
@example("'=1+1")
def test_escaping_a_cell_is_reversible_and_leaves_no_formula(text: str) -> None:
    escaped = escape_cell(text)
    assert unescape_cell(escaped) == text
    assert not escaped.lstrip().startswith(("=", "+", "-", "@"))
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    cells = next(csv.reader(io.StringIO(format_csv([["x", text]]), newline="")))
    assert unescape_cell(cells[1]) == normal
