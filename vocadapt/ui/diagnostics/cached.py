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
        """The space with all tokens."""
        return cache.opened(self.name)

    @property
    def key(self) -> Key:
        """Cache key: changes with the files of the space and with the selected tokens."""
        return cache.space_stamp(self.name), self.tokens

    @property
    def space(self) -> EmbeddingSpace:
        """The selected tokens; raises InputError if none is left."""
        return _counted(self.key, self.opened)


def short(names: Sequence[str]) -> list[str]:
    """Return labels without their kinds ("model · "), if they are unique without."""
    short = [name.split(" · ", 1)[-1] for name in names]
    return short if len(set(short)) == len(short) else list(names)


@dataclass(frozen=True, eq=False)
class NormView:
    """Norms of a space against frequency.

    by: "counts" or "ids", how the frequency is known. frequency, norms: of each token. bands: of
    groups of tokens.
    """

    by: str
    frequency: Values
    norms: Values
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
    """Return norms and frequencies of the tokens of a space."""
    return _norms(seen.key, seen.space)


def lists_of(file: Path | None) -> tuple[RelationList, ...]:
    """Return the bundled lists, or those of a file; raises InputError with the number of an invalid
    line.
    """
    return _lists(str(file or ""), _file_stamp(file))


def scores(seen: Seen, file: Path | None) -> tuple[ListScores, ...]:
    """Return the scores of these lists in a space."""
    return _scores(
        (*seen.key, str(file or ""), _file_stamp(file)), seen.opened, lists_of(file), own_mean(seen)
    )


def own_mean(seen: Seen) -> float | None:
    """Return the mean cosine of a space, which its relations are corrected by."""
    return _own_mean(seen.key, seen.space)


def _file_stamp(file: Path | None) -> str:
    """Return a cache key that changes with a file; "" without one."""
    if file is None:
        return ""
    return f"{file.stat().st_size} {file.stat().st_mtime_ns}"


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
