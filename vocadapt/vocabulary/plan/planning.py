"""Make a VocabularyPlan from its sources: one function for each kind of plan.

*append* and *replace* use word vectors (Poerner et al. 2020, "Updating the wordpiece embedding
layer"): append keeps every old embedding and adds the words the model lacks (their choice); replace
also gives each old token with a word vector a new embedding (their "most radical strategy").
*reduce*, *transfer* and *combined* are those of Fast 2023, sections 4.4.4–4.4.6. *trim* keeps the
tokens of a text (`trimming`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.plan.augmentation import (
    AUGMENTATIONS,
    OF_MODEL,
    PART_OF_WORDS,
    AugmentationMaterials,
    Proposal,
    propose,
)
from vocadapt.vocabulary.plan.forms import WordForms, group_word_forms
from vocadapt.vocabulary.plan.plan import KINDS, AddedWord, PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.reduction import REDUCTIONS, ReductionSettings, select_removed_tokens
from vocadapt.vocabulary.plan.trim_figures import TrimFigures
from vocadapt.vocabulary.plan.trimming import measure_text, select_trim, tokenize_counts
from vocadapt.vocabulary.vocabulary import (
    ERASED,
    NEVER_ONE_WORD,
    NEVER_PRODUCED,
)

MAX_EXTENSION = 20_000  # tokens that `extend` adds by default
OVER_LIMIT = "beyond the maximum number of tokens to add"
MAX_NAMED = 5  # words that a note names
TOO_RARE = "fewer occurrences than the minimum"
NOT_WHOLE = "would be split if all words were added"


@dataclass(frozen=True, eq=False)
class PlanSources:
    """Sources of plans.

    domain: word vectors; target: another vocabulary; counts: distinct pre-tokens of a text with
        their counts, in the lines that tokens are chosen by; held_out: those in held-out lines,
        which only a trim keeps, too.
    token_counts: tokens of the lines with added tokens and their counts, if `counts` lacks these
        lines; held_out_token_counts: those of held-out lines.
    mode: tokenizer mode, which decides what a new token can match; "" for the default of the plan's
        kind (exact-word if words come from vectors, WordPiece otherwise).
    network: computes how well the network joins the pieces of each token.
    """

    domain: EmbeddingSpace | None = None
    target: Vocabulary | None = None
    counts: Mapping[str, int] | None = None
    mode: str = ""
    token_counts: Mapping[str, int] = field(default_factory=dict)
    held_out: Mapping[str, int] = field(default_factory=dict)
    held_out_token_counts: Mapping[str, int] = field(default_factory=dict)
    network: Callable[[Sequence[str]], Matrix] | None = None

    def exact(self, settings: PlanSettings) -> bool:
        """Return whether new tokens only match whole words."""
        return self.mode == "exact-word" if self.mode else "vectors" in KINDS[settings.kind].needs


def plan_vocabulary(
    vocabulary: Vocabulary,
    splitter: Splitter,
    sources: PlanSources,
    settings: PlanSettings | None = None,
) -> VocabularyPlan:
    """Make the plan that the settings describe; raises InputError if a source is missing."""
    settings = settings or PlanSettings()
    target = sources.target
    if target is not None and target.notation != vocabulary.notation:
        raise InputError(
            f"The target marks {target.notation}, and the model {vocabulary.notation}: its tokens"
            " could never be produced.",
            "Give a target that marks tokens as the model does.",
            code="other-notation",
        )
    plan = PLANNERS[settings.kind](vocabulary, splitter, sources, settings)
    if plan.whole is None and not sources.exact(settings):
        plan = replace(plan, whole=vocabulary.whole.intersection(plan.tokens))
    if settings.fill_reserved and plan.order is None:
        plan = replace(plan, reserved_tokens=vocabulary.reserved_tokens[: len(plan.added)])
    if settings.renew:  # a new embedding for every token
        return replace(plan, replaced=tuple(token for token in plan.tokens if token in plan.base))
    return plan


def find_plan_inputs(settings: PlanSettings) -> frozenset[str]:
    """Return what the heuristics of a plan need: "counts" of a text, a "target" vocabulary."""
    needs = set[str]()
    removes_some = settings.kind in ("reduce", "combined") and settings.removed < 1
    if removes_some and REDUCTIONS[settings.remove_by].needs_counts:
        needs.add("counts")
    if settings.kind in ("combined", "extend"):
        needs.update(set(AUGMENTATIONS[settings.add_by].needs) - OF_MODEL)
    return frozenset(needs)


def plan_from_words(
    vocabulary: Vocabulary,
    splitter: Splitter,
    domain: EmbeddingSpace,
    settings: PlanSettings | None = None,
    exact: bool = True,
    counts: Mapping[str, int] | None = None,
) -> VocabularyPlan:
    """Plan to add the words of a vector space, most frequent first (the order of the space).

    exact: the words become exact-word tokens, and entries that are never produced, reachable.
    counts: pre-tokens of a text with their counts, in which forms of the words are looked up.
    Raises InputError if no word of the space is new to the model, or none occurs often enough.
    """
    settings = settings or PlanSettings()
    forms = group_word_forms(vocabulary, splitter, counts or {})
    # 1. Select the new words.
    new, activated, left_out = _find_new_words(vocabulary, splitter, domain, forms, exact)
    new, activated, others = _choose_frequent_words(vocabulary, domain, settings, new, activated)
    left_out = {reason: words for reason, words in (left_out | others).items() if words}
    # 2. Select the old tokens that have a word vector too; special tokens keep their embeddings.
    shared: tuple[str, ...] = ()
    if settings.kind == "replace":
        named = zip(vocabulary.tokens, vocabulary.names, strict=True)
        ordinary = (pair for pair in named if pair[0] not in vocabulary.special)
        shared = tuple(token for token, name in ordinary if name in domain)
    # 3. List the tokens of the words, each followed by those of its other forms in the text.
    counted = {vocabulary.spell(word): _get_count(domain, word) for word in new}
    words = [AddedWord(token, vocabulary.tokenize(token), n) for token, n in counted.items()]
    plan = VocabularyPlan(
        vocabulary,
        _mark_forms(vocabulary, words),
        shared,
        activated,
        {reason: words for reason, words in left_out.items() if words},
        settings,
        note=_describe_activated(activated),
    )
    return add_forms(plan, forms) if exact else _with_intermediate_tokens(plan)


def _find_new_words(
    vocabulary: Vocabulary,
    splitter: Splitter,
    domain: EmbeddingSpace,
    forms: Iterable[WordForms],
    exact: bool,
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the words that can be added, the entries that can be activated, and the others, by
    reason.
    """
    new, refused = split_addable_words(vocabulary, splitter, domain.words, exact)
    activated: tuple[str, ...] = ()
    if exact:
        activated, refused[NEVER_PRODUCED] = _partition(
            refused.get(NEVER_PRODUCED, ()), lambda word: vocabulary.can_activate(word, splitter)
        )
    parts = {vocabulary.fold_word(word.word) for word in forms if not word.stands_alone}
    refused[PART_OF_WORDS], new = _partition(new, lambda word: vocabulary.fold_word(word) in parts)
    if not new and not activated:
        lacking = sum(map(len, refused.values()))
        raise InputError(
            f"None of the {len(domain)} words in the vectors can be added to the model ({lacking}"
            " are new, but its tokenizer can produce none of them).",
            "Train the vectors on text of the new domain, or lower the minimum count.",
            code="no-new-word",
        )
    return new, activated, refused


