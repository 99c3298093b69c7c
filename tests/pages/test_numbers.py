"""One format for numbers: the functions that format them, and the pages that use them."""

import ast
import re

import pytest

from tests.material.sources import check_files, list_modules, list_nodes, parse
from vocadapt.ui.text.number_formats import (
    chance,
    count,
    count_noun,
    duration,
    fraction,
    megabytes,
    percent,
    signed,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.235, ".235"),
        (-0.047, "-.047"),
        (0.9999, "1.000"),
        (1, "1.000"),
        (0.000506, ".00051"),
        (0, ".000"),
        (12.5, "12.500"),
        (10.25, "10.250"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_fractions_lose_their_leading_zero_and_nothing_else(value, text):
    assert fraction(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.163, "16.3 %"),
        (0.0242, "2.42 %"),
        (0.00051, "0.051 %"),
        (0, "0 %"),
        (1, "100 %"),
        (0.99996, "99.996 %"),
        (-0.035, "-3.50 %"),
        (-1e-12, "0 %"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_fractions_of_things_are_percentages(value, text):
    assert percent(value) == text


def test_differences_carry_their_sign():
    assert (signed(0.047), signed(-0.02), signed(0.0)) == ("+.047", "-.020", "+.000")


def test_counts_are_grouped_by_a_space_that_does_not_break():
    assert count(9881) == "9\u202f881"
    assert count(12) == "12"
    assert count(1_234_567) == "1\u202f234\u202f567"


def test_one_thing_is_not_counted_in_the_plural():
    counted = [count_noun(value, "step") for value in (0, 1, 2, 9881)]
    assert counted == ["0 steps", "1 step", "2 steps", "9\u202f881 steps"]


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 kB"), (5_000, "5 kB"), (500_000, "0.5 MB"), (90.9e6, "91 MB")]
)
def test_sizes(size, text):
    assert megabytes(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (4, "4 s"), (300, "5 min"), (8000, "2 h 13 min")]
)
def test_times(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5 / 5933, "1 in 1\u202f190"),
        (5 / 16000, "1 in 3\u202f200"),
        (1 / 3, "1 in 3"),
        (2 / 3, "1 in 1.5"),
        (1.0, "1 in 1"),
        (1e-9, "1 in 1\u202f000\u202f000\u202f000"),
        (0, "–"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_a_chance_level_is_one_in_so_many(value, text):
    assert chance(value) == text


def unformatted_numbers(source: str) -> list[str]:
    """Numbers in the sentences of a page that no function of `number_formats` has formatted: sizes,
    numbers with commas or a fixed number of digits, and chance levels as fractions.
    """
    found = []
    for node in list_nodes(parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "fraction":
            value = ast.unparse(node.args[0])
            # The chance level of a mean reciprocal rank is no probability.
            found += [value] * ("chance" in value and "mrr" not in value)
        if not isinstance(node, ast.JoinedStr):
            continue
        is_sentence = any(
            isinstance(part, ast.Constant) and " " in part.value for part in node.values
        )
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and is_sentence:
                spec = ast.unparse(part.format_spec) if part.format_spec else ""
                value = ast.unparse(part.value)
                if value.startswith(("len(", "sum(")) or re.search(r",|\.\dg|\.3f", spec):
                    found.append(value)
    return found


def test_pages_have_one_number_format():
    exceptions = ("number_formats.py", "markup_style.py")
    pages = [path for path in list_modules("vocadapt/ui") if path.name not in exceptions]
    check_files(unformatted_numbers, pages)


@pytest.mark.parametrize(
    "source",
    [
        'draw_note(f"{len(runs)} of all runs")',
        'draw_note(f"{len(labels) - 6} more")',
        'draw_note(f"of {total:,} tokens")',
        'draw_note(f"loss {loss:.3f}")',
        "chance = f\"chance {fraction(numbers['chance@5'])}\"",
    ],
)
def test_a_planted_number_without_a_format_is_found(source):
    assert len(unformatted_numbers(source)) == 1


def test_keys_and_formatted_numbers_are_no_offense():
    assert not unformatted_numbers(
        'draw(f"{count(len(runs))} runs, {fraction(p5)}", key=f"runs_{len(runs)}")'
    )
