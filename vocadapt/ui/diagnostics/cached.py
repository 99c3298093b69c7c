"""Cached figures of spaces for the page Diagnostics, keyed by the stamps of their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vocadapt.lab.artifacts.open_space import OpenedSpace
from vocadapt.lab.reports.diagnostics import (
    Diagnosis,
    ListScores,
    diagnose,
    score_lists,
    select_tokens,
)
from vocadapt.spaces.diagnostics.geometry import (
    Hubness,
    NormBands,
    Values,
    compute_norm_bands,
    get_frequencies,
    measure_hubness,
)
from vocadapt.spaces.diagnostics.mean_cosines import (
    CosineTables,
    build_cosine_tables,
    compute_mean_cosine,
    sum_directions,
)
from vocadapt.spaces.diagnostics.relation_lists import (
    RelationList,
    load_bundled_relations,
    read_relations,
)
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.frame import cache

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Seen:
    """A space on the page: display name, folder or hub name, selected tokens, and color."""

    label: str
    name: str
    tokens: str
    color: str = ""

    @property
    def opened(self) -> OpenedSpace:
        """The space as it lies there."""
        return cache.opened(self.name)

    @property
    def key(self) -> Key:
        """Changes with the files behind it, and with the tokens that count."""
        return cache.space_stamp(self.name), self.tokens

    @property
    def space(self) -> EmbeddingSpace:
        """The rows that count; raises InputError where none is left."""
        return _counted(self.key, self.opened)


def short(names: Sequence[str]) -> list[str]:
    """Labels without the kind of each ("model · "), where they stay apart without."""
    short = [name.split(" · ", 1)[-1] for name in names]
    return short if len(set(short)) == len(short) else list(names)


@dataclass(frozen=True, eq=False)
class NormView:
    """Lengths of the rows against frequency: how frequency is known, both for every row, and the
    bands.
    """

    by: str
    frequency: Values
    lengths: Values
    bands: NormBands


def tables(spaces: list[Seen]) -> CosineTables:
    """Return the mean cosine tables (Fast 2023, tables 3.2 and 3.3)."""
    return _tables(tuple(seen.key for seen in spaces), [seen.space for seen in spaces])


def diagnosis(seen: Seen) -> Diagnosis:
    """Return the fast figures of a space."""
    return _diagnosis(seen.key, seen.space, seen.opened)


def hubness(seen: Seen) -> Hubness | None:
    """Return the hubness of a space, which takes seconds."""
    return _hubness(seen.key, seen.space)


def norms(seen: Seen) -> NormView:
    """What the picture of norms shows."""
    return _norms(seen.key, seen.space)


def lists_of(file: Path | None) -> tuple[RelationList, ...]:
    """The lists at hand, or what a file holds; raises InputError with the number of a line that
    does not fit.
    """
    return _lists(
        str(file) if file else "",
        f"{file.stat().st_size} {file.stat().st_mtime_ns}" if file else "",
    )


def scores(seen: Seen, file: Path | None) -> tuple[ListScores, ...]:
    """Those lists in a space."""
    stamp = f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" if file else ""
    return _scores((*seen.key, stamp), seen.opened, lists_of(file), own_mean(seen))


def own_mean(seen: Seen) -> float | None:
    """The mean cosine of a space that its relations are corrected by."""
    return _own_mean(seen.key, seen.space)


@st.cache_resource(max_entries=8, show_spinner=False)
def _counted(key: Key, _opened: OpenedSpace) -> EmbeddingSpace:
    return select_tokens(_opened, key[-1])


@st.cache_data(max_entries=16, show_spinner="Taking mean cosines …")
def _tables(key: tuple[Key, ...], _spaces: list[EmbeddingSpace]) -> CosineTables:
    return build_cosine_tables(_spaces)


@st.cache_data(max_entries=32, show_spinner="Measuring isotropy and norms …")
def _diagnosis(key: Key, _space: EmbeddingSpace, _opened: OpenedSpace) -> Diagnosis:
    return diagnose(_space, hubs=False, added=_opened.added)


@st.cache_data(max_entries=32, show_spinner="Looking for hubs: each token against every other …")
def _hubness(key: Key, _space: EmbeddingSpace) -> Hubness | None:
    return measure_hubness(_space)


@st.cache_resource(max_entries=8, show_spinner=False)
def _norms(key: Key, _space: EmbeddingSpace) -> NormView:
    by, frequency = get_frequencies(_space)
    return NormView(by, frequency, sum_directions(_space).lengths, compute_norm_bands(_space))


@st.cache_data(max_entries=32, show_spinner=False)
def _own_mean(key: Key, _space: EmbeddingSpace) -> float | None:
    return compute_mean_cosine(_space)


@st.cache_resource(max_entries=8, show_spinner="Reading the word pairs …")
def _lists(file: str, stamp: str) -> tuple[RelationList, ...]:
    return (read_relations(Path(file)),) if file else load_bundled_relations()


@st.cache_data(max_entries=32, show_spinner="Comparing the pairs with random ones …")
def _scores(
    key: Key, _opened: OpenedSpace, _lists: tuple[RelationList, ...], _mean: float | None
) -> tuple[ListScores, ...]:
    return score_lists(_opened, _lists, _mean)
