"""Lines of plain text: each has an example and a prediction, blank ones too."""

import json
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.training.prediction.plain_text import (
    add_blank_lines,
    has_words,
    read_lines,
    split_into_lines,
)
from vocadapt.training.tasks.kinds import TASK_KINDS

LINES = ["a\u2028b", "", "c\x85d\x0be\x0cf", "g"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_newlines_end_lines(end: str, tmp_path: Path) -> None:
    text = end.join(LINES)
    assert split_into_lines(text) == split_into_lines(text + end) == LINES
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert read_lines(tmp_path / "a.txt") == LINES
    (tmp_path / "b.txt").write_bytes(end.encode() * 3)
    with raises_input_error("no-text"):
        read_lines(tmp_path / "b.txt")


@pytest.mark.parametrize(
    ("kind", "predicted", "written"),
    [
        (
            "ner",
            [("O",), ("O",), ("B-X",)],
            [{"words": ["a\u2028b"], "tags": ["O"]}, {"words": [], "tags": []}],
        ),
        (
            "classification",
            [("y",), ("n",), ("y",)],
            [{"id": "0", "label": "y"}, {"id": "1", "label": None}],
        ),
        (
            "multilabel",
            [("y",), ("n",), ()],
            [{"id": "0", "label": ["y"]}, {"id": "1", "label": []}],
        ),
    ],
)
def test_a_blank_line_has_a_line_in_the_output(
    kind: str, predicted: list[tuple[str, ...]], written: list[dict[str, object]]
) -> None:
    examples = TASK_KINDS[kind].examples_from_lines(LINES, lambda line: [line] if line else [])
    assert list(map(has_words, examples)) == [True, False, True, True]
    predictions = add_blank_lines(examples, predicted)
    rows = list(TASK_KINDS[kind].format_predictions(examples, predictions, True))
    assert len(rows) == 4 and list(map(json.loads, rows[:2])) == written
