"""Sources → VocabularyPlan: one function for each kind of plan.

*append* and *replace* come from word vectors (Poerner et al. 2020, "Updating the wordpiece
embedding layer"): append leaves every old row alone and adds the words the model lacks (the paper's
choice); replace also gives each old token that has a word vector a new row (the paper's "most
radical strategy"). *reduce*, *transfer* and *combined* are the thesis' (Fast 2023, 4.4.4–4.4.6).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families.wordpiece import Vocabulary
from vocadapt.vocabulary.overlap import find_unreachable
from vocadapt.vocabulary.plan.augmentation import (
    AUGMENTATIONS,
    AugmentationMaterials,
    Proposal,
    propose,
)
from vocadapt.vocabulary.plan.plan import KINDS, AddedWord, PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.reachable import NEVER_ONE_WORD, SPACED, TOO_LONG
from vocadapt.vocabulary.plan.reduction import REDUCTIONS, ReductionSettings, select_removed_tokens

MOST_ADDED = 20_000  # tokens that an extension adds where no cap is given
OVER_THE_CAP = "less frequent than the cap"


@dataclass(frozen=True, eq=False)
class PlanSources:
    """Sources of plans: word vectors, another vocabulary, the distinct words of a text with their
    counts.

    mode: tokenizer mode, which decides what a new token can match; "" for the default of the plan's
    kind (exact-word if words come from vectors, WordPiece otherwise).
    """

    domain: EmbeddingSpace | None = None
    target: Vocabulary | None = None
    counts: Mapping[str, int] | None = None
    mode: str = ""

    def exact(self, settings: PlanSettings) -> bool:
        """Whether new tokens only match whole words."""
        return self.mode == "exact-word" if self.mode else "vectors" in KINDS[settings.kind].needs


def plan_vocabulary(
    vocabulary: Vocabulary,
    splitter: Splitter,
    sources: PlanSources,
    settings: PlanSettings | None = None,
) -> VocabularyPlan:
    """Plan by the kind that the settings name; raises InputError where the sources do not hold what
    it needs.
    """
    settings = settings or PlanSettings()
    if sources.target is not None:
        _check_mark(vocabulary, sources.target)
    plan = PLANNERS[settings.kind](vocabulary, splitter, sources, settings)
    return renewed(plan) if settings.renew else plan


def _check_mark(vocabulary: Vocabulary, target: Vocabulary) -> None:
    """Raises InputError where the target marks continuations otherwise: in the model's hands they
    could never fire.
    """
    if target.continuation != vocabulary.continuation:
        ours, theirs = repr(vocabulary.continuation), repr(target.continuation)
        raise InputError(
            f"The target marks the continuation of a word by {theirs}, the model by {ours}: its"
            " tokens would never fire.",
            f"Give a target whose continuations begin with {ours}.",
        )


def plan_needs(settings: PlanSettings) -> frozenset[str]:
    """What the heuristics of a plan draw on beside the vocabulary itself: "counts" of a text, a
    "target" vocabulary.
    """
    needs = set[str]()
    if (
        settings.kind in ("reduce", "combined")
        and REDUCTIONS[settings.cut].needs_counts
        and settings.removed < 1
    ):
        needs.add("counts")
    if settings.kind in ("combined", "extend"):
        needs.update(AUGMENTATIONS[settings.refill].needs)
    return frozenset(needs)


def plan_from_words(
    vocabulary: Vocabulary,
    splitter: Splitter,
    domain: EmbeddingSpace,
    settings: PlanSettings | None = None,
    exact: bool = True,
) -> VocabularyPlan:
    """Plan to add the words of a vector space, most frequent first (the order of the space).

    exact: the words become exact-word tokens instead of WordPiece entries.
    Raises InputError if no word of the space is new to the model.
    """
    settings = settings or PlanSettings()
    firing, cannot = split_addable_words(vocabulary, splitter, domain.words, exact)
    if not firing:
        lacking = sum(map(len, cannot.values()))
        raise InputError(
            f"None of the {len(domain)} words in the vectors is new to the model ({lacking}"
            " lacking, 0 that can fire).",
            "Train the vectors on text of the new domain, or lower the minimum count.",
        )
    chosen = firing[: settings.max_added or None]
    left_out = {**cannot, OVER_THE_CAP: tuple(firing[len(chosen) :])}
    shared: tuple[str, ...] = ()
    if settings.kind == "replace":
        shared = tuple(
            token
            for token in vocabulary.tokens
            if token in domain and token not in vocabulary.special
        )
    return VocabularyPlan(
        vocabulary,
        tuple(AddedWord(word, vocabulary.tokenize(word), _count(domain, word)) for word in chosen),
        shared,
        {reason: words for reason, words in left_out.items() if words},
        settings,
    )


def split_addable_words(
    vocabulary: Vocabulary, splitter: Splitter, words: Iterable[str], exact: bool = True
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Split words that the model lacks into those that can be added, in order, and those that
    cannot, by reason.

    exact: they would be exact-word tokens instead of WordPiece entries.
    """
    firing = list[str]()
    cannot: dict[str, list[str]] = {NEVER_ONE_WORD: [], SPACED: [], TOO_LONG: []}
    for word in words:
        if word in vocabulary:
            continue
        if len(word) > vocabulary.longest_word:
            cannot[TOO_LONG].append(word)
        elif not splitter.yields(word):
            cannot[NEVER_ONE_WORD].append(word)
        elif exact and not splitter.keeps(word):
            cannot[SPACED].append(word)
        else:
            firing.append(word)
    return tuple(firing), {reason: tuple(found) for reason, found in cannot.items()}


