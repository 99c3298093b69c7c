"""The four neighbor lists of a word: within each space, and across them in both directions.

A list within a space excludes the query word; a list across spaces keeps it, because a good
alignment maps a word near its own wordpiece. Similarities across spaces are computed in the
prepared target space (normalized and centered if the settings require it), as in
cross-validation.

Lists of wordpieces go among whole words by default: wordpieces that are also words of the domain
space. These are the anchors, so the lists have the candidates of the evaluation. The other
wordpieces are parts of words, foreign characters, and words that the text does not contain.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np

from vocadapt.errors import InputError
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.alignment.alignment import Alignment
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.neighbors.csls import CslsSearch
from vocadapt.spaces.neighbors.search import (
    METRICS,
    NeighborList,
    find_nearest,
    list_neighbors,
)
from vocadapt.spaces.space import EmbeddingSpace, IntArray, Matrix
from vocadapt.text.keyword_in_context import normalize_single_word
from vocadapt.text.splitter import Splitter
from vocadapt.text.word_search import suggest_spellings

WHOLE_WORDS, ALL_PIECES = "whole words", "all wordpieces"


class FourLists(TypedDict):
    """Neighbors with their scores, best first; None if the space lacks the query word."""

    within_words: NeighborList | None
    within_pieces: NeighborList | None
    to_pieces: NeighborList | None
    to_words: NeighborList | None


@dataclass(frozen=True)
class ListSettings(CheckedSettings):
    """Length of the lists and their metric; `csls` applies to the lists across spaces only."""

    k: int = setting(
        10, "number of neighbors per list", low=1, high=10_000, flag="-k", label="Neighbors"
    )
    metric: str = setting(
        "cosine", "measure of similarity", choices=tuple(METRICS), label="Measure"
    )
    csls: bool = setting(False, "use CSLS for cross-space neighbors", label="CSLS")
    among: str = setting(
        WHOLE_WORDS,
        "candidates of the lists of wordpieces; whole words are those that the domain space has"
        " too",
        choices=(WHOLE_WORDS, ALL_PIECES),
    )

    @property
    def measure(self) -> str:
        """Description of the scores."""
        if self.metric == "euclidean":
            return f"{METRICS[self.metric]}, smaller is nearer"
        if self.csls:
            return "CSLS across, cosine within"
        return "cosine"

    @property
    def score_kind(self) -> str:
        """What the scores are: "similarity" or "distance"."""
        return "distance" if self.metric == "euclidean" else "similarity"


@dataclass(frozen=True, eq=False)
class CrossSpace:
    """Word vectors, a model's wordpieces and their alignment; shared results are cached.

    The model's special tokens are neither anchors nor neighbors.
    """

    words: EmbeddingSpace
    pieces: EmbeddingSpace
    alignment: Alignment

    @cached_property
    def mapped_words(self) -> EmbeddingSpace:
        """The word vectors, mapped to the prepared target space."""
        return self.words.with_matrix(self.alignment.map_source(self.words.matrix))

    @cached_property
    def ordinary(self) -> EmbeddingSpace:
        """The wordpieces without the special tokens."""
        words = enumerate(self.pieces.words)
        return self.pieces.take(
            [row for row, piece in words if piece not in self.pieces.kinds.special]
        )

    @cached_property
    def prepared_pieces(self) -> EmbeddingSpace:
        """The ordinary wordpieces, normalized and centered if the alignment requires it."""
        settings = self.alignment.settings
        if not (settings.unit or settings.center):
            return self.ordinary
        return self.ordinary.with_matrix(self.alignment.prepare_target(self.ordinary.matrix))

    @cached_property
    def _whole_rows(self) -> IntArray:
        """Rows (n,) of the whole words among the ordinary wordpieces, in their order."""
        parts = self.pieces.kinds.continuations
        rows = [row for row in sorted(self._anchors[1]) if self.ordinary.words[row] not in parts]
        return np.array(rows, dtype=np.int64)

    @cached_property
    def whole_words(self) -> EmbeddingSpace:
        """The ordinary wordpieces that are whole words."""
        return self.ordinary.take(self._whole_rows)

    @cached_property
    def prepared_whole_words(self) -> EmbeddingSpace:
        """The whole words, normalized and centered if the alignment requires it."""
        return self.prepared_pieces.take(self._whole_rows)

    @cached_property
    def searchable(self) -> tuple[str, ...]:
        """All words and ordinary wordpieces, the words first."""
        return tuple(dict.fromkeys((*self.words.words, *self.ordinary.words)))

    def count_candidates(self, settings: ListSettings) -> int:
        """Return the number of candidates of the lists of wordpieces."""
        return len(self._choose_candidates(settings))

    def _choose_candidates(self, settings: ListSettings) -> EmbeddingSpace:
        return self.ordinary if settings.among == ALL_PIECES else self.whole_words

    @cached_property
    def _csls_of_words(self) -> CslsSearch:
        """CSLS search for mapped words; their hubness is that among the anchors' wordpieces."""
        return CslsSearch(self.mapped_words, self.prepared_pieces.unit[self._anchors[1]])

    @cached_property
    def _csls_of_pieces(self) -> CslsSearch:
        """CSLS search for wordpieces; their hubness is that among the mapped anchors."""
        return CslsSearch(self.prepared_pieces, self.mapped_words.unit[self._anchors[0]])

    @cached_property
    def _csls_of_whole_words(self) -> CslsSearch:
        """CSLS search for whole words, with the hubness that they have among the wordpieces."""
        return CslsSearch(self.prepared_whole_words, self._csls_of_pieces.others)

    @cached_property
    def _anchors(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the anchors among the words and among the ordinary wordpieces."""
        anchors = find_anchors(self.words, self.ordinary, self.alignment.settings.anchors)
        return anchors.source_rows, anchors.target_rows

    def lists(self, word: str, settings: ListSettings = ListSettings()) -> FourLists:
        """Return the four lists of a word; raises InputError if neither space has it."""
        if word not in self.words and word not in self.ordinary:
            raise InputError(
                f"{word[:60]!r} is neither among the words nor among the wordpieces.",
                suggest_spellings(word, self.searchable)
                or "Spell it as the model's tokenizer normalizes it.",
                code="unknown-word",
            )
        lists = FourLists(within_words=None, within_pieces=None, to_pieces=None, to_words=None)
        if word in self.words:
            lists["within_words"] = _list_nearest(self.words, self.words[word], settings, word)
            lists["to_pieces"] = self._list_pieces(self.mapped_words[word], settings)
        if word in self.ordinary:
            lists["within_pieces"] = _list_nearest(
                self._choose_candidates(settings), self.ordinary[word], settings, word
            )
            lists["to_words"] = self._list_words(self.prepared_pieces[word], settings)
        return lists

    def list_neighbors_of_pieces(
        self, pieces: Sequence[str], settings: ListSettings = ListSettings()
    ) -> FourLists:
        """Return the lists of a word of several wordpieces, from the mean of their embeddings.

        The lists that need a word vector are None.
        """
        unknown = [piece for piece in pieces if piece not in self.ordinary]
        if unknown or not pieces:
            raise InputError(
                f"Expected wordpieces of {self.ordinary.name}, got"
                f" {', '.join(map(repr, unknown)) or 'none'}.",
                code="unknown-wordpiece",
            )
        rows = self.ordinary.rows(pieces)
        mean = self.ordinary.matrix[rows].mean(axis=0)
        prepared_mean = self.prepared_pieces.matrix[rows].mean(axis=0)
        return {
            "within_words": None,
            "within_pieces": _list_nearest(self._choose_candidates(settings), mean, settings),
            "to_pieces": None,
            "to_words": self._list_words(prepared_mean, settings),
        }

    def select_best_aligned(self, words: Sequence[str], n: int) -> list[str]:
        """Return the n of the given words that are mapped nearest to a wordpiece, nearest first."""
        mapped = self.mapped_words.matrix[self.words.rows(words)]
        similarity = find_nearest(mapped, self.prepared_whole_words, 1).scores[:, 0]
        return [words[i] for i in np.argsort(-similarity, kind="stable")[:n]]

    def list_aligned_pieces(
        self, vector: Matrix, settings: ListSettings = ListSettings()
    ) -> NeighborList:
        """Return the wordpieces nearest to a vector (dim,) of the domain space, once mapped."""
        return self._list_pieces(self.alignment.map_source(vector[None])[0], settings)

    def _list_pieces(self, row: Matrix, settings: ListSettings) -> NeighborList:
        everything = settings.among == ALL_PIECES
        if settings.csls:
            search = self._csls_of_pieces if everything else self._csls_of_whole_words
            return search.list_neighbors(row, settings.k, settings.metric)
        candidates = self.prepared_pieces if everything else self.prepared_whole_words
        return _list_nearest(candidates, row, settings)

    def _list_words(self, row: Matrix, settings: ListSettings) -> NeighborList:
        if settings.csls:
            return self._csls_of_words.list_neighbors(row, settings.k, settings.metric)
        return _list_nearest(self.mapped_words, row, settings)


def resolve_word(typed: str, splitter: Splitter, *spaces: EmbeddingSpace) -> str:
    """Return a typed word as it is if one of the spaces has it, else normalized as the model does.

    Raises InputError if the model splits it into several words, or none.
    """
    word = typed.strip()
    if any(word in space for space in spaces):
        return word
    return normalize_single_word(word, splitter)


def find_shared_neighbors(lists: FourLists) -> frozenset[str]:
    """Return the neighbors that occur in more than one of the lists."""
    occurrences: Counter[str] = Counter()
    within = lists["within_words"], lists["within_pieces"]
    for listed in (*within, lists["to_pieces"], lists["to_words"]):
        occurrences.update({name for name, _ in listed or ()})
    return frozenset(name for name, count in occurrences.items() if count > 1)


def _list_nearest(
    space: EmbeddingSpace,
    row: Matrix,
    settings: ListSettings,
    own: str | None = None,
) -> NeighborList:
    return list_neighbors(space, row, settings.k, settings.metric, own)
