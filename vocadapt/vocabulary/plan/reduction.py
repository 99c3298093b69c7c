"""Which tokens leave a vocabulary that is to become smaller: the published heuristics, one of ours,
and what never leaves.

`last`, `longest`, `freq` and `random` are those of the thesis on low-layer information integration
(2023, section 4.4.4), which leaves some things open. Here: shares are of the whole vocabulary,
which ends at exactly round(keep · V) tokens; a token's length is counted without its ##; of equals
the higher id leaves first; special tokens and tokens of fewer than four characters stay, [unusedN]
do not. `count_marks` counts the ## of a continuation as part of its length, as Fast 2023 does in
section 3.3.3 ("all single characters with ## at the beginning" are among the tokens of 3
characters); the presets reduced-* and combined-* do so.

How that compares with table 6.10 of Fast 2023, more tokens in % (here on the shared biomedical
abstracts, 1.28 M words):
- 8,512 of PubMedBERT's tokens must stay without ##, 6,414 with: only so can 75 % of it leave, as
  the table has it.
- last, 75 %: PubMedBERT 43.7 with ## (published 43.8); BERT 50.3 without, 45.4 with (published
  38.6).
- longest, 75 %: neither reading reproduces it: BERT 56.3 without ##, 63.7 with (published 49.2);
  PubMedBERT 92.2 with (80.9).
- random, 75 %: BERT 64.0 without ##, 109.6 with (published 58.4); PubMedBERT 161.2 with (84.4).
Command: vocabulary study --model VOCAB.txt --corpus biomedical-abstracts.txt.gz --heuristics last
longest random --count-marks.

A token also stays where it is the only way to write one of its characters in that position: without
it a word that could be read would become [UNK].
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from vocadapt.errors import InputError
from vocadapt.settings import LARGEST_SEED, SMALLEST, bounded, check_settings
from vocadapt.vocabulary.families.wordpiece import Vocabulary
from vocadapt.vocabulary.growth.retokenization import Ints, WordTable, word_table
from vocadapt.vocabulary.overlap import body, position

SHORTEST = 4  # characters of a token that may leave
THESIS = "thesis on low-layer information integration (2023), section 4.4.4"
SPECIAL, SHORT = "special tokens", f"shorter than {SHORTEST} characters"
NEEDED = "with a character that nothing else spells there"

Order = Callable[[Vocabulary, Ints, WordTable | None, int], Ints]


@dataclass(frozen=True)
class Reduction:
    """A heuristic: its order of leaving, in a sentence and its source, and whether it looks at the
    words of a text.

    `order` takes the ids that may leave, rising, the words of a text laid out (where
    `needs_counts`), and a seed.
    """

    about: str
    source: str
    order: Order
    needs_counts: bool = False


@dataclass(frozen=True)
class ReductionSettings:
    """How a vocabulary is reduced: the heuristic, the share of tokens to keep, the seed of
    `random`, how lengths count.
    """

    heuristic: str = "last"
    keep: float = bounded(0.5, SMALLEST, 1, "Fraction of the vocabulary to keep")
    seed: int = bounded(1, 0, LARGEST_SEED, "Seed of the reduction")
    count_marks: bool = False

    def __post_init__(self) -> None:
        if self.heuristic not in REDUCTIONS:
            raise InputError(
                f"There is no reduction {self.heuristic!r}.",
                f"Choose one of: {', '.join(REDUCTIONS)}.",
            )
        check_settings(self)


def dropped(
    vocabulary: Vocabulary, settings: ReductionSettings, counts: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """The tokens that leave, by id.

    `counts`: the words of a text as the model's splitter makes them. Raises InputError where the
    heuristic needs them and they are not given, and where fewer tokens are to be kept than must
    stay.
    """
    going = leaving(vocabulary, settings)
    if not going:
        return ()
    table = (
        word_table(vocabulary, counts)
        if counts and REDUCTIONS[settings.heuristic].needs_counts
        else None
    )
    ranked = ranking(vocabulary, settings, table)
    return tuple(vocabulary.tokens[i] for i in np.sort(ranked[:going]))


def ranking(vocabulary: Vocabulary, settings: ReductionSettings, table: WordTable | None) -> Ints:
    """The ids of all tokens that may leave, first to leave first; `keep` plays no part. Raises
    InputError as `dropped` does.
    """
    reduction = REDUCTIONS[settings.heuristic]
    if reduction.needs_counts and table is None:
        raise InputError(
            f"The heuristic {settings.heuristic} needs the words of a text.",
            "Give a text: --corpus TEXT.",
        )
    free = free_ids(vocabulary, settings.count_marks)
    if settings.heuristic == "longest" and settings.count_marks:
        return _longest_with_marks(vocabulary, free, table, settings.seed)
    return reduction.order(vocabulary, free, table, settings.seed)


def free_ids(vocabulary: Vocabulary, count_marks: bool = False) -> Ints:
    """The ids that may leave, rising."""
    staying = set().union(*protected(vocabulary, count_marks).values())
    return np.array(
        [i for i, token in enumerate(vocabulary.tokens) if token not in staying], dtype=np.int64
    )


def leaving(vocabulary: Vocabulary, settings: ReductionSettings) -> int:
    """How many tokens leave; raises InputError where fewer are to be kept than must stay."""
    size = round(settings.keep * len(vocabulary))
    reasons = protected(vocabulary, settings.count_marks)
    staying = sum(map(len, reasons.values()))
    if size < staying:
        why = ", ".join(f"{len(tokens):,} {reason}" for reason, tokens in reasons.items() if tokens)
        least = math.ceil(1e4 * least_share(vocabulary, settings.count_marks)) / 1e4
        raise InputError(
            f"Keeping {settings.keep:g} of {len(vocabulary):,} tokens leaves {size:,}, and"
            f" {staying:,} must stay: {why}.",
            f"Keep {least} or more"
            + ("." if settings.count_marks else ", or count the ## in the length of a token."),
        )
    return len(vocabulary) - size


def least_share(vocabulary: Vocabulary, count_marks: bool = False) -> float:
    """The smallest share of a vocabulary that can be kept."""
    return sum(map(len, protected(vocabulary, count_marks).values())) / len(vocabulary)


@lru_cache(maxsize=8)
def protected(vocabulary: Vocabulary, count_marks: bool = False) -> Mapping[str, tuple[str, ...]]:
    """The tokens that always stay, for each reason; a token has the first reason that holds."""
    reasons: dict[str, list[str]] = {SPECIAL: [], SHORT: [], NEEDED: []}
    for token in vocabulary.tokens:
        place, text = position(token, vocabulary), body(token, vocabulary)
        if place == "special":
            reasons[SPECIAL].append(token)
        elif len(token if count_marks else text) < SHORTEST:
            reasons[SHORT].append(token)
        elif place != "unused" and not _spelled(text, place == "continuation", vocabulary):
            reasons[NEEDED].append(token)
    return {reason: tuple(tokens) for reason, tokens in reasons.items()}


def _spelled(text: str, goes_on: bool, vocabulary: Vocabulary) -> bool:
    """Whether single characters, which all stay, spell a text in its position."""
    marks = [vocabulary.continuation] * len(text)
    if not goes_on:
        marks[0] = ""
    return all(
        mark + character in vocabulary.ids for mark, character in zip(marks, text, strict=True)
    )


def _last(vocabulary: Vocabulary, free: Ints, table: WordTable | None, seed: int) -> Ints:
    return free[::-1]


def _longest(vocabulary: Vocabulary, free: Ints, table: WordTable | None, seed: int) -> Ints:
    return _by(free, [-len(body(vocabulary.tokens[i], vocabulary)) for i in free])


def _longest_with_marks(
    vocabulary: Vocabulary, free: Ints, table: WordTable | None, seed: int
) -> Ints:
    return _by(free, [-len(vocabulary.tokens[i]) for i in free])


def _freq(vocabulary: Vocabulary, free: Ints, table: WordTable | None, seed: int) -> Ints:
    assert table is not None  # seen to in `ranking`
    return _by(free, table.token_counts(table.cut())[free])


def _random(vocabulary: Vocabulary, free: Ints, table: WordTable | None, seed: int) -> Ints:
    return np.random.default_rng(seed).permutation(free)


ROUND, FEWEST = (
    0.06,
    150,
)  # share of the tokens still there, and their number, that leave before the losses are taken again


@dataclass(frozen=True)
class CostSettings:
    """What `cost` believes of texts it was not given; benchmarks/reduction.py --choose is where
    `power` and `belief` come from.

    power: counts of a text to this power foretell those of another; word2vec draws with such a one,
    ¾ (Mikolov et al. 2013, section 2.2). belief: weight of the imagined text, as a share of the
    real one's words. zipf: its tokens fall with their rank among the ids to this power, as measured
    on general text under BERT's vocabulary.
    """

    power: float = bounded(0.8, 0, 10, "Exponent of the counts")
    belief: float = bounded(0.01, 0, 1000, "Weight of the imagined text")
    zipf: float = bounded(1.2, 0, 10, "Zipf exponent")

    def __post_init__(self) -> None:
        check_settings(self)


def _cost(vocabulary: Vocabulary, free: Ints, table: WordTable | None, seed: int) -> Ints:
    assert table is not None  # seen to in `ranking`
    return cost_order(vocabulary, free, table, CostSettings())


def cost_order(
    vocabulary: Vocabulary, free: Ints, table: WordTable, settings: CostSettings
) -> Ints:
    """In rounds: the tokens leave whose loss lengthens the text least, as it is cut without those
    that left before.

    The words of the text count to a power below one, so that its few commonest ones do not decide
    alone what another text needs. Beside the real text stands an imagined one that holds each token
    once, by itself, with a weight that falls with its id: what the vocabulary was made for. It
    decides among tokens that the text does not hold, or hardly.
    """
    imagined = _imagined(
        vocabulary, free, settings.belief * float(table.counts.sum()), settings.zipf
    )
    table = _evened(table, settings.power)
    gone, order = np.zeros(len(vocabulary), dtype=np.bool_), []
    left = free
    while len(left):
        loss = table.losses(gone) + imagined.losses(gone)
        first = _by(left, loss[left])[: max(FEWEST, int(ROUND * len(left)))]
        order.append(first)
        gone[first] = True
        left = left[~gone[left]]
    return np.concatenate([*order, left])


def _evened(table: WordTable, power: float) -> WordTable:
    """The same words in a text of the same length, their counts to a power."""
    counts = table.counts**power
    return replace(table, counts=counts * (table.counts.sum() / max(counts.sum(), 1e-9)))


def _imagined(vocabulary: Vocabulary, free: Ints, size: float, zipf: float) -> WordTable:
    """A text of `size` words in all: each of the tokens by itself, save placeholders."""
    tokens = [
        vocabulary.tokens[i] for i in free if position(vocabulary.tokens[i], vocabulary) != "unused"
    ]
    weights = np.arange(1, len(tokens) + 1) ** -zipf
    weighted = dict(zip(tokens, (weights * size / max(weights.sum(), 1e-9)).tolist(), strict=True))
    goes_on = {token: position(token, vocabulary) == "continuation" for token in tokens}
    return word_table(
        vocabulary,
        {token: weight for token, weight in weighted.items() if not goes_on[token]},
        {body(token, vocabulary): weight for token, weight in weighted.items() if goes_on[token]},
    )


def _by(free: Ints, keys: object) -> Ints:
    """Ids by rising key; of equals the higher id first."""
    falling = free[::-1]
    return falling[np.argsort(np.asarray(keys)[::-1], kind="stable")]


REDUCTIONS: dict[str, Reduction] = {
    "last": Reduction(
        "the tokens with the highest ids leave first: they were added last", THESIS, _last
    ),
    "longest": Reduction(
        "the longest tokens leave first: shorter ones can spell them; table 6.10 of Fast 2023 is"
        " not reproduced, whether the ## counts in a length or not",
        THESIS,
        _longest,
    ),
    "freq": Reduction(
        "the tokens that stand least often in a text leave first", THESIS, _freq, needs_counts=True
    ),
    "random": Reduction("tokens leave in random order", THESIS, _random),
    "cost": Reduction(
        "the tokens leave first whose loss lengthens a text least, taken again as others go; where"
        " the text says little, low ids stay",
        "vocadapt",
        _cost,
        needs_counts=True,
    ),
}
PUBLISHED = tuple(name for name, reduction in REDUCTIONS.items() if reduction.source == THESIS)