def _choose_frequent_words(
    vocabulary: Vocabulary,
    domain: EmbeddingSpace,
    settings: PlanSettings,
    new: tuple[str, ...],
    activated: tuple[str, ...],
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the frequent ones of new and of activated words up to the maximum number of tokens to
    add, and the others, by reason.

    Forms of one word count once. Activated words add no token, so there is no maximum for them.
    """
    frequent = set(_select_frequent(domain, (*new, *activated), settings.min_count))
    rare = {*new, *activated} - frequent
    activated, _ = _partition(activated, frequent.__contains__)
    new, _ = _partition(new, frequent.__contains__)
    main_words = list(dict.fromkeys(map(vocabulary.fold_word, new)))
    chosen = set(main_words[: settings.max_added or None])
    new, over = _partition(new, lambda word: vocabulary.fold_word(word) in chosen)
    too_rare = tuple(word for word in domain.words if word in rare)
    return new, activated, {TOO_RARE: too_rare, OVER_LIMIT: over}


def _partition(
    words: Iterable[str], is_first: Callable[[str], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words for which a condition holds, and the others."""
    words = tuple(words)
    chosen = set(filter(is_first, words))
    return (
        tuple(word for word in words if word in chosen),
        tuple(word for word in words if word not in chosen),
    )


def _describe_activated(words: tuple[str, ...]) -> str:
    """Return the note about words of the vocabulary that become reachable; "" if there are none."""
    if not words:
        return ""
    return (
        f"Listed words that are tokens already, but that the tokenizer never produced: {len(words):,}"
        f" ({', '.join(words[:MAX_NAMED])}). They become exact words, and keep their ids."
    )


def _mark_forms(vocabulary: Vocabulary, added: Iterable[AddedWord]) -> tuple[AddedWord, ...]:
    """Set the main form of each added word: the first of several forms of one word."""
    main_forms: dict[str, str] = {}
    marked: list[AddedWord] = []
    for word in added:
        main = main_forms.setdefault(vocabulary.fold_word(vocabulary.body(word.token)), word.token)
        marked.append(replace(word, form_of="" if main == word.token else main))
    return tuple(marked)


def add_forms(plan: VocabularyPlan, words: Iterable[WordForms]) -> VocabularyPlan:
    """Return a plan that also adds the other forms in which each added word occurs in a text.

    A form that is a token already is not changed.
    """
    base = plan.base
    words_of = {base.fold_word(word.word): word for word in words}
    added: dict[str, AddedWord] = {}
    for one in plan.added:
        added.setdefault(one.token, one)
        found = words_of.get(base.fold_word(base.body(one.token)))
        for form, count in found.forms if found else ():
            if form not in added and form not in base:
                main = one.form_of or one.token
                added[form] = AddedWord(form, base.tokenize(form), count, main)
    return leave_out_split_words(replace(plan, added=tuple(added.values())))


def leave_out_split_words(plan: VocabularyPlan) -> VocabularyPlan:
    """Return a plan without exact words that would not be one token, and without their forms."""
    base, added = plan.base, plan.added
    left_out: list[str] = []
    # Leaving out a word may change the scores of others: repeat until none is split.
    while broken := set(base.find_split_words([word.token for word in added])):
        left_out += [word.token for word in added if broken & {word.token, word.form_of}]
        added = tuple(word for word in added if not broken & {word.token, word.form_of})
    if not left_out:
        return plan
    named = tuple(base.body(token) for token in left_out)
    return replace(plan, added=added, left_out={**plan.left_out, NOT_WHOLE: named})


def _with_intermediate_tokens(plan: VocabularyPlan) -> VocabularyPlan:
    """Return a plan for insertion that also adds the intermediate tokens of the new merges."""
    counts = {word.token: word.count for word in plan.added}
    expanded = plan.base.expand_insertions(counts)
    if len(expanded) == len(plan.added):
        return plan
    added = tuple(
        AddedWord(token, plan.base.tokenize_token(token), counts.get(token)) for token in expanded
    )
    note = (
        f"{len(expanded) - len(counts):,} intermediate tokens are added, from which merges make the"
        " new ones."
    )
    return replace(plan, added=added, note=" ".join(filter(None, (plan.note, note))))


def _select_frequent(
    domain: EmbeddingSpace, words: tuple[str, ...], min_count: int
) -> tuple[str, ...]:
    """Return the words that occur at least `min_count` times, in order.

    Raises InputError if there are none, or if the space has no counts.
    """
    if not min_count or not words:
        return words
    if domain.counts is None:
        raise InputError(
            f"The word vectors have no word counts: a minimum of {min_count:,} occurrences cannot"
            " be applied.",
            "Leave the minimum number of occurrences out.",
            "min_count",
            code="no-counts",
        )
    frequent = tuple(word for word in words if (_get_count(domain, word) or 0) >= min_count)
    if not frequent:
        raise InputError(
            f"None of the {len(words):,} words that could be added occurs {min_count:,} times.",
            "Lower the minimum number of occurrences.",
            "min_count",
            code="too-rare",
        )
    return frequent


def split_addable_words(
    vocabulary: Vocabulary, splitter: Splitter, words: Iterable[str], exact: bool = True
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Split words that the model lacks into those that can be added, in order, and those that
    cannot, by reason. The tokenizer may also never produce a word that is in the vocabulary.

    exact: they would be exact-word tokens instead of WordPiece entries.
    """
    reachable = list[str]()
    refused: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        token = vocabulary.spell(word)
        if not splitter.words(word):
            refused[ERASED].append(word)
            continue
        if not vocabulary.lacks_word(word):
            if token in vocabulary and not vocabulary.produces(token, splitter):
                refused[NEVER_PRODUCED].append(word)
            continue
        reason = vocabulary.explain_unreachable(token, splitter, exact)
        if vocabulary.notation.continuation and vocabulary.continues(token):
            reason = NEVER_ONE_WORD
        if reason is None:
            reachable.append(word)
        else:
            refused[reason].append(word)
    return tuple(reachable), {reason: tuple(found) for reason, found in refused.items()}


def _plan_from_vectors(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    if sources.domain is None:
        raise InputError(
            f"A plan of the kind {settings.kind} needs word vectors.",
            "Give word vectors or a text.",
            code="no-vectors",
        )
    exact = sources.exact(settings)
    return plan_from_words(vocabulary, splitter, sources.domain, settings, exact, sources.counts)


def _plan_transfer(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """Take over the target's tokens and ids; tokens that both have keep their embedding."""
    if sources.target is None:
        raise InputError(
            "A transfer needs the model whose vocabulary is taken over.",
            "Give a target model.",
            code="no-target",
        )
    return _plan_order(vocabulary, splitter, sources.target.tokens, sources, settings)


def _plan_reduction(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """Remove tokens; the others keep their order."""
    kept = vocabulary.without(_select_removed(vocabulary, sources, settings))
    return VocabularyPlan(vocabulary, (), settings=settings, order=kept.tokens)


def _plan_trim(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """Keep the tokens of a text; they keep their order.

    The tokens of held-out lines are kept, too: the text keeps its tokens, all of it. What a trim
    costs another text is measured by one that only the other lines choose.
    """
    counts = Counter(sources.counts) + Counter(sources.held_out)
    token_counts = Counter(sources.token_counts) + Counter(sources.held_out_token_counts)
    if not counts and not token_counts:
        raise InputError("A trim needs the words of a text.", "Give a text.", code="no-text")
    how = (settings.cover, settings.keep, settings.characters == "all")
    text = tokenize_counts(vocabulary, counts, token_counts)
    choice, kept = select_trim(vocabulary, text, *how)
    figures, changed = measure_text(vocabulary, text, kept)
    held_out = None
    if sources.held_out or sources.held_out_token_counts:
        with suppress(InputError):  # the model knows no word of one of the two parts
            others = tokenize_counts(vocabulary, sources.held_out, sources.held_out_token_counts)
            text = tokenize_counts(vocabulary, sources.counts or {}, sources.token_counts)
            held_out, _ = measure_text(vocabulary, others, select_trim(vocabulary, text, *how)[1])
    return VocabularyPlan(
        vocabulary,
        (),
        settings=settings,
        order=tuple(token for token in vocabulary.tokens if token in kept),
        trim=TrimFigures(**vars(figures), stay=choice.count_unused(kept), held_out=held_out),
        changed_pretokens=changed,
    )


def _plan_combination(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """Remove tokens and add as many, so that the size stays the same.

    Order: kept tokens in their old order, added tokens, kept exact-word tokens (the tokenizers
    library numbers these after the WordPiece vocabulary). If all tokens are removed, the protected
    ones are removed too, and the first tokens of the target replace them: with a target of the same
    size that is a transfer.
    """
    if settings.removed == 1:
        return _replace_all(vocabulary, splitter, sources, settings)
    removed = _select_removed(vocabulary, sources, settings)
    kept = [token for token in vocabulary.tokens if token not in removed]
    kept_whole = [token for token in kept if token in vocabulary.whole]
    # Add exact words if possible: insertion would need intermediate tokens.
    exact = AUGMENTATIONS[settings.add_by].makes_words and vocabulary.prefers_exact_words(splitter)
    size = len(vocabulary) - len(kept)
    proposal = _propose(vocabulary, splitter, sources, settings, size, frozenset(kept), exact)
    remaining = vocabulary.without(removed)
    whole: frozenset[str] | None = None
    if exact:
        words = group_word_forms(vocabulary, splitter, sources.counts or {})
        tokens = _add_forms_of_words(remaining, proposal.tokens, words)[:size]
        whole = frozenset([*kept_whole, *tokens])
    else:
        tokens = remaining.expand_insertions(proposal.tokens)[:size]
    added = _describe_added(vocabulary, tokens, sources)
    entries = [token for token in kept if token not in vocabulary.whole]
    return VocabularyPlan(
        vocabulary,
        _mark_forms(vocabulary, added) if exact else added,
        left_out=proposal.left_out,
        settings=settings,
        order=(*entries, *tokens, *kept_whole),
        whole=whole,
        note=proposal.note,
    )


def _replace_all(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    """Replace all tokens by the first ones of the target."""
    if settings.add_by != "target" or sources.target is None:
        raise InputError(
            "If all tokens are removed, special tokens and letters included, only the vocabulary of"
            " a target can replace them.",
            code="nothing-left",
        )
    before = len(vocabulary)
    after = len(sources.target)
    first = sources.target.tokens[:before]
    note = ""
    if after > before:
        note = f"The first {before:,} of the target's {after:,} tokens: the size stays."
    if after < before:
        note = (
            f"The target has {after:,} tokens, fewer than the {before:,} there were: the vocabulary"
            " gets smaller."
        )
    return replace(_plan_order(vocabulary, splitter, first, sources, settings), note=note)


def _add_forms_of_words(
    vocabulary: Vocabulary, main_forms: Iterable[str], words: Iterable[WordForms]
) -> tuple[str, ...]:
    """Return the main forms of words, each before its other forms that are not tokens yet."""
    words_of = {vocabulary.fold_word(word.word): word for word in words}
    tokens: dict[str, None] = {}
    for main in main_forms:
        tokens[main] = None
        for form, _ in words_of[vocabulary.fold_word(vocabulary.body(main))].forms:
            if form not in vocabulary:
                tokens[form] = None
    return tuple(tokens)


def _select_removed(
    vocabulary: Vocabulary, sources: PlanSources, settings: PlanSettings
) -> frozenset[str]:
    keep = round(1 - settings.removed, 12)  # 1 − .7 is .30000000000000004 in floating point
    chosen = ReductionSettings(settings.remove_by, keep, settings.seed, settings.count_marks)
    return frozenset(select_removed_tokens(vocabulary, chosen, sources.counts))


def _plan_extension(
    vocabulary: Vocabulary, splitter: Splitter, sources: PlanSources, settings: PlanSettings
) -> VocabularyPlan:
    proposal = _propose(
        vocabulary, splitter, sources, settings, settings.max_added or MAX_EXTENSION
    )
    if not proposal.tokens:
        raise InputError(
            f"No new token: the augmentation {settings.add_by} found none that the model lacks.",
            proposal.note,
            code="no-new-token",
        )
    added = _describe_added(vocabulary, proposal.tokens, sources)
    note = proposal.note if settings.max_added else ""
    if not settings.max_added and len(added) == MAX_EXTENSION:
        note = (
            f"The first {MAX_EXTENSION:,} tokens were added; there may be more: set the maximum"
            " number of tokens to add."
        )
    plan = VocabularyPlan(
        vocabulary, added, left_out=proposal.left_out, settings=settings, note=note
    )
    if not sources.exact(settings):
        return _with_intermediate_tokens(plan)
    return add_forms(plan, group_word_forms(vocabulary, splitter, sources.counts or {}))


def _propose(
    vocabulary: Vocabulary,
    splitter: Splitter,
    sources: PlanSources,
    settings: PlanSettings,
    size: int,
    kept: frozenset[str] | None = None,
    exact: bool = False,
) -> Proposal:
    exact = exact or sources.exact(settings)
    return propose(
        AugmentationMaterials(
            vocabulary, splitter, sources.counts, sources.target, kept, exact, sources.network
        ),
        settings.add_by,
        size,
    )


def _describe_added(
    vocabulary: Vocabulary, tokens: Iterable[str], sources: PlanSources
) -> tuple[AddedWord, ...]:
    """Return the new ones of the tokens with pieces and counts; that of a continuation is 0."""
    added: list[AddedWord] = []
    for token in tokens:
        if token in vocabulary:
            continue
        count = None
        if sources.counts is not None:
            count = sources.counts.get(token, 0)
        added.append(AddedWord(token, vocabulary.tokenize_token(token), count))
    return tuple(added)


def _plan_order(
    vocabulary: Vocabulary,
    splitter: Splitter,
    order: tuple[str, ...],
    sources: PlanSources,
    settings: PlanSettings,
) -> VocabularyPlan:
    """Make the plan whose vocabulary is `order`, tokens of the target by id.

    Raises InputError if a special or added token of the model is not among them.
    """
    fixed = vocabulary.fixed_tokens.difference(order)
    lacking = sorted(fixed, key=vocabulary.ids.__getitem__)
    if lacking:
        raise InputError(
            f"The new vocabulary lacks {', '.join(lacking)}, and the model needs its special and"
            " added tokens.",
            "Choose a target with the same special and added tokens as the model.",
            code="missing-special-tokens",
        )
    added = _describe_added(vocabulary, order, sources)
    whole = sources.target.whole.intersection(order) if sources.target else None
    plan = VocabularyPlan(
        vocabulary, added, settings=settings, order=order, whole=whole, target=sources.target
    )
    return replace(plan, unreachable=plan.after.find_unreachable(splitter, plan.added_tokens))


def _get_count(space: EmbeddingSpace, word: str) -> int | None:
    return None if space.counts is None else int(space.counts[space.index[word]])


PLANNERS: dict[str, Callable[[Vocabulary, Splitter, PlanSources, PlanSettings], VocabularyPlan]] = {
    "append": _plan_from_vectors,
    "replace": _plan_from_vectors,
    "same": lambda vocabulary, splitter, sources, settings: VocabularyPlan(
        vocabulary, (), settings=settings
    ),
    "reduce": _plan_reduction,
    "trim": _plan_trim,
    "combined": _plan_combination,
    "extend": _plan_extension,
    "transfer": _plan_transfer,
}