def renewed(plan: VocabularyPlan) -> VocabularyPlan:
    """The plan under which no row is carried over: every token gets a new one."""
    return replace(plan, replaced=tuple(token for token in plan.tokens if token in plan.base))


def _from_vectors(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    if sources.domain is None:
        raise InputError(
            f"A plan of the kind {settings.kind} needs word vectors.", "Give --vectors or --corpus."
        )
    return plan_from_words(vocabulary, splitter, sources.domain, settings, sources.exact(settings))


def _same(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    return VocabularyPlan(vocabulary, (), settings=settings)


def _transfer(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """The target's tokens by their own ids; those that both have keep their row."""
    if sources.target is None:
        raise InputError(
            "A transfer needs the model whose vocabulary is taken over.", "Give it: --target B."
        )
    return _ordered(vocabulary, splitter, sources.target.tokens, sources, settings)


def _reduce(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """What stays, in its old order."""
    gone = _going(vocabulary, sources, settings)
    order = tuple(token for token in vocabulary.tokens if token not in gone)
    return VocabularyPlan(vocabulary, (), settings=settings, order=order)


def _combined(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """What stays, in its old order, then as many tokens of the augmentation as went: the size is
    what it was.

    Exact-word tokens that stay come last: the tokenizers library numbers them behind the WordPiece
    vocabulary. Where everything goes, what never goes by a reduction goes too, and the first tokens
    of the target take the place of all: with a target of the same size that is a transfer.
    """
    if settings.removed == 1:
        if settings.refill != "target" or sources.target is None:
            raise InputError(
                "Where all tokens go, special ones and letters too, only a target's vocabulary can"
                " refill it."
            )
        first = sources.target.tokens[: len(vocabulary)]
        plan = _ordered(vocabulary, splitter, first, sources, settings)
        return replace(plan, note=_size_note(len(vocabulary), len(sources.target)))
    gone = _going(vocabulary, sources, settings)
    kept = tuple(token for token in vocabulary.tokens if token not in gone)
    proposal = _proposed(
        vocabulary, splitter, sources, settings, len(vocabulary) - len(kept), frozenset(kept)
    )
    added = tuple(
        _added(vocabulary, token, sources) for token in proposal.tokens if token not in vocabulary
    )
    order = (
        *(t for t in kept if t not in vocabulary.whole),
        *proposal.tokens,
        *(t for t in kept if t in vocabulary.whole),
    )
    return VocabularyPlan(
        vocabulary,
        added,
        left_out=proposal.left_out,
        settings=settings,
        order=order,
        note=proposal.note,
    )


def _size_note(size: int, target: int) -> str:
    """What to tell where a target of another size takes the place of all tokens."""
    if target < size:
        return (
            f"The target has {target:,} tokens, fewer than the {size:,} there were: the vocabulary"
            " gets smaller."
        )
    return (
        f"The first {size:,} of the target's {target:,} tokens: the size stays."
        if target > size
        else ""
    )


def _going(vocabulary: Vocabulary, sources: PlanSources, settings: PlanSettings) -> frozenset[str]:
    """The tokens that a reduction takes out."""
    keep = round(1 - settings.removed, 12)  # 1 − .7 is .30000000000000004
    chosen = ReductionSettings(settings.cut, keep, settings.seed, settings.count_marks)
    return frozenset(select_removed_tokens(vocabulary, chosen, sources.counts))


def _extend(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """The tokens of an augmentation behind the old ones."""
    proposal = _proposed(vocabulary, splitter, sources, settings, settings.max_added or MOST_ADDED)
    if not proposal.tokens:
        raise InputError(
            f"No new token: the augmentation {settings.refill} found none that the model lacks.",
            proposal.note,
        )
    added = tuple(_added(vocabulary, token, sources) for token in proposal.tokens)
    note = proposal.note if settings.max_added else ""
    if not settings.max_added and len(added) == MOST_ADDED:
        note = (
            f"The first {MOST_ADDED:,} tokens were added; there may be more. Say how many:"
            " --max-added N."
        )
    return VocabularyPlan(
        vocabulary, added, left_out=proposal.left_out, settings=settings, note=note
    )


def _proposed(
    vocabulary: Vocabulary,
    splitter: Splitter,
    sources: PlanSources,
    settings: PlanSettings,
    size: int,
    kept: frozenset[str] | None = None,
) -> Proposal:
    exact = sources.exact(settings)
    materials = AugmentationMaterials(
        vocabulary, splitter, sources.counts, sources.target, kept, exact
    )
    return propose(materials, settings.refill, size)


def _added(vocabulary: Vocabulary, token: str, sources: PlanSources) -> AddedWord:
    count = None if sources.counts is None else sources.counts.get(token, 0)
    return AddedWord(token, vocabulary.tokenize_token(token), count)


def _ordered(
    vocabulary: Vocabulary,
    splitter: Splitter,
    order: tuple[str, ...],
    sources: PlanSources,
    settings: PlanSettings,
) -> VocabularyPlan:
    """The plan that ends in these tokens of the target, those that match whole words only among
    them.

    Raises InputError where a special token of the model is not there.
    """
    there = frozenset(order)
    lacking = [
        token for token in vocabulary.tokens if token in vocabulary.special and token not in there
    ]
    if lacking:
        raise InputError(
            f"The new vocabulary lacks {', '.join(lacking)}, and the model cannot do without its"
            " special tokens.",
            "Take a target whose special tokens are spelled as the model's.",
        )
    added = tuple(_added(vocabulary, token, sources) for token in order if token not in vocabulary)
    whole = sources.target.whole.intersection(order) if sources.target else None
    plan = VocabularyPlan(vocabulary, added, settings=settings, order=order, whole=whole)
    return replace(plan, unreachable=find_unreachable(plan.after, splitter, plan.added_tokens))


def _count(space: EmbeddingSpace, word: str) -> int | None:
    return None if space.counts is None else int(space.counts[space.index[word]])


PLANNERS: dict[str, Callable[[Vocabulary, Splitter, PlanSources, PlanSettings], VocabularyPlan]] = {
    "append": _from_vectors,
    "replace": _from_vectors,
    "same": _same,
    "reduce": _reduce,
    "combined": _combined,
    "extend": _extend,
    "transfer": _transfer,
}
