"""Content of the lessons: one TOML file per lesson, in one folder per language.

    lessons/en/1-wordpieces.toml   the number is the lesson's place, the rest its name
    lessons/en/hour.toml           the teacher's plan of an hour

Every sentence of a lesson is in its file, so a translation is another folder. What a file must hold
beyond its keys is checked by `tests/pages/test_lessons.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from vocadapt.settings import build_settings
from vocadapt.system.files import read_toml

FOLDER = Path(__file__).parent
LANGUAGE = "en"  # used if there are no lessons in the visitor's language
HOUR = "hour.toml"


@dataclass(frozen=True)
class Step:
    """A step of a lesson, which opens a part of the lab.

    say: what to do there and what to look for (Markdown). task: the same in one line, shown on that
    page. part: name of the part. set: its keys in the address. needs: artifacts that must be in the
    workspace, as kind/name. code: the step in Python; `workspace` is the path of the workspace.
    """

    say: str
    task: str
    part: str
    code: str
    set: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """An answer to a question, and the feedback on it."""

    answer: str
    feedback: str


@dataclass(frozen=True)
class Check:
    """A question about what was learned; right: number of the right choice, from 0."""

    question: str
    right: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Claim:
    """A published result that the page does not show.

    source: author and year of a declared work, and the place in it: Fast 2023, table 6.4.
    """

    says: str
    source: str


@dataclass(frozen=True)
class Teacher:
    """Notes for the teacher. times: minutes of each part. answer: what to expect. ask: questions to
    discuss.
    """

    times: str
    answer: str
    ask: tuple[str, ...]


@dataclass(frozen=True)
class Lesson:
    """A lesson: a question, a guess, steps in the lab, their explanation, and a check.

    right: number of the right guess, from 0. reveal: what the steps have shown (Markdown).
    remember: the sentence to take home. answer_source: who shows the right guess. number, name:
    place and name of the file.
    """

    title: str
    minutes: int
    question: str
    guesses: tuple[str, ...]
    right: int
    reveal: str
    remember: str
    steps: tuple[Step, ...]
    check: Check
    teacher: Teacher
    claims: tuple[Claim, ...] = ()
    answer_source: str = "The lab shows"
    number: int = 0
    name: str = ""


@dataclass(frozen=True)
class HourItem:
    """An item of the plan of an hour: a lesson by its name, or something else to do."""

    say: str = ""
    minutes: int = 0
    lesson: str = ""


@dataclass(frozen=True)
class Hour:
    """The teacher's plan of an hour, and how to prepare it (Markdown)."""

    prepare: str
    items: tuple[HourItem, ...]


@lru_cache(maxsize=8)
def load_lessons(language: str = LANGUAGE) -> tuple[Lesson, ...]:
    """Read the lessons in a language, in their order; raise InputError for an invalid file."""
    return tuple(read_lesson(path) for path in list_files(language))


def list_files(language: str = LANGUAGE) -> list[Path]:
    """List the files of the lessons in a language, in their order."""
    return sorted((FOLDER / language).glob("[0-9]-*.toml"))


def read_lesson(path: Path) -> Lesson:
    """Read a lesson; raise InputError, which names the file, if it is not valid."""
    number, _, name = path.stem.partition("-")
    values = {**read_toml(path), "number": int(number), "name": name}
    return build_settings(Lesson, values, path.name)


@lru_cache(maxsize=8)
def load_hour(language: str = LANGUAGE) -> Hour:
    """Read the plan of an hour; raise InputError if it is not valid."""
    return build_settings(Hour, read_toml(FOLDER / language / HOUR), HOUR)


def find_lesson(lessons: Sequence[Lesson], name: str) -> Lesson | None:
    """Return the lesson with a name, None if there is none."""
    return next((lesson for lesson in lessons if lesson.name == name), None)


def choose_language(locale: str | None) -> str:
    """Return the folder of the lessons for a visitor's locale, such as de-CH; English without
    one.
    """
    code = (locale or "").partition("-")[0].lower()
    if code.isalpha() and list_files(code):
        return code
    return LANGUAGE
