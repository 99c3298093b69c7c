"""Select the tokens to add to a vocabulary: candidates in the order of a heuristic, without those
that are already there or that the tokenizer could never produce.

Candidates come from the vocabulary of another model (Fast 2023, sections 4.4.4 and 4.4.6) or from a
text: its words, or wordpieces trained on it (Tai et al. 2020). A heuristic only ranks; `propose`
takes candidates from the front until there are enough.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vocadapt.errors import InputError, check_choice
from vocadapt.extensions import register
from vocadapt.spaces.space import Matrix
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import FAMILIES, Vocabulary
from vocadapt.vocabulary.plan.forms import WordForms, group_word_forms
from vocadapt.vocabulary.plan.reduction import (
    REDUCTIONS,
    Reduction,
    ReductionSettings,
    rank_removable,
)
from vocadapt.vocabulary.vocabulary import SPECIAL

IN_VOCABULARY = "already in the vocabulary"
PART_OF_WORDS = "rarely a word of its own: other letters follow it without a space"
LIKE_A_CONTINUATION = "a word that the tokenizer would read as a continuation"
NEEDS = {
    "target": "the vocabulary of another model",
    "counts": "the counted words of a text",
    "network": "the weights of the model",
}
OF_MODEL = frozenset({"network"})  # needs that the model itself meets
MOST_JOINED = 20_000  # words that are compared by their hidden states, those that save most


@dataclass(frozen=True, eq=False)
class AugmentationMaterials:
    """Sources of new tokens.

    base: the vocabulary to extend; splitter: splits a text into pre-tokens as its model does.
    counts: distinct pre-tokens of a text with their counts.
    target: the vocabulary of another model.
    kept: tokens of `base` that are kept (None: all; special tokens always).
    exact: whether new tokens only match whole words.
    network: computes how well the network joins the pieces of each token, a cosine; NaN for tokens
        that it cannot spell.
    """

    base: Vocabulary
    splitter: Splitter
    counts: Mapping[str, int] | None = None
    target: Vocabulary | None = None
    kept: frozenset[str] | None = None
    exact: bool = False
    network: Callable[[Sequence[str]], Matrix] | None = None

    @cached_property
    def remaining(self) -> Vocabulary:
        """The base without the removed tokens."""
        if self.kept is None:
            return self.base
        stays = self.kept | self.base.fixed_tokens
        return self.base.with_tokens(token for token in self.base.tokens if token in stays)

    @cached_property
    def words(self) -> tuple[WordForms, ...]:
        """The words of the text with their forms, most frequent first, ties by word."""
        return group_word_forms(self.base, self.splitter, self.counts or {})

    @cached_property
    def parts_of_words(self) -> frozenset[str]:
        """The main forms of the words that rarely stand alone."""
        return frozenset(word.main for word in self.words if not word.stands_alone)


Candidates = Iterable[str]  # tokens as the base spells them, best first


@dataclass(frozen=True)
class Augmentation:
    """A heuristic that ranks candidates, with its explanation and source.

    needs: inputs, of "target", "counts" and "network".
    makes_words: whether all candidates are whole words, never continuations.
    family: the tokenizer family of the base for which it works; "" for all.
    """

    rank: Callable[[AugmentationMaterials], Candidates]
    about: str
    source: str
    needs: tuple[str, ...]
    makes_words: bool = False
    family: str = ""


@dataclass(frozen=True, eq=False)
class Proposal:
    """The tokens to add, best first.

    left_out: candidates that were skipped, by reason.
    requested: number of tokens that were requested.
    """

    tokens: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]
    requested: int

    @property
    def note(self) -> str:
        """Explanation if there are fewer tokens than requested; otherwise empty."""
        if len(self.tokens) == self.requested:
            return ""
        note = (
            f"{len(self.tokens):,} of the {self.requested:,} tokens requested: there are no more."
        )
        if self.left_out:
            reasons = (f"{reason}: {len(tokens):,}" for reason, tokens in self.left_out.items())
            note += f" Left out: {'; '.join(reasons)}."
        return note


def list_augmentations(family: str, sources: Collection[str]) -> dict[str, Augmentation]:
    """Return the heuristics that fit models of a tokenizer family and need only these sources, the
    trainers of the family first: the first heuristic is the default.

    A page, which plans at every change, does not give "network": minutes of computation.
    """
    fitting = {
        name: one
        for name, one in AUGMENTATIONS.items()
        if one.family in ("", family) and set(one.needs) <= set(sources)
    }
    return dict(sorted(fitting.items(), key=lambda item: not item[1].family))


def propose(materials: AugmentationMaterials, heuristic: str, size: int) -> Proposal:
    """Select at most `size` new tokens in the order of a heuristic.

    Raises InputError for an unknown heuristic, and a missing input.
    """
    # 1. The heuristic, with all that it needs.
    check_choice("augmentation", heuristic, AUGMENTATIONS)
    chosen = AUGMENTATIONS[heuristic]
    if chosen.family and chosen.family != materials.base.family:
        own = FAMILIES[materials.base.family]
        raise InputError(
            f"The augmentation {heuristic} trains tokens of another kind than those of the model,"
            f" {own.title}.",
            f"Choose another augmentation, such as {', '.join([*own.trainers, 'words'])}.",
            code="other-family",
        )
    for need in chosen.needs:
        if not getattr(materials, need):
            raise InputError(
                f"The augmentation {heuristic} needs {NEEDS[need]}.",
                "Give it, or choose another augmentation.",
                code="missing-input",
            )

    # 2. Take candidates, best first, until there are enough. The ranking is lazy: a trainer merges
    #    no more pieces than are needed.
    taken: dict[str, None] = {}
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    candidates = iter(chosen.rank(materials))
    while len(taken) < size and (token := next(candidates, None)) is not None:
        reason = _explain_skipped(token, materials, chosen)
        if reason:
            left_out[reason].append(token)
        else:
            taken[token] = None
    return Proposal(
        tuple(taken), {reason: tuple(tokens) for reason, tokens in left_out.items()}, size
    )


def _explain_skipped(
    token: str, materials: AugmentationMaterials, chosen: Augmentation
) -> str | None:
    """Return why a candidate is skipped; None if it is added."""
    if "target" in chosen.needs and materials.target and token in materials.target.special:
        return SPECIAL
    if token in materials.remaining:
        return SPECIAL if token in materials.base.special else IN_VOCABULARY
    is_marked = bool(materials.base.notation.continuation)
    if chosen.makes_words and is_marked and materials.base.continues(token):
        return LIKE_A_CONTINUATION
    if chosen.makes_words and token in materials.parts_of_words:
        return PART_OF_WORDS
    return materials.base.explain_unreachable(token, materials.splitter, materials.exact)


def _rank_target(materials: AugmentationMaterials) -> Candidates:
    assert materials.target is not None
    return _convert_marks(materials.target.tokens, materials)


def reverse_reduction(name: str, reduction: Reduction) -> Augmentation:
    """Return the augmentation that reverses a reduction: tokens of the target that it never
    removes, by id, then those that it would remove last.
    """

    needs = ("target", "counts") if reduction.needs_counts else ("target",)

    def rank(materials: AugmentationMaterials) -> Candidates:
        target, table = materials.target, None
        assert target is not None  # checked by `propose`
        if reduction.needs_counts:
            table = target.build_word_table(materials.counts or {})
        ranked = rank_removable(target, ReductionSettings(name), table)
        removable = [target.tokens[i] for i in ranked]
        protected = target.without(frozenset(removable)).tokens
        return _convert_marks([*protected, *reversed(removable)], materials)

    return Augmentation(
        rank,
        f"the target's tokens that the reduction {name} would keep longest: {reduction.about}",
        reduction.source,
        needs,
    )


def _convert_marks(tokens: Candidates, materials: AugmentationMaterials) -> Iterator[str]:
    """Yield tokens of the target as the base spells them."""
    target, base = materials.target, materials.base
    assert target is not None
    if target.notation == base.notation:
        yield from tokens
        return
    for token in tokens:
        if target.position(token) in ("continuation", "word start"):
            yield base.spell(target.body(token), target.continues(token))
        else:
            yield token


def _rank_by_savings(materials: AugmentationMaterials) -> Candidates:
    """Rank words by the tokens they save; ties keep the order of counts (stable sort)."""
    saved = _count_saved_tokens(materials)
    return sorted(saved, key=lambda token: -saved[token])


def _count_saved_tokens(materials: AugmentationMaterials) -> dict[str, int]:
    """Return the number of tokens that each word would save in the text: count × (pieces − 1)."""
    tokenize = materials.remaining.tokenize
    return {
        word.main: sum(count * (len(tokenize(form)) - 1) for form, count in word.forms)
        for word in materials.words
    }


def _rank_by_joining(materials: AugmentationMaterials) -> Candidates:
    """Rank words by the tokens they save, weighted by how well the network joins their pieces.

    Only the words that save most are compared by hidden states; others follow by what they save.
    """
    assert materials.network is not None  # checked by `propose`
    saved = _count_saved_tokens(materials)
    ranked = sorted(saved, key=lambda token: -saved[token])
    new = [token for token in ranked if saved[token] and token not in materials.remaining]
    first = new[:MOST_JOINED]
    joining = np.clip(np.nan_to_num(materials.network(first)), 0.0, 1.0)
    weights = {token: saved[token] * share for token, share in zip(first, joining, strict=True)}
    return [*sorted(weights, key=lambda token: -weights[token]), *new[MOST_JOINED:]]


def _rank_by_trainer(trainer: str) -> Callable[[AugmentationMaterials], Candidates]:
    """Return a ranking by wordpieces trained on the text: the alphabet, then merge by merge."""
    return lambda materials: FAMILIES[materials.base.family].generate_tokens(
        materials.remaining, materials.counts or {}, trainer
    )


AUGMENTATIONS: dict[str, Augmentation] = {
    "target": Augmentation(
        _rank_target,
        "the first tokens of the target vocabulary, in its order",
        "Fast 2023, section 4.4.6",
        ("target",),
    ),
    **{
        f"target-{name}": reverse_reduction(name, reduction)
        for name, reduction in REDUCTIONS.items()
    },
    "words": Augmentation(
        lambda materials: (word.main for word in materials.words),
        "the most frequent words of the text",
        "common practice",
        ("counts",),
        makes_words=True,
    ),
    "savings": Augmentation(
        _rank_by_savings,
        "the words of the text that save the most wordpieces: count × (pieces − 1)",
        "AdaptiVocab 2025",
        ("counts",),
        makes_words=True,
    ),
    "joined": Augmentation(
        _rank_by_joining,
        "the words that save the most wordpieces, weighted by how well the layers of the model"
        f" already join their pieces (of the {MOST_JOINED:,} words that save most)",
        "FragMend (Mehta et al. 2026), here for encoders",
        ("counts", "network"),
        makes_words=True,
    ),
    **{
        name: Augmentation(
            _rank_by_trainer(name),
            f"tokens trained on the text: {trainer.about}",
            trainer.source,
            ("counts",),
            family=family.name,
        )
        for family in FAMILIES.values()
        for name, trainer in family.trainers.items()
    },
}


def register_heuristic(name: str, heuristic: Reduction) -> None:
    """Add a removal heuristic, and the augmentation `target-NAME` that adds in the reverse order.

    Raises InputError for a name that is taken or invalid.
    """
    register(REDUCTIONS, "a removal heuristic", name, heuristic)
    register(AUGMENTATIONS, "an augmentation", f"target-{name}", reverse_reduction(name, heuristic))
