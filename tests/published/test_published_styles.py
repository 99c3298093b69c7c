"""Bold, underlined and colored cells, as Fast 2023 prints them."""

from pathlib import Path

import pytest

from vocadapt.published.reader import find_table
from vocadapt.published.styles import GREEN, RED, CellStyle, style_cells

# Where the text at hand underlines other cells than the second best of a row.
MISPRINTS = {
    "fast-6.4": {("Mean (Clinical)", "BERT"): False},  # equal to the underlined last 25 %
    "fast-6.5": {
        ("I2B2-2010-RE", "last 50 %"): False,
        ("MedNLI", "last 25 %"): False,
        ("MedNLI", "freq 25 %"): False,
    },
    "fast-6.9": {("BC2GM", "reduced"): False, ("BC2GM", "combined"): True},  # 78.70 and 78.68
}


def test_the_best_is_bold_and_the_second_underlined() -> None:
    styles = style_cells(find_table("fast-6.2"))
    assert styles["HOC", "PubMedBERT-abstract"] == CellStyle(bold=True)
    assert styles["HOC", "PubMedBERT-fulltext"] == CellStyle(underlined=True)
    assert styles["HOC", "BERT"] == CellStyle()


def test_a_base_model_competes_as_a_change_of_zero() -> None:
    styles = style_cells(find_table("fast-6.6"))
    assert styles["HOC", "BERT"].bold
    assert styles["HOC", "+ syntactic WE"].underlined
    assert styles["EU-ADR", "+ semantic WE"].bold
    assert styles["EU-ADR", "+ syntactic WE"].underlined
    assert not styles["EU-ADR", "BERT"].bold


def test_each_base_model_has_its_own_competition() -> None:
    styles = style_cells(find_table("fast-6.3"))
    bold = [column for (row, column), style in styles.items() if row == "EU-ADR" and style.bold]
    assert bold == ["BERT, uniform", "PubMedBERT-fulltext, uniform"]


def test_equal_scores_share_a_rank() -> None:
    styles = style_cells(find_table("fast-6.7"))
    assert styles["Mean (all)", "50 %"].underlined
    assert styles["Mean (all)", "75 %"].underlined


def test_colors_by_depth() -> None:
    table = find_table("fast-6.6")
    styles = style_cells(table)
    deepest = styles["LINNAEUS", "+ semantic WE"]
    assert (deepest.color, deepest.depth) == (RED, 1.0)
    rise = styles["EU-ADR", "+ semantic WE"]
    assert (rise.color, rise.depth) == (GREEN, pytest.approx(1.26 / 93.66))
    assert styles["HOC", "BERT"].color == ""


def test_a_change_of_zero_has_no_color() -> None:
    style = style_cells(find_table("fast-6.7"))["MedNLI", "75 %"]
    assert (style.color, style.depth) == ("", 0.0)


def test_scores_have_no_color_and_text_and_empty_cells_no_style() -> None:
    assert {style.color for style in style_cells(find_table("fast-6.9")).values()} == {""}
    assert style_cells(find_table("fast-2.1")) == {}
    assert style_cells(find_table("poerner-ner")) == {}


def test_figures_of_another_kind_compete_apart() -> None:
    styles = style_cells(find_table("biobert-pytorch-ner"))
    bold = [column for (row, column), style in styles.items() if row == "LINNAEUS" and style.bold]
    assert bold == ["BioBERTv1.1, P", "BioBERTv1.1, R", "BioBERTv1.1, F1"]


@pytest.mark.parametrize("number", ["6.2", "6.3", "6.4", "6.5", "6.6", "6.7", "6.9"])
def test_the_second_best_are_those_that_the_text_underlines(shared: Path, number: str) -> None:
    text = (shared / "papers/fast-2023-thesis.txt").read_text(encoding="utf-8")
    before = text.split(f"\nTable {number}:")[0].split("\nTable ")[-1]
    table = find_table(f"fast-{number}")
    styles = style_cells(table)
    differing = {}
    for line in before.split("\n"):
        row, *values = line.replace("LINNEAEUS", "LINNAEUS").split("\t")
        if row not in table.row_names:
            continue
        for column, value in zip(table.column_names, values, strict=True):
            printed = "<u>" in value
            if printed != styles[row, column].underlined:
                differing[row, column] = printed
    assert differing == MISPRINTS.get(table.id, {})
