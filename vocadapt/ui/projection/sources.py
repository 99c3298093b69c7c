"""What the map page shows: one space or two, and a map of them, drawn at once or kept by an earlier
job.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import OpenedSpace
from vocadapt.lab.steps.projection import (
    ProjectedSpace,
    ProjectionArtifact,
    compute_projection,
    load_projection,
)
from vocadapt.lab.steps.spec import ProjectionStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.projection.projection import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.frame import cache

JUDGED = 1000  # tokens on which a picture that is drawn at once is judged


@dataclass(frozen=True)
class Named:
    """A space under the name that the page shows it by; `name` opens it."""

    label: str
    name: str

    @property
    def opened(self) -> OpenedSpace:
        """The space itself, kept between reruns."""
        return cache.opened(self.name)

    @property
    def stamp(self) -> str:
        """Changes when the files behind it do."""
        return cache.space_stamp(self.name)


@dataclass(frozen=True, eq=False)
class Shown:
    """A map and the spaces it is of. `key` tells it from every other: the first part of any key for
    what is drawn from it.
    """

    key: str
    spaces: tuple[Named, ...]
    map: ProjectionArtifact
    kept: Artifact | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens on the map."""
        return self.map.words

    @property
    def space(self) -> EmbeddingSpace:
        """The space whose ids the page speaks of: the first."""
        return self.spaces[0].opened.space

    @cached_property
    def pictures(self) -> tuple[ProjectedSpace, ...]:
        """The layout of each space."""
        return (self.map.first, self.map.second) if self.map.second else (self.map.first,)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of token of each space, as the lab colors it; the second of two alike is shown
        as what is aimed at.
        """
        found = ["source" if space.opened.model else "domain" for space in self.spaces]
        return (found[0], *("target" if kind == found[0] else kind for kind in found[1:]))

    @property
    def continuation(self) -> str:
        """The mark of a piece that continues a word; "" where there is none."""
        model = self.spaces[0].opened.model
        return model.vocabulary.continuation if model else ""


def at_once(spaces: tuple[Named, ...], choice: TokenChoice) -> Shown:
    """The principal components of the chosen tokens, with no wait; raises InputError where there is
    nothing to lay out.
    """
    stamps = " ".join(one.stamp for one in spaces)
    return Shown(f"{stamps} {choice}", spaces, _at_once(stamps, spaces, choice))


def kept(spaces: tuple[Named, ...], artifact: Artifact) -> Shown:
    """A map that a job made; raises InputError where it is damaged, and where its space was made
    anew with other tokens.
    """
    found = _kept(str(artifact.folder), artifact.stamp)
    space = spaces[0].opened.space
    if any(
        row >= len(space) or space.words[row] != word
        for row, word in zip(found.rows.tolist(), found.words, strict=True)
    ):
        raise InputError(
            f"{artifact.name} shows other tokens than {spaces[0].label} has now.",
            "Make the map again.",
        )
    return Shown(f"{artifact.folder} {artifact.stamp}", spaces, found, artifact)


def maps_of(workspace: Workspace, spaces: tuple[Named, ...]) -> list[Artifact]:
    """The finished maps of these spaces, newest first."""
    asked = [one.opened.folder.resolve() for one in spaces]
    return [made for made in workspace.artifacts("maps") if folders_of(workspace, made) == asked]


def folders_of(workspace: Workspace, made: Artifact) -> list[Path]:
    """Where the spaces of a map lie."""
    given = (made.manifest.inputs.get(role) for role in ("space", "other"))
    return [(workspace.root / one.paths[0]).resolve() for one in given if one]


@st.cache_resource(max_entries=8, show_spinner="Laying out the tokens …")
def _at_once(stamps: str, spaces: tuple[Named, ...], choice: TokenChoice) -> ProjectionArtifact:
    opened = [one.opened for one in spaces]
    step = ProjectionStep(choice, ProjectionSettings("pca"))
    return compute_projection(
        opened[0], opened[1] if len(opened) > 1 else None, step, judged=JUDGED
    )


@st.cache_resource(max_entries=8, show_spinner="Reading the map …")
def _kept(folder: str, stamp: str) -> ProjectionArtifact:
    return load_projection(Path(folder))
