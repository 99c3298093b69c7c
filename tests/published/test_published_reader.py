"""Reading tables from TOML: levels of facts, and files that are refused."""

from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.published.reader import read_tables

SOURCE = '[source]\nauthors = ["A B"]\ntitle = "T"\nvenue = "V"\nyear = 2000\n'
TABLE = """[[tables]]
id = "t-1"
title = "T"
where = "table 1"
study = "s"
unit = "percent"
definition = "d"
base_model = "m"
no_recipe = "as it is"
rows = ["r", { name = "s", recipe = "green-bert" }]
columns = ["a", { name = "b", base_model = "n" }]
values.r = [1, 2]
values.s = [3, { empty = "lost" }]
"""


def read(folder: Path, text: str):
    path = folder / "tables.toml"
    path.write_text(text, encoding="utf-8")
    return read_tables(path)


def test_facts_of_a_table_are_overridden_by_row_column_and_cell(tmp_path: Path) -> None:
    own = '[[tables.cells]]\nrow = "s"\ncolumn = "a"\nno_recipe = "none"\nunit = "points"\n'
    (table,) = read(tmp_path, SOURCE + TABLE + own)
    first, second, third, last = table.cells
    assert (first.value, first.facts.base_model, first.facts.no_recipe) == (1.0, "m", "as it is")
    assert (second.value, second.facts.base_model) == (2.0, "n")
    assert (third.facts.recipe, third.facts.no_recipe, third.facts.unit) == ("", "none", "points")
    assert (last.facts.recipe, last.facts.no_recipe) == ("green-bert", "")
    assert (last.value, last.reason, last.facts.base_model) == (None, "lost", "n")


def test_the_facts_of_a_file_are_those_of_its_tables(tmp_path: Path) -> None:
    common = '[common]\nbase_model = "common"\nsplit = "test"\n'
    (table,) = read(tmp_path, SOURCE + common + TABLE)
    assert table.cells[0].facts.base_model == "m"
    assert table.cells[0].facts.split == "test"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('study = "s"', 'study = "s"\nstudi = "s"', "unknown-setting"),
        ('title = "T"\nvenue', "venue", "missing-setting"),
        ("year = 2000", 'year = "2000"', "wrong-type"),
        ("[source]", "[source", "invalid-toml"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, old: str, new: str, code: str) -> None:
    with raises_input_error(code, "tables.toml"):
        read(tmp_path, (SOURCE + TABLE).replace(old, new, 1))
