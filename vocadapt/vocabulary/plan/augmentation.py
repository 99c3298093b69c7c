"""Which tokens come into a vocabulary: candidates in the order of a heuristic, minus what stays and
what could never fire.

Tokens come from the vocabulary of another model (knowledge transfer, thesis 4.4.4 and 4.4.6), or
from a text: its words, or wordpieces trained on it (exBERT 2020). A heuristic only ranks; `propose`
takes from the front until there are enough.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.wordpiece import Vocabulary
from vocadapt.vocabulary.families.wordpiece_training import (
    TRAINERS,
    TrainerSettings,
    generate_tokens,
)
from vocadapt.vocabulary.growth.retokenization import build_word_table
from vocadapt.vocabulary.plan.reachable import SPECIAL, explain_unreachable
from vocadapt.vocabulary.plan.reduction import REDUCTIONS, ReductionSettings, rank_removable

STAYS = "already in the vocabulary"
LIKE_A_CONTINUATION = "a word that would be read as a continuation"
NEEDS = {"target": "the vocabulary of another model", "counts": "the counted words of a text"}


@dataclass(frozen=True, eq=False)
class AugmentationMaterials:
    """Sources of new tokens: a target vocabulary, and the distinct words of a text (split by
    `splitter`) with counts.

    kept: tokens of `base` that are kept (None: all; special tokens always). exact: new tokens only
    match whole words.
    """

    base: Vocabulary
    splitter: Splitter
    counts: Mapping[str, int] | None = None
    target: Vocabulary | None = None
    kept: frozenset[str] | None = None
    exact: bool = False

    @cached_property
    def staying(self) -> Vocabulary:
        """The base without the tokens that go."""
        if self.kept is None:
            return self.base
        stays = self.kept | self.base.special | {self.base.unknown}
        tokens = tuple(token for token in self.base.tokens if token in stays)
        return replace(self.base, tokens=tokens, whole=self.base.whole & stays)

    @cached_property
    def words(self) -> tuple[tuple[str, int], ...]:
        """Words and counts, most frequent first, ties by word."""
        return tuple(sorted((self.counts or {}).items(), key=lambda item: (-item[1], item[0])))


Ranked = Iterable[str]  # candidates, first ones first; continuations begin as those of the base do


@dataclass(frozen=True)
class Augmentation:
    """One order in which tokens come in: the sentence that explains it, where it is from, and what
    it needs ("target", "counts").

    `makes_words`: all it yields are whole words, never continuations.
    """

    rank: Callable[[AugmentationMaterials], Ranked]
    about: str
    source: str
    needs: tuple[str, ...]
    makes_words: bool = False


@dataclass(frozen=True, eq=False)
class Proposal:
    """The tokens to bring in, first ones first, and for each reason the candidates before the last
    of them that were left out.
    """

    tokens: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]
    asked: int

    @property
    def note(self) -> str:
        """What to tell where fewer tokens came than were asked for; else nothing."""
        if len(self.tokens) == self.asked:
            return ""
        left_out = "; ".join(
            f"{reason}: {len(tokens):,}" for reason, tokens in self.left_out.items()
        )
        found = f"{len(self.tokens):,} of the {self.asked:,} tokens asked for: there are no more."
        return f"{found} Left out: {left_out}." if left_out else found


def propose(materials: AugmentationMaterials, heuristic: str, size: int) -> Proposal:
    """Take at most `size` new tokens in the order of a heuristic.

    Raises InputError for an unknown heuristic, a negative size, and where what the heuristic needs
    was not given.
    """
    chosen = _checked(materials, heuristic, size)
    taken: dict[str, None] = {}
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    candidates = iter(chosen.rank(materials))
    while len(taken) < size and (token := next(candidates, None)) is not None:
        reason = _why_not(token, materials, chosen)
        if reason:
            left_out[reason].append(token)
        else:
            taken[token] = None
    return Proposal(
        tuple(taken), {reason: tuple(tokens) for reason, tokens in left_out.items()}, size
    )


def _checked(materials: AugmentationMaterials, heuristic: str, size: int) -> Augmentation:
    if heuristic not in AUGMENTATIONS:
        raise InputError(
            f"Unknown augmentation {heuristic!r}.", f"Choose one of: {', '.join(AUGMENTATIONS)}."
        )
    if size < 0:
        raise InputError(
            f"The number of tokens to bring in is {size}.", "Give 0 or a positive number."
        )
    chosen = AUGMENTATIONS[heuristic]
    for need in chosen.needs:
        if not getattr(materials, need):
            raise InputError(
                f"The augmentation {heuristic} needs {NEEDS[need]}.",
                "Give it, or choose another augmentation.",
            )
    return chosen


def _why_not(token: str, materials: AugmentationMaterials, chosen: Augmentation) -> str | None:
    """Why a candidate does not come in; None where it does."""
    if (
        materials.target is not None
        and "target" in chosen.needs
        and token in materials.target.special
    ):
        return SPECIAL
    if token in materials.staying:
        return SPECIAL if token in materials.base.special else STAYS
    if chosen.makes_words and token.startswith(materials.base.continuation):
        return LIKE_A_CONTINUATION
    return explain_unreachable(token, materials.base, materials.splitter, materials.exact)


def _target(materials: AugmentationMaterials) -> Ranked:
    assert materials.target is not None
    return _as_base_writes(materials.target.tokens, materials)


def _kept_longest(reduction: str) -> Callable[[AugmentationMaterials], Ranked]:
    """The order of a reduction turned round: what never leaves by its id, then what would leave
    last.
    """
    return lambda materials: _as_base_writes(
        _turned_round(materials, ReductionSettings(reduction)), materials
    )


def _turned_round(materials: AugmentationMaterials, settings: ReductionSettings) -> list[str]:
    target, counted = materials.target, REDUCTIONS[settings.heuristic].needs_counts
    assert target is not None
    table = build_word_table(target, materials.counts or {}) if counted else None
    leaving = [target.tokens[i] for i in rank_removable(target, settings, table)]
    leaves = frozenset(leaving)
    return [*(token for token in target.tokens if token not in leaves), *reversed(leaving)]


def _as_base_writes(tokens: Ranked, materials: AugmentationMaterials) -> Iterator[str]:
    """The tokens of the target with the base's mark of a continuation."""
    assert materials.target is not None
    theirs, ours = materials.target.continuation, materials.base.continuation
    return (
        ours + token.removeprefix(theirs) if token.startswith(theirs) else token for token in tokens
    )


