"""Progress in the lessons as a page sees it: saved in the workspace, or, if the workspace cannot be
written, kept in the session.
"""

from typing import Any

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace.lesson_progress import (
    LessonProgress,
    load_progress,
    reset_progress,
    save_progress,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components.mistakes import format_in_one_line


def read_progress(workspace: Workspace) -> dict[str, LessonProgress]:
    """Return the progress of each lesson that was started: the saved one, and that of this session."""
    unsaved = _get_unsaved(workspace)
    progress: dict[str, LessonProgress] = {}
    try:
        progress = load_progress(workspace)
    except InputError as error:
        unsaved["problem"] = format_in_one_line(error)
    else:
        if not unsaved["progress"]:
            unsaved["problem"] = ""
    for name, kept in unsaved["progress"].items():
        progress[name] = progress.get(name, LessonProgress()).merge(kept)
    return progress


def record_progress(workspace: Workspace, lesson: str, change: LessonProgress) -> None:
    """Save a change; if the workspace cannot be written, keep it in the session."""
    unsaved = _get_unsaved(workspace)
    change = unsaved["progress"].get(lesson, LessonProgress()).merge(change)
    try:
        save_progress(workspace, lesson, change)
    except InputError as error:
        unsaved["problem"] = format_in_one_line(error)
        unsaved["progress"][lesson] = change
    else:
        unsaved["problem"] = ""
        unsaved["progress"].pop(lesson, None)


def find_problem(workspace: Workspace) -> str:
    """Return why the progress was not saved, "" if it was."""
    return str(_get_unsaved(workspace)["problem"])


def reset(workspace: Workspace) -> None:
    """Remove the progress of all lessons from the workspace and this session.

    Raises InputError if the workspace cannot be written; the session's progress is removed anyway.
    """
    _get_unsaved(workspace).update(problem="", progress={})
    reset_progress(workspace)


def _get_unsaved(workspace: Workspace) -> dict[str, Any]:
    """Return what this session keeps of a workspace: progress by lesson, and the last problem."""
    empty = {"problem": "", "progress": {}}
    found: dict[str, Any] = st.session_state.setdefault(f"lessons_kept {workspace.root}", empty)
    return found
