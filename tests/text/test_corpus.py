"""Corpora: every format gives the same lines in every iteration; every invalid file gives a
helpful message."""

import csv
import gzip
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.text.corpus import Corpus, CorpusSettings, open_corpus
from vocadapt.text.language import build_language_profile

LINES = ["The first line, with “quotes”.", "", 'A "second" one; naïve', "第三行", "last"]
TEXT = "".join(f"{line}\n" for line in LINES)


def write_parquet(path: Path, **columns: list[object]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path)
    return path


def write_csv(path: Path, rows: list[list[str]], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def write_format(folder: Path, name: str) -> Path:
    """The test lines in one format."""
    path = folder / name
    bare = name.removesuffix(".gz")
    if bare.endswith(".parquet"):
        return write_parquet(path, id=list(range(len(LINES))), text=LINES)
    if bare.endswith((".csv", ".tsv")):
        table = write_csv(
            folder / bare,
            [["id", "text"], *([str(i), line] for i, line in enumerate(LINES))],
            "\t" if ".tsv" in bare else ",",
        )
        content = table.read_bytes()
    elif bare.endswith((".jsonl", ".ndjson")):
        content = "".join(
            json.dumps({"id": i, "text": line}) + "\n" for i, line in enumerate(LINES)
        ).encode()
    else:
        content = TEXT.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


FORMATS = [
    "a.txt",
    "a.txt.gz",
    "a.gz",
    "a.jsonl",
    "a.jsonl.gz",
    "a.ndjson",
    "a.csv",
    "a.csv.gz",
    "a.tsv",
    "A.TXT",
    "a.parquet",
]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_lines_twice(name: str, tmp_path: Path):
    corpus = open_corpus([write_format(tmp_path, name)])
    assert list(corpus) == LINES
    assert list(corpus) == LINES
    assert [passage.fraction for passage in corpus.passages()][-1] == 1


@pytest.mark.parametrize("block", [1, 2, 5, 1 << 20])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl.gz", "a.csv", "a.parquet"])
def test_block_borders_do_not_matter(
    name: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", block)
    monkeypatch.setattr("vocadapt.text.formats.readers.RECORDS", 2)
    assert list(open_corpus([write_format(tmp_path, name)])) == LINES


def test_two_readings_at_once_do_not_disturb_each_other(tmp_path: Path):
    corpus = open_corpus([write_format(tmp_path, "a.csv")], CorpusSettings(sample=0.9))
    expected = list(corpus)
    pairs = list(zip(corpus, corpus, strict=True))
    assert [a for a, _ in pairs] == [b for _, b in pairs] == expected


def test_folders_are_read_in_order_and_files_once(tmp_path: Path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "z.txt").write_text("three\n")
    (tmp_path / "b" / "a.jsonl").write_text('{"text": "two"}\n')
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / ".hidden.txt").write_text("hidden")
    (tmp_path / "nothing.txt").write_text("")
    corpus = open_corpus([tmp_path, tmp_path / "a.txt", tmp_path / "b" / ".." / "a.txt"])
    assert list(corpus) == ["one", "two", "three"]
    assert corpus.bytes == sum(path.stat().st_size for path in corpus.files)
    assert len(corpus.files) == 3


def test_line_ends_and_byte_order_mark(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\ntwo\rtoo\n\u2028three\x0b\x85".encode())
    assert list(open_corpus([tmp_path / "a.txt"])) == ["one", "two\rtoo", "\u2028three\x0b\x85"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.csv", "a.tsv"])
def test_carriage_returns_end_lines_if_nothing_else_does(name: str, tmp_path: Path):
    path = write_format(tmp_path, name)
    content = path.read_bytes()
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(gzip.decompress(content).replace(b"\n", b"\r")))
    else:
        path.write_bytes(content.replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    assert list(open_corpus([path])) == LINES


def test_a_text_with_newlines_becomes_lines(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(
        '{"text": "one\\r\\ntwo"}\n\n{"text": null}\n{"text": "half \\ud800"}\n'
    )
    assert list(open_corpus([tmp_path / "a.jsonl"]))[:3] == ["one", "two", ""]
    assert "".join(open_corpus([tmp_path / "a.jsonl"])).encode()
    write_csv(tmp_path / "a.csv", [["text"], ["one\ntwo"], ["three"]])
    assert list(open_corpus([tmp_path / "a.csv"])) == ["one", "two", "three"]


def test_a_cell_and_a_line_of_a_megabyte(tmp_path: Path):
    long = "naïve " * 170_000
    write_csv(tmp_path / "a.csv", [["text"], [long]])
    (tmp_path / "a.txt").write_text(long, encoding="utf-8")
    before = csv.field_size_limit()
    assert (
        list(open_corpus([tmp_path / "a.csv"])) == [long] == list(open_corpus([tmp_path / "a.txt"]))
    )
    assert csv.field_size_limit() == before


def test_a_parquet_file_without_rows_or_with_two_columns_of_a_name_is_refused(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    empty = pyarrow.array([], pyarrow.string())
    write_parquet(tmp_path / "a.parquet", text=empty)
    with raises_input_error("no-rows"):
        open_corpus([tmp_path / "a.parquet"])
    cells = pyarrow.array(["a"])
    table = pyarrow.Table.from_arrays([cells, cells], names=["text", "text"])
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "b.parquet")
    with raises_input_error("repeated-column", "'text'"):
        open_corpus([tmp_path / "b.parquet"])


def test_fields_are_chosen(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"title": "t", "body": "b"}\n')
    write_csv(tmp_path / "b.csv", [["title", "body"], ["t2", "b2"]], ";")
    write_parquet(tmp_path / "c.parquet", title=["t3"], body=["b3"], year=[2020])
    assert list(open_corpus([tmp_path], CorpusSettings(field="body"))) == ["b", "b2", "b3"]
    write_parquet(tmp_path / "d.parquet", abstract=["one column"], year=[2020])
    assert list(open_corpus([tmp_path / "d.parquet"])) == ["one column"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize("field", ["abstract", ""])
def test_a_wrong_field_lists_those_that_exist(name: str, field: str, tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"title": "t", "body": "b"}\n')
    write_csv(tmp_path / "a.csv", [["title", "body"], ["t", "b"]])
    write_parquet(tmp_path / "a.parquet", title=["t"], body=["b"], year=[2020])
    with raises_input_error("unknown-field", name, "'title', 'body'") as caught:
        open_corpus([tmp_path / name], CorpusSettings(field=field))
    assert "year" not in str(caught.value)


def test_minimum_length(tmp_path: Path):
    (tmp_path / "a.txt").write_text("four\nfives\n\nsix letters\nfour")
    assert list(open_corpus([tmp_path / "a.txt"], CorpusSettings(min_length=5))) == [
        "fives",
        "six letters",
    ]


def test_sample_is_seeded_by_line_and_ignores_global_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a.txt").write_text("".join(f"{i}\n" for i in range(10_000)))
    (tmp_path / "b.txt").write_text("".join(f"b{i}\n" for i in range(10)))

    def read(**settings: float) -> list[str]:
        return list(open_corpus([tmp_path], CorpusSettings(**settings)))  # type: ignore[arg-type]

    tenth = read(sample=0.1)
    assert 900 < len(tenth) < 1100 and tenth != read(sample=0.1, seed=2)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", 100)
    assert read(sample=0.1) == tenth
    assert set(tenth) <= set(read(sample=0.2))
    corpus = open_corpus([tmp_path], CorpusSettings(sample=0.1))
    assert sum(passage.read for passage in corpus.passages()) == 10_010


def test_other_languages_are_dropped_on_demand(tmp_path: Path):
    english = [
        f"The patients in group {i} were treated with the drug and the pain was lower in the trial."
        for i in range(60)
    ]
    foreign = [
        "Die Behandlung senkte den Blutdruck der Kranken, doch die Nebenwirkungen waren häufiger.",
        "El tratamiento redujo la presión arterial, aunque los efectos adversos fueron frecuentes.",
        "Лечение снизило артериальное давление, но побочные эффекты встречались чаще.",
        "治疗降低了血压但是副作用更为常见治疗降低了血压但是副作用更为常见治疗降低了血压",
    ]
    too_short = ["Kurz", "12 34 56"]
    (tmp_path / "a.txt").write_text("\n".join([*english, *foreign, *too_short]), encoding="utf-8")
    kept = list(open_corpus([tmp_path / "a.txt"], CorpusSettings(language=True)))
    assert kept == [*english, *too_short]
    assert len(list(open_corpus([tmp_path / "a.txt"]))) == 66


def test_language_profile_by_hand():
    profile = build_language_profile(["the drug eases the pain of the patients now"] * 5 + ["rare"])
    line = "the pain of the patients, wxyzwxyzwxyzwxyz!"
    assert profile.common_fraction(line) == 20 / 36
    assert profile.common_fraction("too short") is None and profile.fits("too short")
    assert profile.min_fraction == 0.25
    assert build_language_profile([]).fits(line)


@pytest.mark.parametrize(
    "settings", [{"sample": 0}, {"sample": 1.5}, {"sample": float("nan")}, {"min_length": -1}]
)
def test_settings_are_checked(settings: dict[str, float]):
    with raises_input_error("out-of-range"):
        CorpusSettings(**settings)  # type: ignore[arg-type]


def test_digest_follows_content_and_settings(tmp_path: Path):
    first = tmp_path / "a.txt"
    first.write_text(TEXT, encoding="utf-8")
    digest = open_corpus([first]).digest()
    copy = tmp_path / "copy.txt"
    copy.write_text(TEXT, encoding="utf-8")
    assert open_corpus([copy]).digest() == digest == open_corpus([first]).digest()
    others = {
        open_corpus([first], CorpusSettings(min_length=1)).digest(),
        open_corpus([first], CorpusSettings(sample=0.5)).digest(),
        open_corpus([first, copy]).digest(),
    }
    (tmp_path / "copy.txt").write_text(TEXT + "more", encoding="utf-8")
    others.add(open_corpus([copy]).digest())
    (tmp_path / "a.csv").write_text(TEXT, encoding="utf-8")
    others.add(Corpus((tmp_path / "a.csv",)).digest())
    assert len(others | {digest}) == 6


BAD = {
    "empty.txt": (b"", "empty-file"),
    "picture.txt": (b"\x89PNG\r\n\x1a\n\0\0\0", "binary-file", "position 8"),
    "latin.txt": ("na\u00efve".encode("latin-1"), "not-utf8", "0xEF", "position 2"),
    "marked.txt": (b"\xef\xbb\xbfab\xe9", "not-utf8", "0xE9", "position 5"),
    "utf16.txt": ("text".encode("utf-16"), "not-utf8", "UTF-16"),
    "utf32.txt": ("text".encode("utf-32"), "not-utf8", "UTF-32"),
    "utf32be.txt": (b"\0\0\xfe\xff" + "text".encode("utf-32-be"), "not-utf8", "UTF-32"),
    "packed.txt": (gzip.compress(b"text"), "unnamed-gzip"),
    "latin.gz": (gzip.compress(b"caf\xe9\n"), "not-utf8", "position 3"),
    "torn.txt.gz": (gzip.compress(b"text" * 99)[:-9], "incomplete-gzip"),
    "fake.txt.gz": (b"plain text", "incomplete-gzip"),
    "paper.pdf": (b"%PDF", "unknown-file-kind"),
    "t.parquet.gz": (b"x", "unknown-file-kind"),
    "fake.parquet": (b"not parquet", "invalid-parquet"),
    "broken.jsonl": (b'{"text": "a"}\n\n{"text": \n', "invalid-json", "line 3:"),
    "list.jsonl": (b'["text"]\n', "not-a-json-object", "line 1:", "list"),
    "number.jsonl": (b'{"text": "a"}\n{"text": 3}\n', "field-without-text", "line 2:", "int"),
    "missing.jsonl": (
        b'{"text": "a"}\n{"title": "b", "body": "c"}\n',
        "unknown-field",
        "line 2",
        "'title', 'body'",
    ),
    "deep.jsonl": (b"[" * 100_000, "nested-too-deep", "line 1:"),
    "quote.csv": (b'text,id\n"open,1\nmore', "invalid-csv", "line 3:"),
    "ragged.csv": (b"id,text\n1,a\n2\n", "too-few-columns", "2"),
    "long.csv": (b"text,id\na,1\nfever, cough,2\n", "unlike-header", "line 3", "3", "2"),
    "quotes.csv": (b'id,text\n1,"Hot" flashes\n', "invalid-csv", "line 2:"),
    "twice.csv": (b"text,text\na,b\n", "repeated-column", "'text'"),
    "twice.tsv": (b"text\tid\ttext\na\tb\tc\n", "repeated-column", "'text'"),
    "none.jsonl": (b"{}\n", "no-field", "line 1:"),
    "latin.csv": (b"text\ncaf\xe9\n", "not-utf8", "position 8"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str, tmp_path: Path):
    content, code, *values = BAD[name]
    (tmp_path / name).write_bytes(content)
    with raises_input_error(code, *values) as caught:
        list(open_corpus([tmp_path / name]))
    assert name in caught.value.problem and caught.value.remedy and "\n" not in caught.value.problem


def test_bad_byte_far_into_a_file_names_its_position(tmp_path: Path):
    content = b"plain line of text\n" * 100_000
    (tmp_path / "a.txt").write_bytes(content + b"caf\xe9\n" + content)
    corpus = open_corpus([tmp_path / "a.txt"])
    with raises_input_error("not-utf8", "0xE9", f"{len(content) + 3:,}"):
        list(corpus)


def test_missing_files_and_unreadable_folders(tmp_path: Path):
    with raises_input_error("missing-file"):
        open_corpus([tmp_path / "none.txt"])
    with raises_input_error("no-text"):
        open_corpus([])
    with raises_input_error("no-readable-file", "0"):
        open_corpus([tmp_path])
    (tmp_path / "picture.png").write_bytes(b"x")
    with raises_input_error("no-readable-file", "1") as caught:
        open_corpus([tmp_path])
    assert ".jsonl" in caught.value.remedy


def test_a_named_file_without_a_known_suffix_is_plain_text_but_a_folder_skips_it(tmp_path: Path):
    (tmp_path / "stories.cor").write_text("one line\n", encoding="utf-8")
    assert list(open_corpus([tmp_path / "stories.cor"])) == ["one line"]
    with raises_input_error("no-readable-file", "1"):
        open_corpus([tmp_path])


def test_the_whole_machine_is_no_text():
    with raises_input_error("whole-machine"):
        open_corpus(["/"])


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.txt").write_text("a")
    listed = os.scandir

    def scandir(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with raises_input_error("unreadable-folder", "closed", "Permission denied"):
        open_corpus([tmp_path])
