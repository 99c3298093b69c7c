"""Exported tables: no cell is a formula for a spreadsheet, and our readers undo the escaping."""

import csv
import io
import random
import re
import unicodedata
from pathlib import Path

import pandas as pd
import pytest

from vocadapt.analysis.token_columns import read_token_table
from vocadapt.text.spreadsheet import (
    FORMULA,
    escape_cell,
    format_csv,
    format_frame_as_csv,
    format_tsv,
    unescape_cell,
)

FORMULAS = [
    '=HYPERLINK("http://x.com","y")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    " =1+1",
    "＝1",
    "﹦1",
    "'=1",
    "''-1",
    "-",
    "\ufeff=1",
    "\x00=1",
    "\u200b\u202e=1",
    "\xad\ufe0f\u3164@SUM(1)",
    "\U000e0041+1",
    "' =1",
]
# A separator or line break inside of a cell may begin another one.
INSIDE = {
    "\t=1+1": "\t'=1+1",
    "\r=1": "\r'=1",
    "a;=1": "a;'=1",
    "=1;\ufeff-1": "'=1;'\ufeff-1",
    "a\n'=1;b": "a\n''=1;b",
    ";;=1": ";;'=1",
}
HARMLESS = ["word", "##ing", "a=b", "'quoted'", "", "1-2", "'", "a; b", "a;'b'", "x −1", "a ;b= c"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_computes_is_escaped_and_read_back(text):
    escaped = escape_cell(text)
    assert escaped == f"'{text}" and unescape_cell(escaped) == text


@pytest.mark.parametrize("text", INSIDE)
def test_a_formula_after_a_separator_is_escaped_and_read_back(text):
    assert escape_cell(text) == INSIDE[text] and unescape_cell(INSIDE[text]) == text


@pytest.mark.parametrize("category", ["Cc", "Cf", "Zs", "Zl", "Zp"])
def test_every_character_that_shows_nothing_is_skipped(category):
    """Of these categories; only the marks that join numbers or letters of some scripts are visible."""
    shown = set(
        "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    )
    for character in map(chr, range(0x110000)):
        is_asked = unicodedata.category(character) == category
        if is_asked and character not in shown and not 0x13430 <= ord(character) <= 0x13440:
            assert "'" in str(escape_cell(f"{character}=1")), f"U+{ord(character):04X}"


def test_escaping_is_reversible():
    rng = random.Random(1)
    for _ in range(20_000):
        text = "".join(rng.choices("a'=-;\t\n\r \ufeff,\"", k=rng.randrange(9)))
        assert unescape_cell(escape_cell(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays_as_it_is(text):
    assert escape_cell(text) == text and unescape_cell(text) == text


def test_numbers_stay_numbers():
    assert escape_cell(-1.5) == -1.5 and format_tsv([(-1.5, "x")]) == "-1.5\tx\n"


def test_a_path_is_text():
    assert format_tsv([(Path("=1"), 1)]) == format_csv([(Path("=1"), 1)]).replace(",", "\t")
    assert format_tsv([(Path("=1\t@2"), 1)]).split("\t") == ["'=1 @2", "1\n"]


def test_no_cell_of_any_form_begins_like_a_formula():
    rows = [(text, -1) for text in [*FORMULAS, *INSIDE]]
    frame = pd.DataFrame(rows, columns=["token", "=number"])
    forms = (format_csv(rows), format_frame_as_csv(frame))
    cells = [
        cell
        for form in forms
        for line in csv.reader(io.StringIO(form, newline=""))
        for cell in line
    ]
    cells += [cell for line in format_tsv(rows).splitlines() for cell in line.split("\t")]
    parts = [part for cell in cells for part in re.split("[;\t\n\r]", cell)]
    shown = [
        re.sub(r"[\s\0\ufeff\u200b\u202e\xad\ufe0f\u3164\U000e0041]", "", part) for part in parts
    ]
    assert len(shown) > 80
    assert [part for part in shown if part.startswith(FORMULA) and part != "-1"] == []


def test_a_table_of_the_user_is_read_as_it_was_before_the_export(tmp_path):
    texts = ["=cmd", "'=cmd", "-", "word", "@home"]
    for name, content in (
        ("t.csv", format_csv([("token", "value"), *((text, 3) for text in texts)])),
        ("t.tsv", format_tsv([("token", "value"), *((text, 3) for text in texts)])),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert read_token_table(tmp_path / name) == dict.fromkeys(texts, "3")
