"""Examples from plain text, for prediction: one for each line, so that predictions can be joined to
the lines by their number.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.system.files import check_line_count, normalize_line_ends, read_document
from vocadapt.training.examples.examples import Example, Prediction
from vocadapt.training.finetune.run_files import SavedRun


def split_into_lines(text: str) -> list[str]:
    """Return the lines of a text, blank ones too, without spaces at their ends."""
    lines = normalize_line_ends(text).removesuffix("\n").split("\n")
    return [line.strip() for line in lines]


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text file; raises InputError if all are blank, or it is not text."""
    text = read_document(path)
    check_line_count(text, path)
    lines = split_into_lines(text)
    if not any(lines):
        raise InputError(f"{path}: has no text.", "Put a sentence on each line.", code="no-text")
    return lines


def plain_examples(run: SavedRun, lines: Sequence[str]) -> tuple[Example, ...]:
    """Build an example of a run's kind from each line; words are split as the model does.

    Raises InputError if the kind cannot read plain text, or if no line has a word.
    """
    return run.kind.examples_from_lines(lines, run.split_words)


def has_words(example: Example) -> bool:
    """Return whether an example has anything that a model could read."""
    return bool(example.full_text.strip())


def add_blank_lines(
    examples: Iterable[Example], predicted: Iterable[Prediction]
) -> list[Prediction]:
    """Return a prediction for each example, () for those without words.

    predicted: the predictions for the others, in order.
    """
    rest = iter(predicted)
    return [next(rest) if has_words(example) else () for example in examples]
