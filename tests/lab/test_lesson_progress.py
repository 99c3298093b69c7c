"""Progress in the lessons: saved, merged, reset; broken files; two writers lose nothing."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from vocadapt.errors import InputError
from vocadapt.lab.workspace.lesson_progress import (
    FILE,
    LessonProgress,
    load_progress,
    reset_progress,
    save_progress,
)


def test_progress_is_saved_and_continued(workspace):
    assert load_progress(workspace) == {}
    save_progress(workspace, "luck", LessonProgress(guess=1))
    save_progress(workspace, "luck", LessonProgress(seen=2))
    save_progress(workspace, "luck", LessonProgress(answer=0))
    assert load_progress(workspace) == {"luck": LessonProgress(1, 2, 0)}
    assert [path.name for path in workspace.root.iterdir()] == [FILE]  # no draft is left


def test_an_earlier_step_does_not_undo_a_later_one(workspace):
    save_progress(workspace, "luck", LessonProgress(seen=3))
    save_progress(workspace, "luck", LessonProgress(seen=1))
    assert load_progress(workspace)["luck"].seen == 3


def test_two_tabs_lose_nothing(workspace):
    changes = [(f"lesson-{number}", LessonProgress(seen=1)) for number in range(8)]
    changes += [(f"lesson-{number}", LessonProgress(answer=2)) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda change: save_progress(workspace, *change), changes))
    assert load_progress(workspace) == {
        f"lesson-{number}": LessonProgress(None, 1, 2) for number in range(8)
    }


def test_a_reset_removes_all_lessons(workspace):
    reset_progress(workspace)
    assert not workspace.root.exists()  # nothing to reset, nothing made
    for name in ("a", "b"):
        save_progress(workspace, name, LessonProgress(guess=0))
    reset_progress(workspace)
    assert load_progress(workspace) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "not json",
        '{"luck": 3}',
        '{"luck": {"seen": null}}',
        '{"luck": {"seen": -1}}',
        '{"luck": {"guess": true}}',
        '{"luck": {"answer": NaN}}',
        '{"luck": {"guess": "0"}}',
    ],
)
def test_a_broken_file_is_an_input_error_and_can_be_reset(workspace, text):
    workspace.root.mkdir()
    path = workspace.root / FILE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        load_progress(workspace)
    with pytest.raises(InputError):
        save_progress(workspace, "luck", LessonProgress(seen=1))
    assert path.read_text(encoding="utf-8") == text  # nothing is lost without a reset
    reset_progress(workspace)
    assert json.loads(path.read_text(encoding="utf-8")) == {}
