"""The size of the code: ceilings that an issue may raise only by its stated allowance."""

import tomllib
from pathlib import Path

import pytest

from benchmarks.shape import measure_budget, share_of_sentences

CEILINGS = tomllib.loads((Path(__file__).parents[1] / ".ci" / "shape.toml").read_text())


@pytest.fixture(scope="module")
def measured() -> dict[str, float]:
    return measure_budget()


def test_no_figure_is_above_its_ceiling(measured):
    above = {name: value for name, value in measured.items() if value > CEILINGS["ceilings"][name]}
    assert above == {}


def test_every_figure_has_a_ceiling(measured):
    assert measured.keys() == CEILINGS["ceilings"].keys() == CEILINGS["targets"].keys()


def test_the_share_of_sentences_by_hand():
    said = "def test_a():\n    assert 'three words here' in text\n"
    matched = "def test_b():\n    with raises(Error, match='no such file'):\n        run()\n"
    short = "def test_c():\n    assert 'two words' == text\n"
    helper = "def look():\n    assert 'three words here'\n"
    assert share_of_sentences([said + matched, short + helper]) == 2 / 3
