"""Exported tables: no cell is a formula for a spreadsheet, and our readers undo the escaping."""

import csv
import io

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
    "\t=1+1",
    " =1+1",
    "\r=1",
    "＝1",
    "'=1",
    "''-1",
    "-",
]
HARMLESS = ["word", "##ing", "a=b", "'quoted'", "", "1-2", "'"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_computes_is_escaped_and_read_back(text):
    escaped = escape_cell(text)
    assert escaped == f"'{text}" and unescape_cell(escaped) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays_as_it_is(text):
    assert escape_cell(text) == text and unescape_cell(text) == text


def test_numbers_stay_numbers():
    assert escape_cell(-1.5) == -1.5 and format_tsv([(-1.5, "x")]) == "-1.5\tx\n"


def test_no_cell_of_any_form_begins_like_a_formula():
    rows = [(text, -1) for text in FORMULAS]
    frame = pd.DataFrame(rows, columns=["token", "=number"])
    forms = (format_csv(rows), format_frame_as_csv(frame))
    cells = [
        cell
        for form in forms
        for line in csv.reader(io.StringIO(form, newline=""))
        for cell in line
    ]
    cells += [cell for line in format_tsv(rows).splitlines() for cell in line.split("\t")]
    assert [cell for cell in cells if cell.strip().startswith(FORMULA) and cell != "-1"] == []


def test_a_table_of_the_user_is_read_as_it_was_before_the_export(tmp_path):
    texts = ["=cmd", "'=cmd", "-", "word", "@home"]
    for name, content in (
        ("t.csv", format_csv([("token", "value"), *((text, 3) for text in texts)])),
        ("t.tsv", format_tsv([("token", "value"), *((text, 3) for text in texts)])),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert read_token_table(tmp_path / name) == dict.fromkeys(texts, "3")
