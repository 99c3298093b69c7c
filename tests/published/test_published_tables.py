"""The published tables: all that the project names are there, each cell is complete, and values are
those of the texts.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.material.cases import check_each
from tests.material.input_errors import raises_input_error
from vocadapt.presets import get_preset
from vocadapt.published.reader import TABLES as FILES
from vocadapt.published.reader import find_table, load_tables
from vocadapt.published.tables import ALL, KINDS, PLOTS, TEXT, PublishedCell
from vocadapt.system.files import read_toml
from vocadapt.training.scoring.scorers import SCORERS
from vocadapt.training.tasks.benchmarks import cards

THESIS = [
    "fast-figure-3.1",
    *(f"fast-{number}" for number in ("2.1", "3.1", "3.2", "3.3", "3.4", "4.1", "5.1", "6.1")),
    *(f"fast-6.{number}" for number in range(2, 10)),
    "fast-6.10a",
    "fast-6.10b",
    "fast-6.10-totals",
    "fast-6.11",
]
PRINTED = [
    *THESIS,
    "exbert-1",
    "exbert-2a",
    "exbert-2b",
    "exbert-prose",
    "poerner-coverage",
    "poerner-ia",
    "poerner-footprint",
]
FRAMES = [
    "fast-figure-6.1",
    "exbert-figure-4",
    "exbert-figure-5a",
    "exbert-figure-5b",
    "poerner-cost",
    "poerner-ner",
    "poerner-ablation",
    "poerner-neighbors",
]
METRICS = {"F1", "Macro-F1", "Micro-F1", "Acc"}  # of table 4.1
SCORED = [f"fast-6.{number}" for number in range(2, 10)]  # tables of the 18 tasks

TABLES = list(load_tables().values())
EVERY_CELL = [cell for table in TABLES for cell in table.cells]


@check_each("name", PRINTED)
def test_a_printed_table_has_all_its_values(name: str) -> None:
    table = find_table(name)
    assert table.cells
    assert not table.empty


@check_each("name", FRAMES)
def test_a_frame_has_rows_and_columns_but_no_value(name: str) -> None:
    table = find_table(name)
    assert table.kind == "frame"
    assert table.rows
    assert table.columns
    assert table.empty == table.cells
    assert all("figure" in cell.reason or "not in the text" in cell.reason for cell in table.cells)


def test_only_what_was_verified_of_covid_qa_is_at_hand() -> None:
    table = find_table("poerner-covid-qa")
    at_hand = {(cell.row, cell.column): cell.value for cell in table.cells if cell.at_hand}
    assert at_hand == {
        ("1,380 questions, SQuADBERT", "EM"): 30.65,
        ("1,380 questions, SQuADBERT", "F1"): 55.71,
        ("1,380 questions, Green, CORD-19 only", "EM"): 32.25,
        ("1,380 questions, Green, CORD-19 only", "F1"): 57.04,
        ("2,019 questions, SQuADBERT", "EM"): 33.04,
        ("2,019 questions, SQuADBERT", "F1"): 58.24,
        ("2,019 questions, Green, CORD-19 only", "EM"): 34.62,
        ("2,019 questions, Green, CORD-19 only", "F1"): 60.09,
    }
    remembered = table.find_cell("2,019 questions, Green, CORD-19+PubMed+PMC", "F1")
    assert remembered.value is None
    assert remembered.reason == "only remembered, not verified"


@pytest.mark.parametrize(
    ("table", "row", "column", "value"),
    [
        ("fast-figure-3.1", "model size", "50 % removed", -10.7),
        ("fast-2.1", "acetyltransferase", "BERT", "ace-ty-lt-ran-sf-eras-e"),
        ("fast-2.1", "naloxone", "SciBERT", "nal-oxo-ne"),
        ("fast-3.1", "PubMedBERT-abstract", "PubMedBERT-fulltext", 83.0),
        ("fast-3.2", "BlueBERT", "PubMedBERT-abstract", -0.05),
        ("fast-3.4", "left, abandoned", "PubMedBERT-fulltext", -0.012),
        ("fast-4.1", "DDI-2013", "Metric", "Micro-F1"),
        ("fast-6.1", "learning rate", "Final Value", "2e-5"),
        ("fast-6.2", "I2B2-2010-RE", "PubMedBERT-abstract", 66.07),
        ("fast-6.4", "LINNAEUS", "random 75 %", -9.14),
        ("fast-6.5", "HOC", "longest 75 %", -59.04),
        ("fast-6.6", "LINNAEUS", "+ semantic WE", -93.66),
        ("fast-6.7", "I2B2-2010-NER", "75 %", 4.07),
        ("fast-6.8", "Mean (all)", "25 %", -0.13),
        ("fast-6.9", "HOC", "combined", 91.75),
        ("fast-6.10b", "random", "0.25", 84.43),
        ("exbert-1", "exBERT, with extension vocabulary", "33.2 %", 0.8381),
        ("exbert-1", "exBERT, with extension vocabulary", "no module", 0.7793),
        ("exbert-1", "BERT", "no module", 0.7785),
        ("exbert-2a", "oiBioBERT", "20 hrs", 0.8207),
        ("exbert-2b", "BERT", "F1 score", 0.7793),
        ("exbert-2b", "exBERT, 64 hrs", "Model size", 153.0),
        ("poerner-coverage", "mean of eight tasks", "to BioBERTv1.1", 60.0),
        ("poerner-ia", "words ending in -ia", "inside a disease", 82.0),
        ("poerner-footprint", "GreenBioBERT", "CO2", 5.0),
        ("poerner-footprint", "GreenBioBERT", "cloud cost", 2.0),
        ("biobert-pytorch-ner", "LINNAEUS", "BioBERTv1.1, R", 84.36),
    ],
)
def test_values_read_by_hand(table: str, row: str, column: str, value: object) -> None:
    assert find_table(table).find_cell(row, column).value == value


@check_each("table", TABLES, lambda table: table.id)
def test_every_cell_has_all_that_a_reader_needs(table) -> None:
    for cell in table.cells:
        assert cell.facts.unit
        assert cell.facts.definition
        assert cell.facts.base_model
        assert cell.where
        assert cell.source.authors
        assert bool(cell.facts.recipe) != bool(cell.facts.no_recipe)
        assert cell.at_hand != bool(cell.reason)
        if cell.at_hand:
            assert isinstance(cell.value, str) == (cell.facts.unit == TEXT)


def check_names(table: Mapping[str, Any]) -> None:
    """Check that a table in a file names only its own rows, columns and groups."""
    loaded = find_table(table["id"])
    rows, columns = set(loaded.row_names), set(loaded.column_names)
    assert len(rows) == len(loaded.rows) and len(columns) == len(loaded.columns)
    assert loaded.title and loaded.where and loaded.study
    assert loaded.kind in KINDS and loaded.plot in ("", *PLOTS)
    values = table.get("values", {})
    if loaded.kind == "frame":
        assert values.keys() <= rows
        assert all({*row} <= {"", "-"} for row in values.values())
    else:
        assert values.keys() == rows
    cells = table.get("cells", [])
    named = [*cells, *({"column": one.change_from} for one in (loaded.facts, *loaded.columns))]
    for gap in loaded.gaps:
        named += [{"column": column} for column in (gap.low, gap.high, gap.ours)]
    for one in named:
        assert {one.get("row", "")} <= {*rows, ""} and {one.get("column", "")} <= {*columns, ""}
    groups = {ALL, *(group for row in loaded.rows for group in row.groups)}
    assert {row.mean_of for row in loaded.rows} <= {*groups, ""}


def test_files_name_only_rows_and_columns_of_their_tables() -> None:
    ids = []
    for path in FILES.glob("*.toml"):
        for table in read_toml(path)["tables"]:
            check_names(table)
            ids.append(table["id"])
    assert len(ids) == len(set(ids)) == len(TABLES)
    assert all(math.isfinite(cell.value) for cell in EVERY_CELL if isinstance(cell.value, float))
    assert all(cell.value.strip() for cell in EVERY_CELL if isinstance(cell.value, str))


def test_recipes_are_presets() -> None:
    recipes = {cell.facts.recipe for cell in EVERY_CELL} - {""}
    assert len(recipes) > 20
    for name in recipes:
        assert get_preset(name).name == name


def test_benchmarks_and_scorers_are_known_ones() -> None:
    of_tasks = [cell for cell in EVERY_CELL if "/" in cell.facts.data]
    assert len(of_tasks) > 1000
    for cell in of_tasks:
        assert cell.facts.data in cards()
        assert cell.facts.scorer in {*SCORERS, ""}


def test_the_recipe_of_a_reduction_removes_what_its_column_does_not_keep() -> None:
    """Tables 6.4 and 6.5 name the part removed, table 6.10 the part kept."""
    for name, base in (("fast-6.10a", "fast-6.4"), ("fast-6.10b", "fast-6.5")):
        kept, removed = find_table(name), find_table(base)
        assert any("kept" in note for note in kept.notes)
        assert any("removed" in note for note in removed.notes)
        for cell in kept.cells:
            percent = round(100 * (1 - float(cell.column)))
            twin = removed.find_cell("HOC", f"{cell.row} {percent} %")
            assert twin.facts.recipe == cell.facts.recipe == f"reduced-{cell.row}-{percent}"
            assert twin.facts.base_model == cell.facts.base_model


def test_the_same_scores_are_printed_wherever_a_table_repeats_them() -> None:
    scores, tasks = find_table("fast-6.2").grid, find_table("fast-6.2").row_names
    repeats = [("BERT", f"fast-{n}") for n in ("6.3", "6.4", "6.6", "6.7", "6.9")]
    repeats += [("PubMedBERT-fulltext", f"fast-{n}") for n in ("6.3", "6.5", "6.8")]
    for column, name in repeats:
        other = find_table(name).grid
        assert [other[task, column].value for task in tasks] == [
            scores[task, column].value for task in tasks
        ]


def test_table_6_9_is_the_sum_of_tables_6_2_and_6_4_to_6_7() -> None:
    best, bert = find_table("fast-6.9"), find_table("fast-6.2")
    differing = []
    for column, name, change in (
        ("reduced", "fast-6.4", "last 50 %"),
        ("transfer", "fast-6.6", "+ syntactic WE"),
        ("combined", "fast-6.7", "50 %"),
    ):
        for task in best.row_names:
            total = bert.grid[task, "BERT"].number + find_table(name).grid[task, change].number
            if abs(total - best.grid[task, column].number) > 0.0101:
                differing.append((column, task))
    # Table 6.7 leaves HOC out of these two means, table 6.9 does not.
    assert differing == [("combined", "Mean (Classif.)"), ("combined", "Mean (all)")]


def test_the_last_column_of_table_6_7_repeats_the_syntactic_transfer() -> None:
    transfer, combined = find_table("fast-6.6").grid, find_table("fast-6.7").grid
    differing = [
        task
        for task in find_table("fast-6.6").row_names
        if transfer[task, "+ syntactic WE"].value != combined[task, "100 %"].value
    ]
    assert differing == ["Mean (Classif.)", "Mean (all)"]


def test_table_4_1_and_the_cards_agree_on_domain_and_kind() -> None:
    table = find_table("fast-4.1")
    names = find_table("fast-6.2").row_names[: len(table.rows)]
    groups = {row.name: row.groups for row in find_table("fast-6.2").rows}
    for printed, name in zip(table.row_names, names, strict=True):
        domain = table.grid[printed, "Domain"].value
        assert str(domain).lower() in map(str.lower, groups[name])
        labels = table.grid[printed, "Task"].value in ("N.E.R.", "De-ID")
        assert labels == ("sequence labeling" in groups[name])


def test_bert_gives_13_3_percent_more_tokens() -> None:
    bert, pubmed, more = (cell.number for cell in find_table("fast-6.10-totals").cells)
    assert round(100 * (bert / pubmed - 1), 1) == more


def test_a_failed_run_scored_zero() -> None:
    table = find_table("fast-6.6")
    failed = [cell for cell in table.cells if cell.collapsed]
    assert [(cell.row, cell.column) for cell in failed] == [("LINNAEUS", "+ semantic WE")]
    assert failed[0].number + table.grid["LINNAEUS", "BERT"].number == 0
    assert [cell for cell in EVERY_CELL if cell.collapsed] == failed


def test_a_change_is_defined_as_one() -> None:
    cell = find_table("fast-6.4").find_cell("HOC", "last 25 %")
    assert cell.facts.definition.startswith("change against BERT: example-based F1")
    assert cell.facts.change_from == "BERT"
    base = find_table("fast-6.4").find_cell("HOC", "BERT")
    assert base.facts.change_from == ""
    assert base.facts.unit == "percent"


def test_values_are_formatted_as_printed() -> None:
    def show(table: str, row: str, column: str) -> str:
        return find_table(table).find_cell(row, column).format_value()

    assert show("fast-6.2", "BC5CDR-disease", "BERT") == "80.00"
    assert show("fast-3.4", "left, abandoned", "PubMedBERT-abstract") == "-0.058"
    assert show("exbert-2a", "exBERT", "16 hrs") == "0.8390"
    assert show("fast-2.1", "DNA", "BERT") == "✓"
    assert show("poerner-cost", "GreenBioBERT", "CO2") == ""


def test_citations() -> None:
    assert find_table("fast-6.2").source.citation == "Fast 2023"
    assert find_table("exbert-1").source.citation == "Tai et al. 2020"
    assert find_table("poerner-ner").source.citation == "Poerner et al. 2020"
    assert find_table("biobert-pytorch-ner").source.citation == "dmis-lab"


def test_an_unknown_table_row_or_column_names_the_nearest() -> None:
    with raises_input_error("unknown-name", "fast-6.6"):
        find_table("fast-6,6")
    table = find_table("fast-6.6")
    with raises_input_error("unknown-name", "LINNAEUS"):
        table.find_cell("linneaeus", "BERT")
    with raises_input_error("unknown-name", "+ target WE"):
        table.find_cell("HOC", "target WE")
    with raises_input_error("nothing-printed"):
        find_table("fast-3.1").find_cell("BlueBERT", "BERT")


def printed_rows(text: str, number: str, columns: int) -> dict[str, list[str]]:
    """The rows of a table of the text, by their first cell; the marks of the second best are removed."""
    lines = text.split("\n")
    end = next(i for i, line in enumerate(lines) if line.startswith(f"Table {number}:"))
    start = end
    while not lines[start].startswith(("Table", "Figure", "Chapter")) or start == end:
        start -= 1
    rows = [re.sub("</?u>", "", line).split("\t") for line in lines[start:end] if "\t" in line]
    return {
        row[0].replace("LINNEAEUS", "LINNAEUS"): row[1:] for row in rows if len(row) == columns + 1
    }


def is_equal(cell: PublishedCell, printed: str) -> bool:
    return cell.value == (printed if isinstance(cell.value, str) else float(printed.strip("%")))


@pytest.mark.parametrize(
    "name", [*SCORED, "fast-2.1", "fast-3.1", "fast-3.2", "fast-3.3", "fast-5.1", "fast-6.1"]
)
def test_every_value_stands_in_the_text_at_its_place(shared: Path, name: str) -> None:
    text = (shared / "papers/fast-2023-thesis.txt").read_text(encoding="utf-8")
    text = text.replace("lid-oca-ine]", "lid-oca-ine").replace("{", "").replace("}", "")
    table = find_table(name)
    printed = printed_rows(text, name.removeprefix("fast-"), len(table.columns))
    for row in table.row_names:
        for column, value in zip(table.column_names, printed[row], strict=True):
            cell = table.grid.get((row, column))
            if cell is None:
                assert value == "-"
            else:
                assert is_equal(cell, value), (row, column, value)


@pytest.mark.parametrize(("name", "skipped"), [("fast-6.10a", 0), ("fast-6.10b", 1)])
def test_every_value_of_table_6_10_stands_in_the_text(
    shared: Path, name: str, skipped: int
) -> None:
    text = (shared / "papers/fast-2023-thesis.txt").read_text(encoding="utf-8")
    for row in find_table(name).row_names:
        lines = re.findall(rf"^(?:reduction heuristic)?\t{row}\t(\d.*%)$", text, re.MULTILINE)
        printed = [float(value.strip("%")) for value in lines[skipped].split("\t")]
        cells = find_table(name).cells
        assert [cell.value for cell in cells if cell.row == row] == printed


def test_every_neighbor_of_table_6_11_stands_in_the_text(shared: Path) -> None:
    text = (shared / "papers/fast-2023-thesis.txt").read_text(encoding="utf-8")
    printed = re.findall(r"([^\s(',]+)', (0\.\d\d)\)", text.split("V_{\\text{PubMedBERT}}")[1])
    ours = [
        (token.strip("[]"), cosine)
        for cell in find_table("fast-6.11").cells
        for token, cosine in re.findall(r"(\S+) (0\.\d\d)", str(cell.value))
    ]
    assert len(ours) == 5 * 23  # cells: three more say OOV
    assert ours == [(token.strip("[]"), cosine) for token, cosine in printed[: len(ours)]]


@pytest.mark.parametrize("name", ["exbert-1", "exbert-2a", "exbert-2b"])
def test_every_value_of_exbert_stands_in_the_text(shared: Path, name: str) -> None:
    text = (shared / "papers/exbert-2020.txt").read_text(encoding="utf-8")
    for cell in find_table(name).cells:
        if cell.facts.unit == "fraction":
            assert re.search(rf"(?<!\d)0?\{f'{cell.value:.4f}'[1:]}\b", text)
        else:
            assert re.search(rf"\b{cell.value:.0f}(M| hrs)", text)


def test_every_verified_score_stands_in_the_reference(shared: Path) -> None:
    text = (shared / "reference/reference-implementations.md").read_text(encoding="utf-8")
    verified = [line for line in text.split("\n") if "[V]" in line or "BC4CHEMD 90.42" in line]
    known = " ".join([*verified, *(line for line in text.split("\n") if "84.84/87.95" in line)])
    for name in ("poerner-covid-qa", "biobert-pytorch-ner"):
        for cell in find_table(name).cells:
            assert not cell.at_hand or cell.format_value() in known


def test_tables_3_4_and_4_1_stand_in_the_text(shared: Path) -> None:
    text = (shared / "papers/fast-2023-thesis.txt").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.split("\n")]
    cosines = {line[0]: line[1:] for line in lines if line[0].startswith("left, ")}
    table = find_table("fast-3.4")
    for row in table.rows:
        relation, *values = cosines[row.name]
        assert relation == row.note
        assert [table.grid[row.name, name].value for name in table.column_names] == [
            float(value) for value in values
        ]
    # Table 4.1 prints two tasks side by side, after a label of the half.
    tasks = [line[at : at + 4] for at in (1, 5) for line in lines if len(line) in (9, 10)]
    printed = {task[0]: task[1:] for task in tasks if task[-1].rstrip() in METRICS}
    table = find_table("fast-4.1")
    assert list(printed) == list(table.row_names)
    for name, values in printed.items():
        assert [table.grid[name, column].value for column in table.column_names] == values


@pytest.mark.parametrize(
    ("file", "table", "pattern"),
    [
        ("poerner", "poerner-coverage", r"\((\d+)% for BioBERTv1.0, (\d+)% for .*? and (\d+)% for"),
        ("poerner", "poerner-ia", r"(\d+)% of the words in the BC5CDR"),
        ("poerner", "poerner-footprint", r"at (\d+)% of BioBERT's .*? and (\d+)% of its cloud"),
        ("fast", "fast-figure-3.1", r"by about ([\d.]+)%, at 50% .*? ([\d.]+)% .*? even (\d+)%"),
        ("fast", "fast-6.10-totals", r"(72\.4) Mio[\s\S]*?(63\.9) Mio[\s\S]*?ca\. ([\d.]+)% more"),
    ],
)
def test_numbers_of_the_prose_stand_in_the_text(
    shared: Path, file: str, table: str, pattern: str
) -> None:
    (path,) = (shared / "papers").glob(f"{file}*.txt")
    found = re.search(pattern, path.read_text(encoding="utf-8"))
    assert found
    assert [abs(cell.number) for cell in find_table(table).cells] == [
        float(number) for number in found.groups()
    ]


@pytest.mark.parametrize(
    ("row", "printed"),
    [
        ("original tokens", "30,522 (original)"),
        ("extension tokens", "17,748 (extension)"),
        ("more tokens in the larger extension", "12K words"),
        ("F1 gained by the larger extension", "by 0.0041 F1"),
        ("part of the corpus read by exBERT in 24 hours", "exBERT (24%)"),
        ("part of the corpus read by oiBioBERT in 24 hours", "portion (34%)"),
        ("computation of exBERT relative to oiBioBERT", "computation (1.4x)"),
        ("parameters of exBERT", "138 million parameters"),
        ("parameters of BERT", "110 million parameters"),
    ],
)
def test_numbers_of_exberts_prose_stand_in_the_text(shared: Path, row: str, printed: str) -> None:
    text = (shared / "papers/exbert-2020.txt").read_text(encoding="utf-8")
    assert printed in " ".join(text.split())
    number = float(re.search(r"[\d.,]+", printed)[0].replace(",", ""))
    value = find_table("exbert-prose").find_cell(row, "printed").value
    assert value == (number * 1000 if "12K" in printed else number)
