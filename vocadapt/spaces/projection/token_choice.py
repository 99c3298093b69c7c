"""Selection of the tokens to show: a list, a word and its neighbors, or a sample of those that pass
the filters.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.neighbors.search import METRICS, select_top_k
from vocadapt.spaces.space import BoolArray, EmbeddingSpace, IntArray
from vocadapt.text.patterns import find_containing
from vocadapt.text.word_search import suggest_spellings

BANDS = ("rank", "count")
LEAST_ADDED = 4  # at least one of so many tokens of a sample is an added token, if there are enough


@dataclass(frozen=True)
class TokenChoice(CheckedSettings):
    """Which tokens to show; the defaults are the filter of Fast 2023, section 3.4.1.

    Both ends of the frequency band are included. Without counts, the rank of a token is its
    position in the space (1: most frequent). The search ignores case.
    """

    first: int = setting(
        4000, "number of tokens to show", high=10_000_000, label="Max tokens", empty="all"
    )
    min_length: int = setting(
        4,
        "minimum number of characters, without the mark of a continuation; 4 as in Fast 2023",
        high=1_000,
        label="Min characters",
    )
    specials: bool = setting(False, "include special tokens", label="Special tokens")
    continuations: bool = setting(False, "include continuations", label="Continuations")
    unused: bool = setting(False, "include the placeholders [unusedN]", label="[unused]")
    band: str = setting(
        "rank", "meaning of the ends of the frequency band", choices=BANDS, label="Frequency band"
    )
    low: int = setting(0, "lower end of the frequency band, a rank or count", label="From")
    high: int = setting(0, "upper end of the frequency band", label="To", empty="the end")
    search: str = setting(
        "", "text or /regular expression/ that tokens must contain", label="Token contains"
    )
    around: str = setting(
        "", "word to show with its nearest neighbors, instead of the first tokens", label="Word"
    )
    nearest: int = setting(
        100, "number of neighbors shown around a word", low=2, high=10_000, label="Neighbors"
    )
    tokens: tuple[str, ...] = setting(
        (), "tokens to show, instead of all others; no filter applies to them", label="Tokens"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high and self.high < self.low:
            raise InputError(
                f"The frequency band ends at {self.high:,}, before it begins at {self.low:,}.",
                setting="high",
            )


@dataclass(frozen=True, eq=False)
class ChosenTokens:
    """The selected rows (n,) int64 of `of` rows, in the space's order or nearest first.

    how: a sentence that describes the selection, shown with every projection.
    added: number of added tokens among them.
    """

    rows: IntArray
    of: int
    how: str
    added: int = 0

    def __len__(self) -> int:
        return len(self.rows)


def choose_tokens(
    space: EmbeddingSpace,
    choice: TokenChoice,
    added: Collection[str] = (),
    metric: str = "cosine",
) -> ChosenTokens:
    """Select the rows of a space.

    added: the tokens that an adaptation added; a sample holds some of them (`sample_by_origin`).
    metric: similarity or distance measure of the neighbors of a word.
    Raises InputError if no token passes the filters, if the space lacks the word `around` or all of
    `tokens`, and for a band of counts in a space without counts.
    """
    reasons: list[str] = []
    rows, first = _select(space, choice, added, metric, reasons)
    if not len(rows):
        raise InputError(
            f"None of the {len(space):,} tokens of {space.name} is left: {', '.join(reasons)}.",
            "Relax the filters.",
            code="no-token-left",
        )

    n_added = sum(space.words[row] in added for row in rows)
    shown = f"{len(rows):,} of {len(space):,} shown"
    if n_added:
        shown += f", {n_added:,} of them added"
        if first.startswith("the first"):
            first = f"the first {len(rows) - n_added:,} original and {n_added:,} added"
    how = f"{shown}: {', '.join([first, *reasons])}"
    return ChosenTokens(rows.astype(np.int64), len(space), how, n_added)


def _select(
    space: EmbeddingSpace,
    choice: TokenChoice,
    added: Collection[str],
    metric: str,
    reasons: list[str],
) -> tuple[IntArray, str]:
    """Return the selected rows and what they are; add the filters that applied to `reasons`."""
    if choice.tokens:  # no filter applies
        return _find_listed(space, choice.tokens), f"a selection of {len(choice.tokens):,}"
    mask = _filter_tokens(space, choice, reasons)
    if choice.around:
        rows = _find_around(space, choice, mask, metric)
        return rows, f"{space.words[rows[0]]} and its {len(rows) - 1} nearest by {METRICS[metric]}"
    rows = np.flatnonzero(mask)
    if not 0 < choice.first < len(rows):
        return rows, "all"
    is_added = np.array([space.words[row] in added for row in rows], dtype=bool)
    return rows[sample_by_origin(is_added, choice.first)], f"the first {choice.first:,}"


def sample_by_origin(is_added: BoolArray, n: int) -> IntArray:
    """Return the sorted indices of n tokens: the first original and the first added tokens.

    is_added: (tokens,) bool, for more than n tokens. Both kinds are sampled in proportion to their
    numbers, but at least every LEAST_ADDED-th token is an added one, if there are enough.

    Example: 30 original and 10 added tokens, n = 8 -> the first 6 original and the first 2 added.
    """
    original = np.flatnonzero(~is_added)
    added = np.flatnonzero(is_added)
    proportional = round(n * len(added) / len(is_added))
    wanted = max(proportional, n // LEAST_ADDED)
    # If one kind has too few tokens, the other fills its places.
    n_added = min(len(added), max(wanted, n - len(original)))
    return np.sort(np.concatenate([original[: n - n_added], added[:n_added]]))


def _find_listed(space: EmbeddingSpace, tokens: tuple[str, ...]) -> IntArray:
    """Return the rows of listed tokens that the space has; raises InputError if it has none.

    Zero vectors are left out: they have no direction.
    """
    rows = [space.index[token] for token in dict.fromkeys(tokens) if token in space.index]
    rows = [row for row in rows if space.matrix[row].any()]
    if not rows:
        raise InputError(
            f"None of the {len(tokens):,} selected tokens is among the {len(space):,} tokens of"
            f" {space.name}.",
            "Select tokens of this space.",
            code="unknown-word",
        )
    return np.array(rows, dtype=np.int64)


def _filter_tokens(
    space: EmbeddingSpace,
    choice: TokenChoice,
    reasons: list[str],
) -> BoolArray:
    """Return the mask (words,) of the tokens that pass; active filters are added to `reasons`."""
    # 1. Short tokens.
    words, kinds = space.words, space.kinds
    mask = np.ones(len(words), dtype=bool)
    if choice.min_length > 1:
        mask &= [len(kinds.body(word)) >= choice.min_length for word in words]
        reasons.append(f"longer than {choice.min_length - 1} characters")

    # 2. Kinds of tokens; a reason is given only if the space has tokens of the kind.
    continuations = kinds.continuations.intersection(words)
    excluded: list[tuple[bool, str, Collection[str]]] = [
        (not choice.specials, "no special tokens", kinds.special),
        (not choice.continuations, f"no {kinds.continuation_name}", continuations),
        (not choice.unused, "no [unused]", kinds.placeholders.intersection(words)),
    ]
    for is_excluded, reason, tokens in excluded:
        if is_excluded and tokens:
            mask &= [word not in tokens for word in words]
            reasons.append(reason)

    # 3. The frequency band, the search, and zero vectors, which have no direction.
    if choice.low or choice.high:
        mask &= _filter_by_band(space, choice, reasons)
    if choice.search:
        found = set(find_containing(choice.search, words))
        mask &= [word in found for word in words]
        reasons.append(f"containing {choice.search!r}")
    zero = mask & ~space.matrix.any(axis=1)
    if zero.any():
        reasons.append("no zero vectors")
    return mask & ~zero


def _filter_by_band(space: EmbeddingSpace, choice: TokenChoice, reasons: list[str]) -> BoolArray:
    values = compute_ranks(space)
    if choice.band == "count":
        if space.counts is None:
            raise InputError(
                f"{space.name} has no counts, so it cannot be filtered by a band of counts.",
                "Choose a band of ranks.",
                code="no-counts",
            )
        values = space.counts
    reason = f"{choice.band} of at least {choice.low:,}"
    if choice.high:
        reason = f"{choice.band} from {choice.low:,} to {choice.high:,}"
    if space.counts is None:
        reason += " (rank: the order of the rows)"
    reasons.append(reason)
    return np.asarray((values >= choice.low) & ((values <= choice.high) | (choice.high == 0)))


def compute_ranks(space: EmbeddingSpace) -> IntArray:
    """Return the rank of each row by its count (words,) int64, 1 the most frequent.

    Without counts the order of the rows is the rank.
    """
    if space.counts is None:
        return np.arange(1, len(space) + 1)
    rank = np.empty(len(space), dtype=np.int64)
    rank[np.argsort(-space.counts, kind="stable")] = np.arange(1, len(space) + 1)
    return rank


def _find_around(
    space: EmbeddingSpace, choice: TokenChoice, mask: BoolArray, metric: str
) -> IntArray:
    """Return the rows of the word and of its nearest neighbors among the filtered tokens."""
    own = space.index.get(choice.around, space.index.get(choice.around.lower()))
    if own is None:
        raise InputError(
            f"{choice.around[:100]!r} is not among the {len(space):,} tokens of {space.name}.",
            suggest_spellings(choice.around, space.words) or "Check the spelling.",
            code="unknown-word",
        )
    if not space.matrix[own].any():
        raise InputError(
            f"The vector of {choice.around[:100]!r} is zero, so it has no nearest neighbors.",
            "Choose another word.",
            code="zero-vector",
        )
    among = mask.copy()
    among[own] = False
    # The other tokens get a score of -inf: a smaller space would have to compute its norms again.
    if metric == "euclidean":
        scores = space.matrix[[own]] @ space.matrix.T - space.half_squares
    else:
        scores = space.unit[[own]] @ space.unit.T
    scores[:, ~among] = -np.inf
    nearest = select_top_k(scores, min(choice.nearest, int(among.sum())))
    return np.concatenate([[own], nearest[0]])
