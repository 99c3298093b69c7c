"""Tables show numbers as the rest of a page does, and still sort them as numbers."""

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from vocadapt.ui.components import tables
from vocadapt.ui.components.glossary import TERMS
from vocadapt.ui.state import address
from vocadapt.ui.text.number_formats import fraction, group_digits


@pytest.fixture
def draw(monkeypatch):
    """Return what is given to Streamlit: the data and the configuration of the columns."""
    drawn = []
    monkeypatch.setattr(
        tables.st, "dataframe", lambda data, **options: drawn.append((data, options))
    )

    def draw(data, **options):
        tables.draw_table(data, **options)
        data, given = drawn.pop()
        assert given["hide_index"]
        return data, given["column_config"]

    return draw


def displayed(styler):
    """The texts of the cells, by column."""
    cells = styler._translate(False, False)["body"]
    names = list(styler.data.columns)
    return {
        name: [row[place + 1]["display_value"] for row in cells] for place, name in enumerate(names)
    }


def test_whole_numbers_are_grouped_and_stay_numbers(draw):
    styler, _ = draw({"word": ["a", "1,000"], "n": [30_067, 12], "seen": [3.0, float("nan")]})
    assert displayed(styler) == {
        "word": ["a", "1,000"],
        "n": ["30\u202f067", "12"],
        "seen": ["3", "–"],
    }
    assert styler.data["n"].tolist() == [30_067, 12]


def test_fractions_lose_their_zero(draw):
    config = {"p": st.column_config.Column("P@5", help="h")}
    styler, changed = draw({"p": [0.2354, None]}, formatters={"p": fraction}, column_config=config)
    assert displayed(styler) == {"p": [".235", "–"]}
    assert (changed["p"]["label"], changed["p"]["help"]) == ("P@5", "h")


def test_other_columns_are_left_alone(draw):
    config = {"bar": st.column_config.ProgressColumn(min_value=0, max_value=1)}
    data = {"bar": [1], "yes": [True], "free": [0.25]}
    styler, changed = draw(data, column_config=config)
    assert changed == config and displayed(styler)["yes"] == [True]


def test_a_large_table_is_not_formatted_cell_by_cell(draw):
    words = [f"w{i}" for i in range(tables.MAX_STYLED)]
    data, config = draw({"word": words, "n": np.arange(tables.MAX_STYLED)})
    assert isinstance(data, pd.DataFrame)
    assert config["n"]["type_config"]["format"] == "localized" and "word" not in config


def test_the_head_of_a_column_explains_its_terms(draw, monkeypatch):
    monkeypatch.setattr(address, "find_open_part", lambda: "alignment")
    config = {"anchors": st.column_config.Column("n", help="Words in both.")}
    _, changed = draw({"chance": [0.5], "anchors": [7], "word": ["a"]}, column_config=config)
    assert changed["chance"]["help"] == f"**chance**: {TERMS['chance']}"
    assert changed["anchors"]["help"] == f"Words in both.\n\n**anchor**: {TERMS['anchor']}"
    assert changed["anchors"]["label"] == "n" and "word" not in changed


@pytest.mark.parametrize("data", [{}, {"n": []}, {"n": [], "word": []}])
def test_an_empty_table_is_drawn(draw, data):
    assert len(draw(data)[0].data) == 0


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("16,000 tokens, 1,234,567 lines", "16\u202f000 tokens, 1\u202f234\u202f567 lines"),
        ("lines 1,000.", "lines 1\u202f000."),
        ("n = 16,000, by id", "n = 16\u202f000, by id"),
        ("12,34 and 1,0000 and a1,000 and 0.5,000", "12,34 and 1,0000 and a1,000 and 0.5,000"),
        ("a, 100, b", "a, 100, b"),
    ],
)
def test_digits_in_messages_are_grouped(text, grouped):
    assert group_digits(text) == grouped
