"""Manifest: description and provenance of an artifact, in its `manifest.json`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any, TypeVar

from vocadapt import __version__
from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.settings import build_settings
from vocadapt.system.files import check_path, open_file, read_whole, show_path
from vocadapt.system.json_values import build_value, has_type

T = TypeVar("T")
MANIFEST = "manifest.json"
# Number of the format of artifacts and their workspace, in every manifest; others are not read.
# Raise it with a change that this version could not read.
FORMAT = 2
ARTIFACTS = {  # kind: name of one artifact of this kind
    "corpora": "corpus",
    "word-counts": "word counts",
    "vectors": "vectors",
    "alignments": "alignment",
    "initializers": "comparison of initializers",
    "models": "model",
    "packs": "vocabulary pack",
    "projections": "projection",
    "changes": "comparison",
    "tasks": "task",
    "runs": "run",
    "predictions": "predictions",
    "studies": "study",
    "searches": "search",
}

# Inputs without which nothing can be said of an artifact of a kind.
NEEDED_INPUTS = {"alignments": ("vectors", "model"), "changes": ("before", "after")}


class NewerFormatError(InputError):
    """An artifact, and so its workspace, was written by a newer version of vocadapt."""

    def __init__(self, folder: Path, found: int) -> None:
        super().__init__(
            f"{show_path(folder)} was written by a newer version of vocadapt: its format is"
            f" {found}, and this version reads formats up to {FORMAT}.",
            "Install the newer version, or choose another workspace.",
            code="newer-format",
        )


@dataclass(frozen=True)
class Input:
    """One input of a step: its files or artifact, and their stamp.

    A path inside the workspace is relative to it. `stamp`: "" if changes do not matter. `seen`:
    digest of sizes and times, so that unchanged files need not be read again.
    """

    paths: tuple[str, ...]
    stamp: str
    seen: str = ""

    @property
    def name(self) -> str:
        """Short name for display."""
        first = Path(self.paths[0])
        name = first.name
        if not first.is_absolute():
            name = " ".join(part for part in first.parts if part != "..")
        if len(self.paths) > 1:
            name += f" and {len(self.paths) - 1} more"
        return name


class MissingEntryError(InputError, KeyError):
    """A manifest lacks an entry: it is damaged, comes from elsewhere, or is of another version."""

    __str__ = InputError.__str__


class Entries(dict[str, T]):
    """Inputs, settings or numbers of an artifact; raises MissingEntryError for a missing one."""

    def __missing__(self, name: str) -> T:
        raise MissingEntryError(
            f"The manifest has no entry {name!r}.",
            "Delete the artifact, and create it again.",
            code="missing-entry",
        )


@dataclass(frozen=True)
class Manifest:
    """Kind, name, settings, inputs, versions, seed, date and headline figures of an artifact.

    `step`: name of the step; `command`: its command line; `files`: the other files that the step
    wrote; `job`: id of the job ("" without one); `casing`: the casing given for a bare vocab.txt;
    `threads`: number of threads of a study's cell, 0 if it was not fixed; `footprint`: energy and
    CO2 of the step, and their basis (`vocadapt.system.footprint`), empty if they were not measured;
    `timing`: what forecasts learn from (`lab.steps.forecasts`); `guards`: what was known before the
    step started (`lab.steps.guards`); `format`: FORMAT of the version that wrote it.
    """

    kind: str
    name: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, Input] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    seconds: float = 0.0
    command: str = ""
    created: str = field(
        default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds")
    )
    files: tuple[str, ...] = ()
    job: str = ""
    casing: str = ""
    step: str = ""
    threads: int = 0
    footprint: Mapping[str, Any] = field(default_factory=dict)
    timing: Mapping[str, Any] = field(default_factory=dict)
    guards: tuple[Mapping[str, Any], ...] = ()
    format: int = FORMAT

    def __post_init__(self) -> None:
        for name in ("settings", "inputs", "numbers"):
            object.__setattr__(self, name, Entries(getattr(self, name)))

    def check_needed_inputs(self) -> None:
        """Raise InputError if an input of NEEDED_INPUTS is not recorded."""
        for role in NEEDED_INPUTS.get(self.kind, ()):
            self.inputs[role]

    def save(self, folder: Path, lists_files: bool = True) -> None:
        """Write manifest.json, which must be the last file of an artifact.

        lists_files: record what is in the folder; a study's folder is a workspace and grows.
        """
        files = sorted(files_in(folder)) if lists_files else []
        strict_json.write(folder / MANIFEST, {**asdict(self), "files": files})

    def check_files(self, folder: Path) -> None:
        """Raise InputError if a file of the step is missing; runs may lack their weights."""
        for name in () if self.kind == "runs" else self.files:
            is_inside = not os.path.isabs(name) and ".." not in Path(name).parts
            if not is_inside or not os.path.lexists(folder / name):
                raise InputError(
                    f"{show_path(name)} is missing in {folder.name}.",
                    f"Delete {folder.name}, and create it again.",
                    code="missing-file",
                )

    def list_foreign_files(self, folder: Path) -> list[str]:
        """Return the files of the folder that the step did not write."""
        return sorted(files_in(folder) - set(self.files))

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder; raises InputError if there is none, an invalid one, or one
        of an earlier version, and NewerFormatError.
        """
        path = folder / MANIFEST
        if not os.path.isfile(path):
            raise InputError(
                f"{folder}: expected a {MANIFEST}, found none.",
                "Give a folder that vocadapt wrote.",
            )
        try:
            content = strict_json.read(path)
            written = int(content.get("format", 0))
            if written > FORMAT:
                raise NewerFormatError(folder, written)
            if written < FORMAT:
                raise InputError(
                    f"{show_path(folder)} was made by an earlier version of vocadapt, whose format"
                    " this one does not read.",
                    "Create it again.",
                    code="earlier-format",
                )
            # It may come from elsewhere; one that cannot be compared with others would break
            # the list of them all.
            made: Manifest = build_value(cls, content)
            if not has_type(made, cls) or not all(one.paths for one in made.inputs.values()):
                raise TypeError("an entry is of another type")
            return made
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not a manifest of vocadapt: {error}.",
                "Give a folder that vocadapt wrote.",
                code="invalid-manifest",
            ) from error


