"""The workspace: a project is a folder of artifacts, one folder each, `<workspace>/<kind>/<name>/`.

Names come from people and from pages, so they are checked against what is allowed, never against
what is not.
"""

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import check_output_path, expand_path
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import (
    ARTIFACTS,
    MANIFEST,
    Input,
    Manifest,
    compute_content_stamp,
    compute_seen_stamp,
    compute_stamp,
    read_manifest,
)

__all__ = [
    "ARTIFACTS",
    "UPLOADS",
    "Artifact",
    "Workspace",
    "check_name",
    "list_adapted_models",
    "list_kinds",
    "open_artifact",
    "open_draft",
]

# folder of what came through the browser: taken in by the artifact that is made of it, then removed
UPLOADS = "uploads"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9_-])?", re.ASCII)
RESERVED = re.compile(
    r"(?:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\..*)?", re.IGNORECASE
)  # devices on Windows, whatever follows


def check_name(name: str) -> str:
    """Return the name if it is valid: 1 to 80 letters, digits, dots, dashes and underscores,
    starting with a letter or digit.

    Raises InputError for anything else, and for reserved device names.
    """
    if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
        raise InputError(
            f"{name[:100]!r} cannot be a name.",
            "Use 1 to 80 letters, digits, dots, dashes and underscores, a letter or digit first.",
        )
    return name


def list_kinds() -> tuple[str, ...]:
    """Return the folders of a workspace: the kinds of artifacts known now, and jobs."""
    return (*ARTIFACTS, "jobs")


@dataclass(frozen=True)
class Artifact:
    """A folder that some step wrote, its manifest, and the stamp that changes whenever it is made
    again.
    """

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
        """Reasons why the artifact no longer matches its inputs, one sentence each; empty if it
        does.
        """
        reasons = (explain_change(given, workspace) for given in self.manifest.inputs.values())
        return [reason for reason in reasons if reason]


@dataclass(frozen=True)
class Workspace:
    """The folder of a project; made when something is first written into it."""

    root: Path

    def __post_init__(self) -> None:
        root = expand_path(self.root)
        check_output_path(root)
        object.__setattr__(self, "root", root.resolve())
        if self.root.exists() and not self.root.is_dir():
            raise InputError(
                f"{self.root} is a file: a workspace is a folder.", "Give another folder."
            )

    def folder(self, kind: str, name: str) -> Path:
        """Return the folder of an artifact, existing or not; raises InputError for an invalid name."""
        if kind not in list_kinds():
            raise InputError(
                f"Unknown kind {kind!r}.", f"Choose one of: {', '.join(list_kinds())}."
            )
        folder = self.root / kind / check_name(name)
        if not folder.resolve().is_relative_to(self.root):
            raise InputError(f"{kind}/{name} leads out of the workspace.", "Remove the link.")
        return folder

    def artifact(self, kind: str, name: str) -> Artifact:
        """Return the artifact of this kind and name; raises InputError if there is none."""
        folder = self.folder(kind, name)
        if not (folder / MANIFEST).is_file():
            there = ", ".join(found.name for found in self.artifacts(kind)) or "none"
            raise InputError(
                f"There is no {ARTIFACTS.get(kind, kind)} named {name} in {self.root}.",
                f"There: {there}.",
            )
        return open_artifact(folder)

    def artifacts(self, kind: str) -> list[Artifact]:
        """All finished artifacts of a kind, newest first; drafts and folders of others are not
        among them.
        """
        return sorted(
            self._found(kind), key=lambda artifact: artifact.manifest.created, reverse=True
        )

    def find_free_name(self, kind: str, wish: str, but: Collection[str] = ()) -> str:
        """A name near `wish` that is not taken yet, and none of `but`: biomed, biomed-2, biomed-3
        …
        """
        base = re.sub(r"[^A-Za-z0-9_-]+", "-", wish).strip("-_.")[:60] or "unnamed"
        base = base if NAME.fullmatch(base) and not RESERVED.fullmatch(base) else f"x-{base}"
        names = (base if number == 1 else f"{base}-{number}" for number in range(1, 10_000))
        return next(
            name for name in names if name not in but and not self.folder(kind, name).exists()
        )

    def _found(self, kind: str) -> Iterator[Artifact]:
        if kind not in ARTIFACTS:
            raise InputError(f"Unknown kind {kind!r}.", f"Choose one of: {', '.join(ARTIFACTS)}.")
        try:
            names = sorted(filter(NAME.fullmatch, os.listdir(self.root / kind)))
        except OSError:  # nothing was made yet
            return
        for name in names:
            try:
                yield open_artifact(self.root / kind / name)
            except (InputError, OSError):  # not ours, or gone since
                continue


def open_artifact(folder: Path) -> Artifact:
    """Open the artifact at any folder; raises InputError if there is none."""
    try:
        return Artifact(folder, read_manifest(folder), compute_stamp(folder))
    except (FileNotFoundError, NotADirectoryError):
        return Artifact(folder, Manifest.load(folder), "")  # raises, and says what was expected


def list_adapted_models(workspace: Workspace) -> list[Artifact]:
    """The models that were taught words, newest first; a model that was merely converted is not
    among them.
    """
    return [model for model in workspace.artifacts("models") if "added" in model.manifest.numbers]


def explain_change(given: Input, workspace: Workspace) -> str | None:
    """Return why an input differs from when it was used; None if it does not, or if it was an
    upload.
    """
    if all(Path(path).parent == Path(UPLOADS) for path in given.paths):
        return None
    paths = [workspace.root / path for path in given.paths]  # an absolute path stays itself
    if not all(path.exists() for path in paths):
        return f"{given.name} is gone"
    if not given.seen:
        return _changed_artifact(paths[0], given, workspace)
    if compute_seen_stamp(paths) == given.seen or compute_content_stamp(paths) == given.stamp:
        return None
    return f"{given.name} was changed since"


def _changed_artifact(folder: Path, given: Input, workspace: Workspace) -> str | None:
    if not (folder / MANIFEST).is_file():
        return f"{given.name} is gone"
    if compute_stamp(folder) != given.stamp:
        return f"{given.name} was rebuilt since"
    return (
        f"{given.name} is itself out of date"
        if open_artifact(folder).explain_staleness(workspace)
        else None
    )
