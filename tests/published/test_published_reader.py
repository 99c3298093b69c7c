"""Reading tables from TOML: levels of facts, and files that are refused with file and key."""

from pathlib import Path

import pytest

from vocadapt.errors import InputError
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
    ("old", "new", "said"),
    [
        ('where = "table 1"\n', "", "t-1: the key 'where' is missing"),
        ('study = "s"\n', "", "the key 'study' is missing"),
        ('unit = "percent"\n', "", "row 'r', column 'a': the key 'unit' is missing"),
        ('definition = "d"\n', "", "the key 'definition' is missing"),
        ('base_model = "m"\n', "", "the key 'base_model' is missing"),
        ('no_recipe = "as it is"\n', "", "the key 'recipe' is missing"),
        ('{ empty = "lost" }', '""', "row 's', column 'b': the key 'reason' is missing"),
        ('{ empty = "lost" }', '{ empy = "lost" }', "Did you mean empty"),
        ('study = "s"', 'study = "s"\nstudi = "s"', "no setting 'studi'"),
        ('study = "s"', 'study = "s"\nkind = "pose"', "Did you mean prose"),
        ('study = "s"', 'study = "s"\nkind = "frame"', "a frame has no values"),
        ("values.r = [1, 2]", "values.r = [1]", "'r': expected 2 values"),
        ("values.r = [1, 2]", "values.r = 1", "expected a list, got 1"),
        ("values.r = [1, 2]", "", "the row 'r' is missing"),
        ("values.r = [1, 2]", "values.r = [1, 2]\nvalues.q = [1, 2]", "Unknown row"),
        ("values.r = [1, 2]", "values.r = [1, true]", "column 'b': expected a number, got True"),
        ("values.r = [1, 2]", "values.r = [nan, 2]", "expected a number, got nan"),
        ("values.r = [1, 2]", "values.r = [inf, 2]", "expected a number, got inf"),
        ("values.r = [1, 2]", 'values.r = ["x", 2]', "expected a number, got 'x'"),
        ("values.r = [1, 2]", "values.r = [[1], 2]", "expected a number"),
        ('unit = "percent"', 'unit = "text"', "expected text, got 1"),
        ('["r", {', '["r", "r", {', "'r' is given twice"),
        ('["r", {', '["r", 3, {', "the key 'name' is missing in 3"),
        ('rows = ["r", { name = "s", recipe = "green-bert" }]', 'rows = "set"', "Unknown row set"),
        ('columns = ["a",', 'columns = [{ name = "a", change_from = "c" },', "Unknown column"),
        ('columns = ["a", { name = "b", base_model = "n" }]', "", "columns: expected a list"),
        ('["r", {', '[{ name = "r", mean_of = "x" }, {', "Unknown group"),
        ('study = "s"', 'study = "s"\ncells = [{ row = "q" }]', "Unknown row in .*: cells"),
        ("[[tables]]", "[[table]]", "Did you mean tables"),
        ('title = "T"\nvenue', "venue", "the setting 'title' is missing"),
        ("year = 2000", 'year = "2000"', "year: expected int"),
        ("[source]", "[source", "not valid TOML"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = SOURCE + TABLE
    assert old in text
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, text.replace(old, new, 1))
    assert "tables.toml" in str(caught.value)


def test_a_file_without_tables_and_two_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a list of tables"):
        read(tmp_path, SOURCE)
    with pytest.raises(InputError, match="'t-1' is given twice"):
        read(tmp_path, SOURCE + TABLE + TABLE)
    with pytest.raises(InputError, match="source: expected a table"):
        read(tmp_path, TABLE)
