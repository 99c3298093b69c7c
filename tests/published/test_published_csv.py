"""Importing a CSV into the empty cells of a published table; hostile files."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.published.csv_values import ImportedValues, fill_table, read_csv
from vocadapt.published.reader import find_table
from vocadapt.settings import build_settings

COST, COVID, NEIGHBORS = "poerner-cost", "poerner-covid-qa", "poerner-neighbors"


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "values.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_empty_cells_are_filled_and_the_origin_is_shown(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "row,column,value,note\r\nGreenBioBERT,CO2,28,table 1\nGreenBioBERT,hardware,12 CPU,\n",
    )
    table = find_table(COST)
    imported = read_csv(path, table, who="ana", when="2026-11-23 20:00")
    filled = fill_table(table, imported)
    cell = filled.find_cell("GreenBioBERT", "CO2")
    assert cell.value == 28.0
    assert cell.facts.note == "table 1"
    assert cell.imported == "imported by ana from values.csv, 2026-11-23 20:00"
    assert cell.reason == ""
    assert filled.find_cell("GreenBioBERT", "hardware").value == "12 CPU"
    # Nothing else has changed, the published table least of all.
    assert len(filled.empty) == len(table.empty) - 2
    assert len(filled.cells) == len(table.cells)
    assert find_table(COST).find_cell("GreenBioBERT", "CO2").value is None


def test_imported_values_survive_json(tmp_path: Path) -> None:
    path = write(tmp_path, "row,column,value\nGreenBioBERT,CO2,28\nGreenBioBERT,hardware,CPU\n")
    imported = read_csv(path, find_table(COST))
    assert len(imported.sha256) == 64
    assert imported.when
    again = build_settings(ImportedValues, json.loads(json.dumps(asdict(imported))))
    assert again == imported


def test_a_cell_that_is_at_hand_is_accepted_only_with_an_equal_value(tmp_path: Path) -> None:
    table = find_table(COVID)
    row = '"1,380 questions, SQuADBERT"'
    imported = read_csv(write(tmp_path, f"row,column,value\n{row},EM,30.650\n"), table)
    assert imported.values == ()
    assert imported.known == 1
    assert fill_table(table, imported) == table
    with raises_input_error("at-hand", "line 2", "30.65"):
        read_csv(write(tmp_path, f"row,column,value\n{row},EM,30.66\n"), table)


def test_an_imported_value_is_at_hand_for_the_next_file(tmp_path: Path) -> None:
    path = write(tmp_path, "row,column,value\nGreenBioBERT,CO2,28\n")
    filled = fill_table(find_table(COST), read_csv(path, find_table(COST), who="ana"))
    other = write(tmp_path, "row,column,value\nGreenBioBERT,CO2,29\n")
    with raises_input_error("at-hand", "28.00", "ana"):
        read_csv(other, filled)


def test_names_escaped_for_a_spreadsheet_are_understood(tmp_path: Path) -> None:
    path = write(tmp_path, "row,column,value\nHOC,'+ target WE,-60.2\n")
    assert read_csv(path, find_table("fast-6.6")).known == 1


def test_values_of_another_table_are_refused(tmp_path: Path) -> None:
    imported = read_csv(
        write(tmp_path, "row,column,value\nGreenBioBERT,CO2,28\n"), find_table(COST)
    )
    with raises_input_error("other-table", "poerner-cost", "poerner-ner"):
        fill_table(find_table("poerner-ner"), imported)


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("", "missing-column", "'row'"),
        ("row,column,value\n", "no-values", ""),
        ("row;column;value\na;b;1\n", "unknown-name", "header"),
        ("row,value\nGreenBioBERT,28\n", "missing-column", "'column'"),
        ("row,column,value,value\nGreenBioBERT,CO2,1,1\n", "repeated", ""),
        ("row,colum,value\nGreenBioBERT,CO2,1\n", "unknown-name", "column?"),
        (
            "row,column,value\nGreenBioBERT,CO2\n",
            "wrong-columns",
            "line 2",
        ),
        ("row,column,value\nGreenBioBERT,CO2,1,2\n", "wrong-columns", "3 cells"),
        ("row,column,value\nGrenBioBERT,CO2,1\n", "unknown-name", "GreenBioBERT"),
        ("row,column,value\nGreenBioBERT,C02,1\n", "unknown-name", "CO2"),
        ("row,column,value\nGreenBioBERT,CO2,\n", "wrong-type", "''"),
        ("row,column,value\nGreenBioBERT,hardware,\n", "no-values", "line 2"),
        ("row,column,value\nGreenBioBERT,CO2,28 lbs\n", "wrong-type", "'28 lbs'"),
        ("row,column,value\nGreenBioBERT,CO2,nan\n", "wrong-type", "'nan'"),
        ("row,column,value\nGreenBioBERT,CO2,-inf\n", "wrong-type", "'-inf'"),
        ("row,column,value\nGreenBioBERT,CO2,1e999\n", "wrong-type", "'1e999'"),
        ("row,column,value\nGreenBioBERT,CO2,1_000\n", "wrong-type", "'1_000'"),
        ("row,column,value\nGreenBioBERT,CO2,٢٨\n", "wrong-type", "'٢٨'"),
        ("row,column,value\nGreenBioBERT,CO2,=2+3\n", "wrong-type", "'=2+3'"),
        (f"row,column,value\nGreenBioBERT,hardware,{'x' * 501}\n", "long-text", "500"),
        (f"row,column,value,note\nGreenBioBERT,CO2,1,{'x' * 501}\n", "long-text", "note"),
        ("row,column,value\nGreenBioBERT,CO2,1\nGreenBioBERT,CO2,1\n", "repeated", "line 3"),
        ('row,column,value\nGreenBioBERT,CO2,"1\n', "invalid-csv", ""),
        (f"row,column,value\n{'x' * 200_000},CO2,1\n", "invalid-csv", ""),
        (b"row,column,value\nGr\xffn,CO2,1\n", "not-utf8", ""),
        (b"row,column,value\n" + b"x" * (1 << 20), "file-too-large", ""),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str | bytes, code: str, value: str) -> None:
    with raises_input_error(code, value):
        read_csv(write(tmp_path, text), find_table(COST))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with raises_input_error("missing-file"):
        read_csv(tmp_path / "absent.csv", find_table(COST))
    with raises_input_error("not-a-file"):
        read_csv(tmp_path, find_table(COST))


def test_a_place_where_nothing_is_printed_cannot_be_filled(tmp_path: Path) -> None:
    path = write(tmp_path, "row,column,value\nBlueBERT,BERT,100\n")
    with raises_input_error("nothing-printed", "line 2"):
        read_csv(path, find_table("fast-3.1"))


def test_text_cells_take_any_text_and_keep_it(tmp_path: Path) -> None:
    text = "row,column,value\nwords of a wordpiece (across),query,<b>heart</b>\n"
    filled = fill_table(
        find_table(NEIGHBORS), read_csv(write(tmp_path, text), find_table(NEIGHBORS))
    )
    assert filled.grid["words of a wordpiece (across)", "query"].value == "<b>heart</b>"
