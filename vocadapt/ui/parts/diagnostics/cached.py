"""Cached figures of spaces for the page Diagnostics, hashed by the stamps of their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from vocadapt.analysis.figures.diagnostics import NormPanel
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.reports.diagnostics import ListScores, score_lists, select_tokens
from vocadapt.spaces.diagnostics.diagnosis import Diagnosis, diagnose
from vocadapt.spaces.diagnostics.geometry import (
    Hubness,
    Isotropy,
    compute_norm_bands,
    get_frequencies,
    measure_hubness,
    measure_isotropy,
)
from vocadapt.spaces.diagnostics.statistics import (
    CosineTables,
    build_cosine_tables,
    compute_mean_cosine,
    sum_directions,
)
from vocadapt.spaces.diagnostics.word_lists import (
    RelationList,
    load_bundled_relations,
    read_relations,
)
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.state import cache


@dataclass(frozen=True, eq=False)
class SelectedSpace:
    """A space on the page: display name, folder or hub name, selected tokens, and color.

    token_color: color of its original tokens; `color` is that of the space as a whole.
    """

    label: str
    name: str
    tokens: str
    color: str = ""
    token_color: str = ""

    @property
    def opened(self) -> OpenedSpace:
        """The space with all tokens."""
        return cache.open_named_space(self.name)

    @property
    def stamp(self) -> str:
        """A cache key that changes with the files of the space and with the selected tokens."""
        return f"{cache.stamp_space(self.opened)} {self.tokens}"

    @property
    def space(self) -> EmbeddingSpace:
        """The space of the selected tokens; raises InputError if no token is selected."""
        return _select_tokens(self.opened, self.tokens)


# Few: each is a copy of a matrix of embeddings, and is selected again in milliseconds.
@st.cache_resource(max_entries=3, show_spinner=False, hash_funcs=cache.STAMPS)
def _select_tokens(opened: OpenedSpace, tokens: str) -> EmbeddingSpace:
    return select_tokens(opened, tokens)


STAMPS = cache.STAMPS | {SelectedSpace: lambda selected: selected.stamp}


def shorten_labels(names: Sequence[str]) -> list[str]:
    """Return labels without their kinds ("model · "), if they are still unique then."""
    short = [name.split(" · ", 1)[-1] for name in names]
    return short if len(set(short)) == len(short) else list(names)


@st.cache_data(max_entries=16, show_spinner="Computing mean cosines …", hash_funcs=STAMPS)
def compute_tables(spaces: list[SelectedSpace]) -> CosineTables:
    """Return the tables of mean cosines (Fast 2023, tables 3.2 and 3.3)."""
    return build_cosine_tables([selected.space for selected in spaces])


@st.cache_data(max_entries=32, show_spinner="Measuring isotropy and norms …", hash_funcs=STAMPS)
def compute_diagnosis(selected: SelectedSpace) -> Diagnosis:
    """Return the figures of the card of a space: all but hubness, and but the isotropy of the
    unnormalized vectors.
    """
    return diagnose(selected.space, hubs=False, added=selected.opened.added, unnormalized=False)


@st.cache_data(max_entries=32, show_spinner="Measuring isotropy …", hash_funcs=STAMPS)
def compute_isotropy(selected: SelectedSpace) -> Isotropy:
    """Return the isotropy of a space, that of the unnormalized vectors, too."""
    return measure_isotropy(selected.space)


@st.cache_data(
    max_entries=32,
    show_spinner="Computing hubness: each token against every other …",
    hash_funcs=STAMPS,
)
def measure_hubness_of(selected: SelectedSpace) -> Hubness | None:
    """Return the hubness of a space; None if it has too few tokens. Takes seconds."""
    return measure_hubness(selected.space)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=STAMPS)
def build_norm_panel(selected: SelectedSpace) -> tuple[NormPanel, int]:
    """Return the plot data of norms by frequency, without title and color, and the number of tokens
    that are excluded because they have no counts.

    The x axis is the number of occurrences, or the rank by id if the space has no counts.
    """
    # 1. The original and the added tokens; without counts, added tokens come last by their id.
    space, added = selected.space, selected.opened.added
    by, frequency = get_frequencies(space)
    lengths = sum_directions(space).lengths
    is_added = np.array([word in added for word in space.words], dtype=bool)
    counted, drawn = by == "counts", lengths > 0
    n_uncounted = 0
    place = -frequency
    axis = "rank by id among the selected tokens"
    if counted:
        n_uncounted = int((frequency <= 0).sum())
        place = frequency
        axis = "occurrences"
        drawn &= frequency > 0
    # 2. The percentiles of groups of original tokens.
    original = space
    if is_added.any():
        original = space.take(np.flatnonzero(~is_added))
    bands = compute_norm_bands(original)
    lines = (bands.place, bands.low, bands.median, bands.high)
    groups = []
    for mask in (drawn & ~is_added, drawn & is_added):
        groups.append((place[mask].astype(np.float32), lengths[mask]))
    shown, new = groups
    return NormPanel("", "", axis, counted, *shown, *lines, *new), n_uncounted


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=STAMPS)
def get_mean_cosine(selected: SelectedSpace) -> float | None:
    """Return the mean cosine of a space, which is subtracted from the cosines of its relations."""
    return compute_mean_cosine(selected.space)


@st.cache_resource(max_entries=8, show_spinner="Reading the word pairs …", hash_funcs=STAMPS)
def load_lists(file: Path | None) -> tuple[RelationList, ...]:
    """Return the bundled relation lists, or the list of a file.

    Raises InputError, with the line number, if a line is invalid.
    """
    if file is None:
        return load_bundled_relations()
    return (read_relations(file),)


@st.cache_data(
    max_entries=32, show_spinner="Comparing the pairs with random ones …", hash_funcs=STAMPS
)
def compute_scores(selected: SelectedSpace, file: Path | None) -> ListScores:
    """Return the scores of the lists of a file, or of the bundled ones, in a space."""
    return score_lists(selected.opened, load_lists(file), get_mean_cosine(selected))
