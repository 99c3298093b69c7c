"""Select the tokens to remove from a vocabulary: published heuristics, one of our own, and the
tokens that are never removed.

`last`, `longest`, `freq` and `random` are those of Fast 2023, section 4.4.4, which leaves some
details open. Here:
- fractions are of the whole vocabulary, which ends at exactly round(keep · V) tokens;
- the length of a token is counted without its ##;
- of equal tokens the one with the higher id is removed first;
- special tokens, added tokens and tokens of fewer than four characters are kept, [unusedN] are not.
`count_marks` counts the ## of a continuation as part of its length, as Fast 2023 does in section
3.3.3 ("all single characters with ## at the beginning" are among the tokens of 3 characters); the
presets reduced-* and combined-* use it.

Comparison with table 6.10 of Fast 2023, more tokens in % (here on the shared biomedical abstracts,
1.28 M words):
- 8,512 of PubMedBERT's tokens must be kept without ##, 6,414 with: 75 % of it can only be removed
  with ##, and the table has that cell.
- last, 75 %: PubMedBERT 43.7 with ## (published 43.8); BERT 50.3 without, 45.4 with (published
  38.6).
- longest, 75 %: not reproduced either way: BERT 56.3 without ##, 63.7 with (published 49.2);
  PubMedBERT 92.2 with (80.9).
- random, 75 %: BERT 64.0 without ##, 109.6 with (published 58.4); PubMedBERT 161.2 with (84.4).
The command vocabulary study measures it, on biomedical-abstracts.txt.gz with marks counted.

A token is also kept if it is the only way to write one of its characters in that position: without
it, a word that could be read would become [UNK].
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from vocadapt.errors import InputError
from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.vocabulary import FIXED, Ints, WordTable

# Held-out growth in % of two texts (every tenth line of 3 MB, bert-base-uncased; `vocabulary
# study`), keeping 50 % and 25 % of the tokens:
#                              last         longest      random       freq         cost
#     contracts (legal)        10.3  54.9   36.1  60.9   40.3  69.5    .4   6.5     .3   5.9
#     biomedical abstracts     10.7  51.9   33.1  58.1   39.1  66.1    .8  10.3     .6   9.0
# cost is .1 to 1.3 points better than freq, which is published, is ranked at once, and says in a
# word what it removes.
DEFAULT_HEURISTIC = "freq"
MIN_LENGTH = 4  # characters of a token that may be removed
FAST_2023 = "Fast 2023, section 4.4.4"
SHORT = f"shorter than {MIN_LENGTH} characters"
NEEDED = "with a character that nothing else spells there"


@dataclass(frozen=True)
class ReductionSettings(CheckedSettings):
    """Settings of a vocabulary reduction."""

    heuristic: str = setting(
        DEFAULT_HEURISTIC,
        "heuristic by which tokens are removed; the default lengthens held-out lines by 0.4 and 0.8"
        " % where last lengthens them by 10 % (half of the tokens of uncased BERT, two texts)",
        choices=lambda: REDUCTIONS,
        label="Reduction",
    )
    keep: float = setting(0.5, "fraction of the vocabulary to keep", low=ABOVE_ZERO, high=1)
    seed: int = setting(1, "random seed of the heuristic random", high=MAX_SEED)
    count_marks: bool = setting(
        False,
        "count the mark of a continuation as part of a token's length (Fast 2023, section 3.3.3)",
    )


# Sorts the removable ids (rising) into the order of removal, from the vocabulary, the ids, the
# words of a text (None unless the heuristic needs them) and the settings.
Order = Callable[[Vocabulary, Ints, WordTable | None, ReductionSettings], Ints]


@dataclass(frozen=True)
class Reduction:
    """A removal heuristic with its explanation and source.

    title: which tokens are removed first, in words, for menus and legends. order: sorts the ids
    that may be removed, first to be removed first. needs_counts: whether it needs the word counts
    of a text. seeded: whether it depends on the seed.
    """

    about: str
    source: str
    order: Order
    needs_counts: bool = False
    seeded: bool = False
    title: str = ""


def select_removed_tokens(
    vocabulary: Vocabulary, settings: ReductionSettings, counts: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """Return the tokens that a reduction removes, by id.

    counts: words of a text as the model's splitter makes them, with their counts.
    Raises InputError if the heuristic needs counts and there are none, and if fewer tokens are to
    be kept than are protected.
    """
    n_removed = count_removed(vocabulary, settings)
    if not n_removed:
        return ()
    table = None
    if counts and REDUCTIONS[settings.heuristic].needs_counts:
        table = vocabulary.build_word_table(counts)
    ranked = rank_removable(vocabulary, settings, table)
    return tuple(vocabulary.tokens[i] for i in np.sort(ranked[:n_removed]))


def rank_removable(
    vocabulary: Vocabulary, settings: ReductionSettings, table: WordTable | None
) -> Ints:
    """Return the ids of all tokens that may be removed, (n,) int64, in the order of removal.

    `settings.keep` is not used. Raises InputError if the heuristic needs the words of a text and
    `table` is None.
    """
    reduction = REDUCTIONS[settings.heuristic]
    if reduction.needs_counts and table is None:
        raise InputError(
            f"The heuristic {settings.heuristic} needs the words of a text.",
            "Give a text.",
            code="no-text",
        )
    removable = list_removable_ids(vocabulary, settings.count_marks)
    ranked = reduction.order(vocabulary, removable, table, settings)
    # A token from which others are merged is removed after them.
    ordered = vocabulary.order_removals([vocabulary.tokens[i] for i in ranked])
    return np.array([vocabulary.ids[token] for token in ordered], dtype=np.int64)


def name_heuristic(name: str) -> str:
    """Return which tokens a heuristic removes first, in words."""
    return REDUCTIONS[name].title or name


def list_text_free() -> list[str]:
    """Return the names of the heuristics that need no text."""
    return [name for name, reduction in REDUCTIONS.items() if not reduction.needs_counts]


def list_removable_ids(vocabulary: Vocabulary, count_marks: bool = False) -> Ints:
    """Return the ids that may be removed, (n,) int64, rising."""
    protected = set().union(*group_protected_tokens(vocabulary, count_marks).values())
    ids = [i for i, token in enumerate(vocabulary.tokens) if token not in protected]
    return np.array(ids, dtype=np.int64)


def count_removed(vocabulary: Vocabulary, settings: ReductionSettings) -> int:
    """Count the tokens that a reduction removes; raises InputError if it keeps too few."""
    size = round(settings.keep * len(vocabulary))
    reasons = group_protected_tokens(vocabulary, settings.count_marks)
    n_protected = sum(map(len, reasons.values()))
    if size < n_protected:
        why = ", ".join(f"{len(tokens):,} {reason}" for reason, tokens in reasons.items() if tokens)
        # Rounded up to four digits: rounded down, it would be refused again.
        lowest = math.ceil(1e4 * n_protected / len(vocabulary)) / 1e4
        remedy = f"Keep {lowest} or more"
        if not settings.count_marks:
            remedy += ", or count the mark of a continuation in the length of a token"
        raise InputError(
            f"Keeping {settings.keep:g} of {len(vocabulary):,} tokens leaves {size:,}, and"
            f" {n_protected:,} must stay: {why}.",
            f"{remedy}.",
            code="too-few-tokens",
        )
    return len(vocabulary) - size


def compute_min_keep_fraction(vocabulary: Vocabulary, count_marks: bool = False) -> float:
    """Return the smallest fraction of a vocabulary that can be kept."""
    groups = group_protected_tokens(vocabulary, count_marks)
    return sum(map(len, groups.values())) / len(vocabulary)


@lru_cache(maxsize=8)
def group_protected_tokens(
    vocabulary: Vocabulary, count_marks: bool = False
) -> Mapping[str, tuple[str, ...]]:
    """Return the tokens that are never removed, by reason; a token has the first that applies."""
    reasons: dict[str, list[str]] = {FIXED: [], SHORT: [], NEEDED: []}
    for token in vocabulary.tokens:
        counted = token if count_marks else vocabulary.body(token)
        if token in vocabulary.fixed_tokens:
            reasons[FIXED].append(token)
        elif len(counted) < MIN_LENGTH:
            reasons[SHORT].append(token)
        elif not vocabulary.is_placeholder(token) and vocabulary.is_irreplaceable(token):
            reasons[NEEDED].append(token)
    protected = set().union(*reasons.values())
    reasons[NEEDED] += sorted(vocabulary.find_parts(protected) - protected)
    return {reason: tuple(tokens) for reason, tokens in reasons.items()}


def _sort_longest(
    vocabulary: Vocabulary, ids: Ints, table: WordTable | None, settings: ReductionSettings
) -> Ints:
    tokens = [vocabulary.tokens[i] for i in ids]
    if not settings.count_marks:
        tokens = [vocabulary.body(token) for token in tokens]
    return _sort_by(ids, [-len(token) for token in tokens])


def _sort_by_count(
    vocabulary: Vocabulary, ids: Ints, table: WordTable | None, settings: ReductionSettings
) -> Ints:
    assert table is not None  # checked by `rank_removable`
    return _sort_by(ids, table.count_occurrences(table.tokenize())[ids])


# Tokens that `cost` removes before it computes the costs again: a fraction of those that are left,
# but no fewer than this number.
ROUND_FRACTION, ROUND_MIN = 0.06, 150
# Assumptions of `cost` about other texts than the given one. Damped counts predict those of another
# text better, as the exponent ¾ of word2vec's negative sampling (Mikolov et al. 2013, section 2.2).
# The prior text (see `rank_by_cost`) weighs a fraction of the words of the real one. The first two
# were chosen by experiments/reduction.py, ZIPF measured on general text under BERT's vocabulary.
POWER = 0.8  # exponent of the word counts
BELIEF = 0.01  # weight of the prior text, as a fraction of the words of the real text
ZIPF = 1.2  # exponent by which a token's frequency falls with its rank in the prior text


def _sort_by_cost(
    vocabulary: Vocabulary, ids: Ints, table: WordTable | None, settings: ReductionSettings
) -> Ints:
    assert table is not None  # checked by `rank_removable`
    return rank_by_cost(vocabulary, ids, table)


def rank_by_cost(
    vocabulary: Vocabulary,
    ids: Ints,
    table: WordTable,
    power: float = POWER,
    belief: float = BELIEF,
) -> Ints:
    """Return the removable ids in the order of removal, (n,) int64: cheapest first, greedily.

    The cost of a token is the number of additional wordpieces if it is removed too. Costs change
    as tokens are removed, so the ranking is made in rounds:

    1. Damp the word counts by an exponent below one, so that a few very frequent words do not
       decide alone.
    2. Build a prior text for tokens that the real text (almost) never contains: each token once,
       alone, weighted by its id, because low ids are frequent in what the vocabulary was made for.
    3. Compute the cost of each token left, over both texts; remove the cheapest 6 %.
    4. Repeat step 3 until no token is left.

    Example: hypertension, 100 times in the text, is hyper ##tension. If ##ten and ##sion are in the
    vocabulary, removing ##tension costs 100 wordpieces: hyper ##ten ##sion. Once ##ten is removed,
    it costs more.
    """
    weight = belief * float(table.counts.sum())
    prior = _build_prior_text(vocabulary, ids, weight)
    counts = table.counts**power
    counts *= table.counts.sum() / max(counts.sum(), 1e-9)  # the same total as before
    table = replace(table, counts=counts)
    removed = np.zeros(len(vocabulary), dtype=np.bool_)
    order: list[Ints] = []
    left = ids
    while len(left):
        cost = table.compute_removal_costs(removed) + prior.compute_removal_costs(removed)
        n_round = max(ROUND_MIN, int(ROUND_FRACTION * len(left)))
        cheapest = _sort_by(left, cost[left])[:n_round]
        order.append(cheapest)
        removed[cheapest] = True
        left = left[~removed[left]]
    return np.concatenate([*order, left])


def _build_prior_text(vocabulary: Vocabulary, ids: Ints, size: float) -> WordTable:
    """Build a text of `size` words that contains each of the tokens alone, without placeholders."""
    tokens = [vocabulary.tokens[i] for i in ids]
    tokens = [token for token in tokens if vocabulary.position(token) != "unused"]
    weights = np.arange(1, len(tokens) + 1) ** -ZIPF
    weights = weights * size / max(weights.sum(), 1e-9)
    return vocabulary.build_token_table(dict(zip(tokens, weights.tolist(), strict=True)))


def _sort_by(ids: Ints, keys: object) -> Ints:
    """Sort ids by rising key; of equal ones the higher id comes first."""
    descending = ids[::-1]
    return descending[np.argsort(np.asarray(keys)[::-1], kind="stable")]


REDUCTIONS: dict[str, Reduction] = {
    "last": Reduction(
        "removes the tokens with the highest ids first: they were added last",
        FAST_2023,
        lambda vocabulary, ids, table, settings: ids[::-1],
        title="highest ids",
    ),
    "longest": Reduction(
        "removes the longest tokens first: shorter ones can spell them; table 6.10 of Fast 2023 is"
        " not reproduced, whether the mark of a continuation counts in a length or not",
        FAST_2023,
        _sort_longest,
        title="longest",
    ),
    "freq": Reduction(
        "removes the tokens first that occur least often in a text",
        FAST_2023,
        _sort_by_count,
        needs_counts=True,
        title="rarest in your text",
    ),
    "random": Reduction(
        "removes tokens in random order",
        FAST_2023,
        lambda vocabulary, ids, table, settings: np.random.default_rng(settings.seed).permutation(
            ids
        ),
        seeded=True,
        title="random",
    ),
    "cost": Reduction(
        "removes the tokens first whose loss lengthens a text least, computed again as others are"
        " removed; tokens that the text does not contain are removed by falling id",
        "vocadapt",
        _sort_by_cost,
        needs_counts=True,
        title="least costly",
    ),
}
PUBLISHED = tuple(name for name, reduction in REDUCTIONS.items() if reduction.source == FAST_2023)
