"""The workspace: the folder of a project, with one folder per artifact,
`<workspace>/<kind>/<name>/`.

Names are user input, so they are checked against a list of allowed characters.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from vocadapt.errors import InputError, check_choice
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.lab.workspace.manifest import (
    ARTIFACTS,
    MANIFEST,
    Input,
    Manifest,
    NewerFormatError,
    compute_content_stamp,
    compute_seen_stamp,
    compute_stamp,
    read_manifest,
)
from vocadapt.lab.workspace.records import check_named_paths
from vocadapt.system.files import check_output_path, expand_path, show_path

# Folder of files uploaded through the browser, which are removed when an artifact has copied them.
UPLOADS = "uploads"
TRASH = "trash"  # folder of deleted artifacts and jobs
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9_-])?", re.ASCII)
# Device names on Windows, with any extension: a workspace may be copied there.
RESERVED = re.compile(r"(?:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\..*)?", re.IGNORECASE)


def is_name(name: str) -> bool:
    """Return whether a name is valid: 1 to 80 letters, digits, dots, dashes and underscores,
    starting with a letter or digit, and no reserved device name.
    """
    return bool(NAME.fullmatch(name)) and not RESERVED.fullmatch(name)


def check_name(name: str) -> str:
    """Return the name if `is_name`; raise InputError otherwise."""
    if not is_name(name):
        raise InputError(
            f"{name[:100]!r} cannot be a name.",
            "Use 1 to 80 letters, digits, dots, dashes and underscores, a letter or digit first.",
            code="invalid-name",
        )
    return name


def list_kinds() -> tuple[str, ...]:
    """Return the folders of a workspace: one per registered kind of artifact, and jobs."""
    return (*ARTIFACTS, "jobs")


def find_root(folder: Path) -> Path | None:
    """Return the root of the workspace that the folder of an artifact lies in; None if in none."""
    parent = folder.absolute().parent
    return parent.parent if parent.name in list_kinds() else None


def find_artifact_root(folder: Path, kind: str) -> Path | None:
    """Return the root of the workspace that contains an artifact of a kind; None if none does."""
    folder = folder.resolve()
    if folder.parent.name != kind or not os.path.isfile(folder / MANIFEST):
        return None
    return folder.parent.parent


def check_workspace_folder(folder: Path) -> None:
    """Raise InputError for a folder with files in it, but none of the folders of a workspace."""
    with suppress(FileNotFoundError, NotADirectoryError):
        names = set(os.listdir(folder))
        if names and names.isdisjoint((*list_kinds(), UPLOADS, TRASH)):
            raise InputError(
                f"{show_path(folder)} holds other files, and is not a workspace.",
                "Choose another place.",
            )


@dataclass(frozen=True)
class Artifact:
    """A folder that a step wrote, its manifest, and its stamp, which changes when it is rebuilt."""

    folder: Path
    manifest: Manifest
    stamp: str

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.folder.name

    @property
    def kind(self) -> str:
        """One of ARTIFACTS."""
        return self.manifest.kind

    def explain_staleness(self, workspace: "Workspace") -> list[str]:
        """Return why the artifact is out of date, a reason for each changed input."""
        reasons = (explain_change(given, workspace) for given in self.manifest.inputs.values())
        return [reason for reason in reasons if reason]


@dataclass(frozen=True)
class Workspace:
    """The folder of a project; created when something is first written into it."""

    root: Path

    def __post_init__(self) -> None:
        root = expand_path(self.root)
        check_output_path(root)
        object.__setattr__(self, "root", root.resolve())
        if self.root.exists() and not self.root.is_dir():
            raise InputError(
                f"{self.root} is a file: a workspace is a folder.",
                "Give another folder.",
                code="no-folder",
            )

    def folder(self, kind: str, name: str) -> Path:
        """Return the folder of an artifact, existing or not; raises InputError for an invalid name."""
        check_choice("kind", kind, list_kinds())
        folder = self.root / kind / check_name(name)
        if not folder.resolve().is_relative_to(self.root):
            raise InputError(
                f"{kind}/{name} leads out of the workspace.", "Remove the link.", code="leads-out"
            )
        return folder

    def artifact(self, kind: str, name: str) -> Artifact:
        """Return the artifact of this kind and name; raises InputError if there is none."""
        folder = self.folder(kind, name)
        if not os.path.isfile(folder / MANIFEST):
            label = ARTIFACTS.get(kind, kind)
            remedy = f"This workspace has no {label} yet."
            if there := ", ".join(found.name for found in self.artifacts(kind)):
                remedy = f"There: {there}."
            raise InputError(
                f"There is no {label} named {name} in {self.root}.", remedy, code="no-artifact"
            )
        return open_artifact(folder)

    def artifacts(self, kind: str) -> list[Artifact]:
        """List the finished artifacts of a kind, newest first; drafts and foreign folders are
        skipped, and so are those of `list_hidden`.

        Raises NewerFormatError for a workspace of a newer version: part of it must not look like
        all.
        """
        return self._read_artifacts(kind)[0]

    def list_hidden(self, kind: str = "") -> dict[str, str]:
        """Return the artifacts of a kind, or of all kinds, that are not listed because their
        records are damaged or name what they must not read: `kind/name` -> why.
        """
        kinds = [kind] if kind else list(ARTIFACTS)
        return {name: why for one in kinds for name, why in self._read_artifacts(one)[1].items()}

    def _read_artifacts(self, kind: str) -> tuple[list[Artifact], dict[str, str]]:
        """Return the artifacts of a kind, newest first, and why each hidden one cannot be read."""
        check_choice("kind", kind, ARTIFACTS)
        names: list[str] = []
        with suppress(OSError):  # the folder does not exist yet
            names = sorted(filter(NAME.fullmatch, os.listdir(self.root / kind)))
        found, hidden = [], {}
        for name in names:
            try:
                artifact = _ARTIFACTS(f"{self.root}/{kind}/{name}/{MANIFEST}")
                artifact.manifest.check_needed_inputs()
                found.append(artifact)
            except NewerFormatError:
                raise
            except (FileNotFoundError, NotADirectoryError):  # no artifact, or removed meanwhile
                continue
            except InputError as error:
                hidden[f"{kind}/{name}"] = error.problem
            except OSError as error:
                hidden[f"{kind}/{name}"] = f"it cannot be read: {error.strerror}."
        found.sort(key=lambda artifact: artifact.manifest.created, reverse=True)
        return found, hidden

    def find_free_name(self, kind: str, wish: str, but: Collection[str] = ()) -> str:
        """Return an unused name based on `wish` that is not in `but`: biomed, biomed-2, …"""
        return next(
            name
            for name in number_names(simplify_name(wish))
            if name not in but and not self.folder(kind, name).exists()
        )


def describe_hidden(hidden: Mapping[str, str]) -> list[str]:
    """Return a sentence about each artifact of `Workspace.list_hidden`."""
    return [
        f"{show_path(name)} is hidden, because it cannot be used: {why}"
        for name, why in hidden.items()
    ]


def simplify_name(wish: str) -> str:
    """Return a valid name that is similar to `wish`: demo-bert-bio for demo-bert + bio."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", wish).strip("-_.")[:60] or "unnamed"
    if not is_name(base):
        base = f"x-{base}"
    return base


