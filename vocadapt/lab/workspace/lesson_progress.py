"""Progress in the lessons, in `<workspace>/lessons.json`: one entry per lesson that was begun.

A workspace stands for a class or a group: everyone who opens it continues where the others are.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.system.json_values import build_value, has_type

FILE = "lessons.json"
REMEDY = "Reset the progress on the tab Teacher of the page Lessons, or remove the file."


@dataclass(frozen=True)
class LessonProgress:
    """Progress in one lesson.

    guess: number of the guess, from 0; None before the guess. seen: number of steps that were
    opened. answer: number of the last answer to the check; None before it.
    """

    guess: int | None = None
    seen: int = 0
    answer: int | None = None

    def merge(self, other: "LessonProgress") -> "LessonProgress":
        """Return the further progress of the two; a guess and an answer of `other` replace these."""
        guess = self.guess if other.guess is None else other.guess
        answer = self.answer if other.answer is None else other.answer
        return LessonProgress(guess, max(self.seen, other.seen), answer)


def load_progress(workspace: Workspace) -> dict[str, LessonProgress]:
    """Return the progress of each lesson that was begun, by the lesson's name.

    Raises InputError for an invalid file.
    """
    path = workspace.root / FILE
    if not os.path.lexists(path):
        return {}
    return {name: _read(value, f"{FILE}: {name}") for name, value in strict_json.read(path).items()}


def save_progress(workspace: Workspace, lesson: str, change: LessonProgress) -> None:
    """Merge a change into the progress of a lesson; raises InputError for an invalid file."""
    with convert_write_errors(workspace.root):
        workspace.root.mkdir(parents=True, exist_ok=True)
    with convert_write_errors(workspace.root / FILE), wait_for_lock(workspace.root):
        progress = load_progress(workspace)
        progress[lesson] = progress.get(lesson, LessonProgress()).merge(change)
        _write(workspace, progress)


def reset_progress(workspace: Workspace) -> None:
    """Remove the progress of all lessons, also from an invalid file.

    Raises InputError if the workspace cannot be written.
    """
    if not os.path.lexists(workspace.root / FILE):
        return
    with convert_write_errors(workspace.root / FILE), wait_for_lock(workspace.root):
        _write(workspace, {})


def _write(workspace: Workspace, progress: Mapping[str, LessonProgress]) -> None:
    """Write the progress atomically."""
    values = {name: asdict(one) for name, one in progress.items()}
    strict_json.write(workspace.root / FILE, values)


def _read(value: object, where: str) -> LessonProgress:
    """Check an entry of the file; raises InputError."""
    with suppress(TypeError):
        found: LessonProgress = build_value(LessonProgress, value)
        numbers = (found.guess or 0, found.seen, found.answer or 0)
        if has_type(found, LessonProgress) and min(numbers) >= 0:
            return found
    raise InputError(f"{where}: expected whole numbers for guess, seen and answer.", REMEDY)