def read_saved_settings(kind: type[T], values: Mapping[str, Any], name: str) -> T:
    """Build the saved settings of an artifact.

    Raises InputError if this version has no such settings.
    """
    try:
        return build_settings(kind, values, "settings")
    except InputError as error:
        raise InputError(
            f"The settings of {name} cannot be read: {error.problem} Another version of vocadapt"
            " may have saved them.",
            f"Delete {name}, and create it again.",
            code="other-settings",
        ) from error


def files_in(folder: Path) -> set[str]:
    """Return the relative paths of all files in a folder and below, except its manifest."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    return found - {MANIFEST}


def compute_stamp(folder: Path) -> str:
    """Return the stamp of an artifact: a hash of its manifest, which every change rewrites."""
    return _MANIFESTS(folder / MANIFEST)[1]


def hash_manifest(content: bytes) -> str:
    """Return the stamp of an artifact from the content of its manifest."""
    return blake2b(content, digest_size=16).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder, cached until its file changes; do not modify it.

    Raises InputError as `Manifest.load` does, and OSError if there is none.
    """
    return _MANIFESTS(folder / MANIFEST)[0]


def _read_with_stamp(path: Path) -> tuple[Manifest, str]:
    return Manifest.load(path.parent), hash_manifest(read_whole(path))


_MANIFESTS = CachedReader(_read_with_stamp)


def record_input(paths: Sequence[Path], root: Path | None = None) -> Input:
    """Stamp an input: an artifact by its manifest, other files by their content.

    Raises InputError if nothing can be read at a path.
    """
    for path in paths:
        check_path(path)
    try:
        shown = tuple(name_path(path, root) for path in paths)
        if len(paths) == 1 and (paths[0] / MANIFEST).is_file():
            return Input(shown, compute_stamp(paths[0]))
        seen = compute_seen_stamp(paths)  # before reading, so that a change meanwhile is noticed
        return Input(shown, compute_content_stamp(paths), seen)
    except OSError as error:  # such as a file that was removed meanwhile
        raise InputError(
            f"{error.filename}: cannot be read: {error.strerror}.",
            "Check the file, then try again.",
        ) from error


def compute_content_stamp(paths: Sequence[Path]) -> str:
    """Return a digest of the content of files and of all files in folders, with their names.

    Files are not read again while sizes and times are unchanged.
    """
    return _content_stamp(tuple(paths), compute_seen_stamp(paths))


@lru_cache(maxsize=256)
def _content_stamp(paths: tuple[Path, ...], seen: str) -> str:
    """Hash the content of files; cached by `seen`, the digest of their sizes and times."""
    total = blake2b(digest_size=16)
    for path, name in _files(paths):
        digest = blake2b(digest_size=16)
        with open_file(path) as file:
            while block := file.read(1 << 20):
                digest.update(block)
        total.update(name.encode() + b"\0" + digest.digest())
    return total.hexdigest()


def compute_seen_stamp(paths: Sequence[Path]) -> str:
    """Return a digest of the sizes and modification times of files, which is fast to compute."""
    total = blake2b(digest_size=16)
    for path, name in _files(paths):
        state = path.stat()
        total.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    return total.hexdigest()


def find_versions(libraries: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python, vocadapt and the named libraries."""
    found = {"python": python_version(), "vocadapt": __version__}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def _files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """List the files at paths, each with its path inside the given folder; skip hidden files."""
    found: list[tuple[Path, str]] = []
    for path in paths:
        if not path.is_dir():
            found.append((path, ""))
            continue
        # Sorted: the order in which the file system lists files must not change a stamp.
        for file in sorted(file for file in path.rglob("*") if file.is_file()):
            name = file.relative_to(path).as_posix()
            if "/." not in f"/{name}":
                found.append((file, name))
    return found


def find_outer_root(root: Path) -> Path:
    """Return the workspace that a workspace lies in, if it is the folder of a study or a search in
    one; itself otherwise.
    """
    root = Path(os.path.abspath(root))
    while root.parent.name in ARTIFACTS and os.path.isfile(root / MANIFEST):
        root = root.parent.parent
    return root


def name_path(path: Path, root: Path | None) -> str:
    """Return how a record in a workspace names a path: relative to the workspace if both lie in the
    same (outer) one, as ../../models/m in a study; else absolute.
    """
    path = path.resolve()
    if root is not None and path.is_relative_to(find_outer_root(root).resolve()):
        return Path(os.path.relpath(path, root.resolve())).as_posix()
    return str(path)
