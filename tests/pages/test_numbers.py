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

NAN = float("nan")
WRITTEN = [
    (fraction, (0.235, -0.047, 0.9999, 1, 12.5), [".235", "-.047", "1.000", "1.000", "12.500"]),
    (fraction, (0.000506, 0, None, NAN), [".00051", ".000", "–", "–"]),
    (percent, (0.163, 0.0242, 0.00051, 0, 1), ["16.3 %", "2.42 %", "0.051 %", "0 %", "100 %"]),
    (percent, (0.99996, -0.035, -1e-12), ["99.996 %", "-3.50 %", "0 %"]),
    (percent, (None, NAN), ["–", "–"]),
    (signed, (0.047, -0.02, 0.0), ["+.047", "-.020", "+.000"]),
    (count, (12, 9881, 1_234_567), ["12", "9 881", "1 234 567"]),
    (megabytes, (0, 5_000, 500_000, 90.9e6), ["0 kB", "5 kB", "0.5 MB", "91 MB"]),
    (duration, (0.2, 4, 300, 8000), ["0 s", "4 s", "5 min", "2 h 13 min"]),
    (chance, (5 / 5933, 1 / 3, 2 / 3, 1.0), ["1 in 1 190", "1 in 3", "1 in 1.5", "1 in 1"]),
    (chance, (1e-9, 0, None, NAN), ["1 in 1 000 000 000", "–", "–", "–"]),
]


@pytest.mark.parametrize(("write", "values", "texts"), WRITTEN)
def test_numbers_are_written_in_one_way(write, values, texts):
    """Digits are grouped by a space at which no line breaks."""
    found = [write(value) for value in values]
    assert [re.sub(r"(?<=\d)\u202f(?=\d)", " ", text) for text in found] == texts


def test_one_thing_is_not_counted_in_the_plural():
    assert [count_noun(value, "step") for value in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]


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
