"""Cached figures of spaces for the page Diagnostics, hashed by the stamps of their inputs."""

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
    compute_norm_bands,
    get_frequencies,
    measure_hubness,
)
from vocadapt.spaces.diagnostics.statistics import (
    CosineTables,
    build_cosine_tables,
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


STAMPS = cache.STAMPS | {SelectedSpace: lambda selected: f"{selected.label} {selected.stamp}"}


@st.cache_data(max_entries=16, show_spinner="Computing mean cosines …", hash_funcs=STAMPS)
def compute_tables(spaces: list[SelectedSpace]) -> CosineTables:
    """Return the tables of mean cosines (Fast 2023, tables 3.2 and 3.3)."""
    return build_cosine_tables([selected.space for selected in spaces])


@st.cache_data(max_entries=32, show_spinner="Measuring isotropy and norms …", hash_funcs=STAMPS)
def compute_diagnosis(selected: SelectedSpace) -> Diagnosis:
    """Return the figures of the card of a space: all but hubness and raw isotropy."""
    return diagnose(selected.space, hubs=False, added=selected.opened.added, unnormalized=False)


@st.cache_data(
    max_entries=32,
    show_spinner="Computing hubness: each token against every other …",
    hash_funcs=STAMPS,
)
def measure_hubness_of(selected: SelectedSpace) -> Hubness | None:
    """Return the hubness of a space; None if it has too few tokens. Takes seconds."""
    return measure_hubness(selected.space)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=STAMPS)
def build_norm_panel(selected: SelectedSpace) -> NormPanel:
    """Return the plot data of norms by frequency, without title and color.

    The x axis is the number of occurrences, of the tokens that have counts, or the rank by id if
    the space has no counts.
    """
    # 1. The original and the added tokens; without counts, added tokens come last by their id.
    space, added = selected.space, selected.opened.added
    by, frequency = get_frequencies(space)
    lengths = sum_directions(space).lengths
    is_added = np.array([word in added for word in space.words], dtype=bool)
    counted = by == "counts"
    drawn = lengths > 0
    place = -frequency
    axis = "rank by id among the selected tokens"
    if counted:
        place = frequency
        axis = "occurrences"
        drawn &= frequency > 0
    # 2. The percentiles of groups of original tokens.
    original = space.take(np.flatnonzero(~is_added)) if is_added.any() else space
    bands = compute_norm_bands(original)
    lines = (bands.place, bands.low, bands.median, bands.high)
    shown, new = (
        (place[mask].astype(np.float32), lengths[mask])
        for mask in (drawn & ~is_added, drawn & is_added)
    )
    return NormPanel("", "", axis, counted, *shown, *lines, *new)


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
    mean = compute_diagnosis(selected).mean_cosine
    return score_lists(selected.opened, load_lists(file), mean, name=selected.label)