def number_names(base: str) -> Iterator[str]:
    """Yield name, name-2, name-3, …"""
    yield base
    yield from (f"{base}-{number}" for number in count(2))


def open_artifact(folder: Path) -> Artifact:
    """Open the artifact at any folder; raises InputError if there is none."""
    try:
        return _ARTIFACTS(folder / MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        return Artifact(folder, Manifest.load(folder), "")  # raises InputError


def _read_artifact(path: Path) -> Artifact:
    folder = path.parent
    manifest = read_manifest(folder)
    check_named_paths(folder)
    manifest.check_files(folder)
    return Artifact(folder, manifest, compute_stamp(folder))


_ARTIFACTS = CachedReader(_read_artifact)  # pages list all artifacts several times per rerun


def list_adapted_models(workspace: Workspace) -> list[Artifact]:
    """List the models with added tokens, newest first; merely converted models are left out."""
    return [model for model in workspace.artifacts("models") if "added" in model.manifest.numbers]


def explain_change(given: Input, workspace: Workspace) -> str | None:
    """Return how an input has changed since it was used; None if unchanged, if it was an upload, or
    if its stamp was not recorded.
    """
    if not given.stamp or all(Path(path).parent == Path(UPLOADS) for path in given.paths):
        return None
    paths = [workspace.root / path for path in given.paths]  # absolute paths are left unchanged
    if not all(map(os.path.exists, paths)):
        return f"{given.name} is gone"
    try:
        return _compare_with_recorded(given, paths, workspace)
    except (InputError, OSError):
        return f"{given.name} cannot be read"


def _compare_with_recorded(given: Input, paths: Sequence[Path], workspace: Workspace) -> str | None:
    """Return how an existing input differs from what was recorded; None if it does not."""
    # 1. Files: compare sizes and times first, and read the content only if these differ.
    if given.seen:
        if compute_seen_stamp(paths) == given.seen or compute_content_stamp(paths) == given.stamp:
            return None
        return f"{given.name} was changed since"

    # 2. An artifact is unchanged if its manifest is, and current if its own inputs are.
    if not os.path.isfile(paths[0] / MANIFEST):
        return f"{given.name} is gone"
    if compute_stamp(paths[0]) != given.stamp:
        return f"{given.name} was rebuilt since"
    if open_artifact(paths[0]).explain_staleness(workspace):
        return f"{given.name} is itself out of date"
    return None
