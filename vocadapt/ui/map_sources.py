"""What the map page shows: one space or two, the tokens chosen of them, their coordinates, and how far these may be trusted."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from vocadapt.lab.opening import Opened
from vocadapt.spaces.choosing import TokenChoice, choose
from vocadapt.spaces.picture_quality import PictureQuality, picture_quality
from vocadapt.spaces.projection import Projection, ProjectionSettings, project, project_pair
from vocadapt.spaces.regions import Regions, find_regions
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui import cache

PCA = ProjectionSettings("pca")
JUDGED = 1000  # tokens on which a picture that is drawn at once is judged


@dataclass(frozen=True)
class Named:
    """A space under the name that the page shows it by; `name` opens it."""

    label: str
    name: str

    @property
    def opened(self) -> Opened:
        """The space itself, kept between reruns."""
        return cache.opened(self.name)

    @property
    def stamp(self) -> str:
        """Changes when the files behind it do."""
        return cache.space_stamp(self.name)


@dataclass(frozen=True, eq=False)
class Shown:
    """A map: its spaces, a layout for each over the same words, the sentence on which tokens these are, the quality of each.

    `key` tells it from every other map: the first part of any key for what is drawn from it.
    """

    key: str
    spaces: tuple[Named, ...]
    layouts: tuple[Projection, ...]
    how: str
    qualities: tuple[PictureQuality, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens on the map."""
        return self.layouts[0].words

    @property
    def space(self) -> EmbeddingSpace:
        """The space whose ids the page speaks of: the first."""
        return self.spaces[0].opened.space

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The id of each token in the first space (n,)."""
        return self.space.rows(self.words)

    @property
    def continuation(self) -> str:
        """The mark of a piece that continues a word; "" where there is none."""
        model = self.spaces[0].opened.model
        return model.vocabulary.continuation if model else ""


def at_once(spaces: tuple[Named, ...], choice: TokenChoice) -> Shown:
    """The principal components of the chosen tokens, with no wait; raises InputError where there is nothing to lay out."""
    return _at_once(" ".join(one.stamp for one in spaces), spaces, choice)


def regions_of(shown: Shown, layout: int = 0) -> Regions:
    """The regions of a map, each with a name of its words."""
    return _regions(shown.key, layout, shown)


@st.cache_resource(max_entries=8, show_spinner="Laying out the tokens …")
def _at_once(stamps: str, spaces: tuple[Named, ...], choice: TokenChoice) -> Shown:
    opened = [one.opened for one in spaces]
    continuation = opened[0].model.vocabulary.continuation if opened[0].model else ""
    among = opened[0].space
    if len(opened) > 1:
        among = among.take([row for row, word in enumerate(among.words) if word in opened[1].space])
    chosen = choose(among, choice, frozenset().union(*(one.special for one in opened)), continuation)
    parts = [among.take(chosen.rows)]
    if len(opened) > 1:
        other = opened[1].space
        parts.append(other.take(other.rows(parts[0].words)))
    layouts = project_pair(parts[0], parts[1], PCA) if len(parts) > 1 else (project(parts[0], PCA),)
    qualities = tuple(picture_quality(part, layout.xy, most=JUDGED) for part, layout in zip(parts, layouts, strict=True))
    return Shown(f"{stamps} {choice}", spaces, layouts, chosen.how, qualities)


@st.cache_resource(max_entries=8, show_spinner="Looking for regions …")
def _regions(key: str, layout: int, _shown: Shown) -> Regions:
    counts = _shown.space.counts
    return find_regions(_shown.words, _shown.layouts[layout].xy, counts=None if counts is None else counts[_shown.ids])
