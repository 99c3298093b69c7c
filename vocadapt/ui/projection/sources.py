"""Spaces and projections of the page: computed immediately (PCA) or saved by an earlier job."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import OpenedSpace
from vocadapt.lab.steps.projection import (
    ProjectedSpace,
    ProjectionArtifact,
    ProjectionStep,
    compute_projection,
    load_projection,
)
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.projection.projection import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.frame import cache

SAMPLE = 1000  # tokens on which the quality of an immediate projection is measured


@dataclass(frozen=True)
class Named:
    """A space with its display name; `name` opens it."""

    label: str
    name: str

    @property
    def opened(self) -> OpenedSpace:
        """The opened space, cached between reruns."""
        return cache.opened(self.name)

    @property
    def stamp(self) -> str:
        """A cache key that changes with the files of the space."""
        return cache.space_stamp(self.name)


@dataclass(frozen=True, eq=False)
class Shown:
    """A projection and its spaces. `key` identifies it in caches of what is drawn from it."""

    key: str
    spaces: tuple[Named, ...]
    map: ProjectionArtifact
    kept: Artifact | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens of the projection."""
        return self.map.words

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the projection as the first space's model spells them."""
        model = self.spaces[0].opened.model
        if model is None:
            return list(self.words)
        spelled = dict(zip(model.vocabulary.names, model.vocabulary.tokens, strict=True))
        return [spelled[word] for word in self.words]

    @property
    def space(self) -> EmbeddingSpace:
        """The first space, whose ids the page uses."""
        return self.spaces[0].opened.space

    @cached_property
    def pictures(self) -> tuple[ProjectedSpace, ...]:
        """The layout of each space."""
        if self.map.second is None:
            return (self.map.first,)
        return (self.map.first, self.map.second)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The color kind of each space; the second of two equal kinds is shown as target."""
        found: list[str] = []
        for space in self.spaces:
            kind = "source" if space.opened.model else "domain"
            found.append("target" if kind in found else kind)
        return tuple(found)


def project_now(spaces: tuple[Named, ...], choice: TokenChoice) -> Shown:
    """Return the PCA projection of the chosen tokens; raise InputError if there is nothing to
    project.
    """
    stamps = " ".join(one.stamp for one in spaces)
    opened = [one.opened for one in spaces]
    return Shown(f"{stamps} {choice}", spaces, _compute_projection(opened, choice))


def open_saved(spaces: tuple[Named, ...], artifact: Artifact) -> Shown:
    """Return a saved projection; raise InputError if it is damaged or its space has other tokens
    now.
    """
    found = _load_projection(artifact)
    space = spaces[0].opened.space
    words = dict(enumerate(space.words))
    if tuple(map(words.get, found.rows.tolist())) != tuple(found.words):
        raise InputError(
            f"{artifact.name} has other tokens than {spaces[0].label} now.",
            "Create the projection again.",
        )
    return Shown(f"{artifact.folder} {artifact.stamp}", spaces, found, artifact)


def list_projections(workspace: Workspace, spaces: tuple[Named, ...]) -> list[Artifact]:
    """Return the saved projections of these spaces, newest first."""
    folders = [one.opened.folder.resolve() for one in spaces]
    made = workspace.artifacts("projections")
    return [artifact for artifact in made if folders_of(workspace, artifact) == folders]


def folders_of(workspace: Workspace, made: Artifact) -> list[Path]:
    """Return the folders of the spaces of a projection."""
    given = (made.manifest.inputs.get(role) for role in ("space", "other"))
    return [(workspace.root / one.paths[0]).resolve() for one in given if one]


@st.cache_resource(max_entries=8, show_spinner="Projecting the tokens …", hash_funcs=cache.STAMPS)
def _compute_projection(spaces: list[OpenedSpace], choice: TokenChoice) -> ProjectionArtifact:
    first, second = spaces[0], None
    if len(spaces) > 1:
        second = spaces[1]
    step = ProjectionStep(choice, ProjectionSettings("pca"))
    return compute_projection(first, second, step, judged=SAMPLE)


@st.cache_resource(max_entries=8, show_spinner="Reading the projection …", hash_funcs=cache.STAMPS)
def _load_projection(artifact: Artifact) -> ProjectionArtifact:
    return load_projection(artifact.folder)
