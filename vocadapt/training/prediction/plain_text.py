"""Plain text to examples for prediction."""

from collections.abc import Sequence
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import read_document
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.examples import Example


def split_into_lines(text: str) -> list[str]:
    """Return the non-empty lines of a text."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_lines(path: Path) -> list[str]:
    """Read the non-empty lines of a text file; raises InputError for a file that is not text or is
    empty.
    """
    lines = split_into_lines(read_document(path))
    if not lines:
        raise InputError(f"{path}: holds no text.", "Put a sentence on each line.")
    return lines


def plain_examples(run: SavedRun, lines: Sequence[str]) -> tuple[Example, ...]:
    """Make examples of a run's kind from lines; the words of a line are those of the model's own
    splitter, unchanged.

    Lines without a word are left out. Raises InputError for runs that read two texts at once, and
    if no line has a word.
    """
    return run.kind.examples_from_lines(lines, run.split_words)
