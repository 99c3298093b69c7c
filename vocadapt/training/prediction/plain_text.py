"""Examples from plain text, for prediction."""

from collections.abc import Sequence
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import check_line_count, read_document
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.examples import Example


def split_into_lines(text: str) -> list[str]:
    """Return the non-empty lines of a text."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_lines(path: Path) -> list[str]:
    """Read the non-empty lines of a text file; raises InputError if it is empty or not text."""
    text = read_document(path)
    check_line_count(text, path)
    lines = split_into_lines(text)
    if not lines:
        raise InputError(f"{path}: has no text.", "Put a sentence on each line.")
    return lines


def plain_examples(run: SavedRun, lines: Sequence[str]) -> tuple[Example, ...]:
    """Build examples of a run's kind from lines; words are split as the model does.

    Lines without words are left out. Raises InputError if the kind cannot read plain text, or if no
    line has a word.
    """
    return run.kind.examples_from_lines(lines, run.split_words)
