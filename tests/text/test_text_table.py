"""Tables as people write them are read as their clean twins; what was repaired is counted."""

import gzip
from pathlib import Path

import pytest

from vocadapt.text.corpus import open_corpus
from vocadapt.text.formats.readers import NO_NOTES, ReaderNotes

COMMAS = ["fever, cough, rash", "hot", "none; ever"]
FLASHES = ['"Hot" flashes', "cold", "rash"]
TWO_LINES = ["hot", "and cold", "rash"]
ROWS = [f"{number}\tcold" for number in range(2, 49)]
MERGED = ['"Hot flashes', *["cold"] * 47, 'sweats"']
JOINED, LITERAL = ReaderNotes(rows_joined=1), ReaderNotes(files_with_literal_quotes=1)
TABLES = {
    "one column": ("a.csv", "text\nfever, cough, rash\nhot\nnone; ever\n", COMMAS, NO_NOTES),
    "separators at the end": (
        "a.csv",
        "id,text\n1,hot,\n2,cold,,\n3,\n4,rash\n",
        ["hot", "cold", "", "rash"],
        NO_NOTES,
    ),
    "one column, quoted": (
        "a.csv",
        'text\n"fever, cough, rash"\nhot\nnone; ever\n',
        COMMAS,
        NO_NOTES,
    ),
    "one column, packed": (
        "a.csv.gz",
        "text\nfever, cough, rash\nhot\nnone; ever",
        COMMAS,
        NO_NOTES,
    ),
    "last of two": (
        "a.csv",
        "id,text\n1,fever, cough, rash\n2,hot\n3,none; ever\n",
        COMMAS,
        JOINED,
    ),
    "last of two, clean": (
        "a.csv",
        'id,text\n1,"fever, cough, rash"\n2,hot\n3,none; ever\n',
        COMMAS,
        NO_NOTES,
    ),
    "semicolons": ("a.csv", "id;text\n1;fever, cough, rash\n2;hot\n3;none; ever\n", COMMAS, JOINED),
    "a mark begins a cell": (
        "a.tsv",
        'id\ttext\n1\t"Hot" flashes\n2\tcold\n3\trash\n',
        FLASHES,
        LITERAL,
    ),
    "a mark begins a line": (
        "a.tsv",
        'text\tid\n"Hot" flashes\t1\ncold\t2\nrash\t3\n',
        FLASHES,
        LITERAL,
    ),
    "marks, clean": (
        "a.tsv",
        'id\ttext\n1\t"""Hot"" flashes"\n2\tcold\n3\trash\n',
        FLASHES,
        NO_NOTES,
    ),
    "marks, one column": ("a.csv", 'text\n"Hot" flashes\ncold\nrash\n', FLASHES, LITERAL),
    "a cell of two lines": (
        "a.tsv",
        'id\ttext\n1\t"hot\nand cold"\n2\trash\n',
        TWO_LINES,
        NO_NOTES,
    ),
    "a cell of two lines, one column": (
        "a.csv",
        'text\n"hot\nand cold"\nrash\n',
        TWO_LINES,
        NO_NOTES,
    ),
    "a mark that closes 48 rows later": (
        "a.tsv",
        "\n".join(["id\ttext", '1\t"Hot flashes', *ROWS, '49\tsweats"', ""]),
        MERGED,
        LITERAL,
    ),
    "a blank line first": ("a.csv", "\nid,text\n1,hot\n2,and cold\n3,rash\n", TWO_LINES, NO_NOTES),
    "blank lines": ("a.tsv", 'id\ttext\n\n1\t"Hot" flashes\n2\tcold\n\n3\trash', FLASHES, LITERAL),
}


@pytest.mark.parametrize("block", [5, 1 << 20])
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_read_as_its_clean_twin(
    kind: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", block)
    name, text, lines, notes = TABLES[kind]
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    corpus = open_corpus([tmp_path / name])
    assert list(corpus) == lines
    assert sum((passage.notes for passage in corpus.passages()), NO_NOTES) == notes


def test_what_was_repaired_is_reported():
    assert "3" in str(ReaderNotes(rows_joined=3))
    assert ReaderNotes(rows_joined=3).counts() == {"rows_joined": 3}
    assert ReaderNotes(articles=1).counts() == {
        "articles": 1,
        "articles_not_english": 0,
        "articles_without_text": 0,
    }
    assert (ReaderNotes(1, 2, 3) + ReaderNotes(rows_joined=4)) == ReaderNotes(1, 2, 3, 4)