def _words(materials: AugmentationMaterials) -> Ranked:
    return (word for word, _ in materials.words)


def _savings(materials: AugmentationMaterials) -> Ranked:
    """A stable sort, so that words of equal savings stay in the order of their counts."""
    cut = materials.staying.tokenize
    saved = {word: count * (len(cut(word)) - 1) for word, count in materials.words}
    return sorted(saved, key=lambda word: -saved[word])


def _trained(trainer: str) -> Callable[[AugmentationMaterials], Ranked]:
    """Wordpieces trained on the words of the text, as long as they are asked for: the alphabet
    first, then merge by merge.
    """
    return lambda materials: generate_tokens(
        materials.counts or {}, TrainerSettings(trainer), materials.base.continuation
    )


AUGMENTATIONS: dict[str, Augmentation] = {
    "target": Augmentation(
        _target,
        "the target vocabulary's tokens in its own order, so its first tokens",
        "thesis 4.4.6 (2023)",
        ("target",),
    ),
    **{
        f"target-{name}": Augmentation(
            _kept_longest(name),
            f"the target's tokens that the reduction {name} would keep longest: {reduction.about}",
            reduction.source,
            ("target", "counts") if reduction.needs_counts else ("target",),
        )
        for name, reduction in REDUCTIONS.items()
    },
    "words": Augmentation(
        _words,
        "the most frequent words of the text",
        "common practice",
        ("counts",),
        makes_words=True,
    ),
    "savings": Augmentation(
        _savings,
        "the words of the text that save most wordpieces: count × (pieces − 1)",
        "AdaptiVocab 2025",
        ("counts",),
        makes_words=True,
    ),
    **{
        name: Augmentation(
            _trained(name),
            f"wordpieces trained on the text: {trainer.about}",
            trainer.source,
            ("counts",),
        )
        for name, trainer in TRAINERS.items()
    },
}
