"""The records of a workspace: its files that name other files, and which of their fields hold
paths.

A record may come from elsewhere, so the paths that it names are checked before something is read
there: when an exported workspace is opened, when an artifact is listed, and when a path is typed on
a page.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.limits import check_visitor_path
from vocadapt.lab.workspace.manifest import (
    MANIFEST,
    NewerFormatError,
    find_outer_root,
    read_manifest,
)
from vocadapt.system.files import expand_path, read_toml, show_path
from vocadapt.training.tasks.splits import SPLITS

CORPUS = "corpus.json"
CORPUS_FILES, COUNTS = "files", "counts"  # its fields: a list of files, or one file of word counts
TOML = ".toml"  # a task, a study, or settings, which name no file
# Fields of the tables of a study that hold paths. All of them are relative to its file.
STUDY_TABLES = ("corpora", "variants", "tasks")
STUDY_PATHS = (
    "model",
    "recipe",
    "target",
    "vectors",
    "corpus",
    "glossary",
    "files",
    "task",
    *SPLITS,
)
EXTENDS = "extends"
REMEDY = "Correct the file, or remove it."
MAX_PATH = 3_800  # bytes of a path: the system opens 4,095, and names of files are appended
MAX_NAME = 255  # bytes of one of its names


@dataclass(frozen=True)
class NamedPath:
    """A path that a record names: as it is written there, and the absolute place that it means.

    The place is computed from the text alone, without following links.
    """

    record: Path
    text: str
    place: Path

    is_of_study: bool = False

    @property
    def is_absolute(self) -> bool:
        """Whether it means the same place wherever the record lies."""
        return os.path.isabs(self.text) or self.text.startswith("~")


def is_record(path: Path) -> bool:
    """Return whether a file of this name may name other files."""
    return path.name in (MANIFEST, CORPUS) or path.suffix == TOML


def read_named_paths(record: Path) -> list[NamedPath]:
    """Return the paths that a record names.

    Raises InputError if the record cannot be read, or if no file can have such a path.
    """
    # A manifest names its inputs relative to its workspace, the others relative to themselves.
    base = record.parent
    of_study = list[str]()
    if record.name == MANIFEST:
        base = record.parent.parent.parent
        inputs = read_manifest(record.parent).inputs.values()
        texts = [path for given in inputs for path in given.paths]
    elif record.name == CORPUS:
        texts = list_corpus_paths(strict_json.read(record), show_path(record))
    else:
        table = read_toml(record, REMEDY)
        texts = list(_find_task_paths(table))
        of_study = list(_find_study_paths(table))
    return [
        NamedPath(record, text, _find_place(text, base, record), number >= len(texts))
        for number, text in enumerate([*texts, *of_study])
    ]


def read_paths_at(path: Path) -> list[NamedPath]:
    """Return the paths that a record at a path names, or those of the records in a folder.

    Raises InputError as `read_named_paths` does.
    """
    found = sorted(path.iterdir()) if os.path.isdir(path) else [path]
    return [one for record in found if is_record(record) for one in read_named_paths(record)]


def check_named_paths(folder: Path) -> None:
    """Raise InputError if a record of an artifact names a path that it must not read.

    A relative path stays in the workspace, except for that of a study, which its user may have
    written; in the workspace of a visitor, all paths do (see `check_visitor_path`).
    """
    root = find_outer_root(folder.parent.parent)
    # A study that was copied out of its workspace is in none.
    is_in_workspace = not os.path.isfile(root / MANIFEST)
    for named in read_paths_at(folder):
        if is_in_workspace and not (named.is_absolute or named.is_of_study):
            check_inside(named, root)
        check_visitor_path(named.place, folder)


def check_inside(named: NamedPath, root: Path) -> None:
    """Raise InputError if the path of a record leads out of a workspace."""
    if not named.place.is_relative_to(os.path.abspath(root)):
        raise InputError(
            f"{named.record.parent.name}/{named.record.name} names {show_path(named.text)!r}, which"
            " leads out of the workspace.",
            REMEDY,
            code="leads-out",
        )


def list_outside_paths(root: Path, files: Iterable[Path]) -> list[Path]:
    """List the outside paths that files of a workspace name; raises InputError for relative ones."""
    found: dict[Path, None] = {}
    for record in map(root.joinpath, filter(is_record, files)):
        named: list[NamedPath] = []
        try:
            named = read_named_paths(record)
        except NewerFormatError:
            raise
        except InputError:
            continue
        for one in named:
            if not one.is_absolute:
                check_inside(one, root)
            elif not one.place.is_relative_to(os.path.abspath(root)):
                found[one.place] = None
    return list(found)


def list_corpus_paths(values: Mapping[str, Any], where: str) -> list[str]:
    """Return the paths in the record of a corpus: its files, or its word counts.

    Raises InputError, which names the record as `where`, if it names neither.
    """
    paths = [values[COUNTS]] if COUNTS in values else values.get(CORPUS_FILES, [])
    if not isinstance(paths, list) or not paths or not all(isinstance(one, str) for one in paths):
        raise InputError(f"{where} names no text.", "Import the text again.", code="no-text")
    return paths


def _find_task_paths(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of a task's splits; `{fold}` in them stands for a number."""
    splits = table.get("splits")
    if isinstance(splits, Mapping):
        yield from _find_texts(splits.values())


def _find_study_paths(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of a study: the file that it extends, its texts, models and tasks."""
    yield from _find_texts([table.get(EXTENDS)])
    for name in STUDY_TABLES:
        entries = table.get(name)
        if not isinstance(entries, list):
            continue
        for entry in entries:
            if not isinstance(entry, Mapping):
                continue
            yield from _find_texts(entry.get(key) for key in STUDY_PATHS)
            if name == "tasks" and not {"kind", "task"} & set(entry):
                yield from _find_texts([entry.get("name")])  # such a task is found by its name


def _find_texts(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts among values and in lists of them."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))


def _find_place(text: str, base: Path, record: Path) -> Path:
    """Return the absolute place of a path; raise InputError if there can be no such file."""
    longest_name = max(len(name.encode()) for name in text.split("/"))
    is_too_long = len(os.fsencode(base / text)) > MAX_PATH or longest_name > MAX_NAME
    if "\0" in text or is_too_long:
        raise InputError(
            f"{record.parent.name}/{record.name} names {show_path(text)!r}, which cannot be a"
            " path.",
            REMEDY,
            code="impossible-path",
        )
    return Path(os.path.abspath(base / expand_path(text)))
