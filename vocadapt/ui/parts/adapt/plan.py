"""Blocks of the part Model: the plan of the selected recipe, and the size of an extension."""

from dataclasses import replace

import streamlit as st

from vocadapt.analysis.figures.training import (
    plot_added_words,
    plot_token_frequency,
    plot_wordpieces_by_size,
)
from vocadapt.lab.reports.recommendation import find_text_name
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.presets import EXTENSION
from vocadapt.recipe import Recipe
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_metrics,
    draw_note,
    draw_table,
    draw_unknown_words,
    tsv,
)
from vocadapt.ui.parts.adapt.form import ChosenRecipe
from vocadapt.ui.state import cache, count_cache
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, megabytes, percent
from vocadapt.vocabulary.growth.growth import RARE
from vocadapt.vocabulary.growth.plan_cost import PlanCost
from vocadapt.vocabulary.plan.plan import KINDS, AddedWord, VocabularyPlan
from vocadapt.vocabulary.plan.planning import OVER_LIMIT, TOO_RARE

Metric = tuple[str | None, ...]  # label, value, note, help
FLOAT32 = 4  # bytes
SHORTEST = 3  # letters of a token that is listed as a word
LISTED = 1_000  # added words in the table; all are in the file
IN_SAMPLE = "in sample"
HELP = {
    "growth": (
        "Change of the number of tokens of held-out lines. In sample, on the lines that the tokens"
        " of the plan were chosen by, a plan always looks better."
    ),
    "excluded": "Number of candidates that are missing in the model but are not added.",
    "saved": (
        "Number of wordpieces by which the text becomes shorter: each added word is one"
        " token instead of several."
    ),
    "replaced": "Number of old tokens that are kept and get a new embedding.",
}


def draw_plan(workspace: Workspace, chosen: ChosenRecipe) -> None:
    """Draw the plan of a recipe: figures, and added and removed tokens."""
    # 1. The figures, and for an extension the curve for choosing its size.
    found = count_cache.plan_of(
        chosen.recipe, chosen.model, chosen.vectors, chosen.target, chosen.corpus, workspace.root
    )
    cost = _measure_cost(workspace, chosen, found)
    draw_plan_metrics(found, cache.model_of(chosen.model).dim, cost)
    if chosen.corpus and chosen.recipe.vocabulary.kind == "extend":
        _draw_extension_curve(workspace, chosen.recipe, chosen.model, chosen.corpus)
    if chosen.vectors and "min_count" in chosen.recipe.kind.settings:
        _draw_frequency_curve(cache.space_of(chosen.vectors), found)
    # 2. The tokens themselves.
    draw_added_words(found)
    removed = list(found.removed_tokens)
    if removed:
        with st.expander(f"{count(len(removed))} removed tokens", expanded=not found.added):
            ids = [found.base.ids[token] for token in removed]
            draw_table({"token": removed, "old id": ids}, height=240, key="dropped")


def _draw_frequency_curve(words: EmbeddingSpace, plan: VocabularyPlan) -> None:
    """Draw the occurrences of the words that could be added by rank, and where the plan stops; not
    drawn for word vectors without counts, or if all words are added.
    """
    omitted = [*plan.left_out.get(OVER_LIMIT, ()), *plan.left_out.get(TOO_RARE, ())]
    if words.counts is None or not omitted:
        return
    counts = [word.count or 0 for word in plan.added]
    counts += [int(words.counts[words.index[word]]) for word in omitted]
    st.markdown(
        f"**Words that could be added**, by frequency. Left of the dashed line: the"
        f" {count(len(plan.added))} of {count(len(counts))} that are added."
    )
    alt = (
        f"Occurrences of {count(len(counts))} words by rank, from {count(max(counts))} to"
        f" {count(min(counts))}."
    )
    draw_figure(plot_added_words(counts, len(plan.added)), "added_frequency", alt)


def _draw_extension_curve(
    workspace: Workspace, recipe: Recipe, model: str, corpus: Artifact
) -> None:
    """Draw, on click, the frequency curve for choosing the extension size."""
    # 1. The curve is drawn on click and remains until the model, the text or the size changes.
    size = recipe.vocabulary.max_added
    largest = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=max(size, EXTENSION)))
    key = (model, corpus.stamp, largest.vocabulary.max_added)
    if st.button("Draw frequency curve", icon=":material/show_chart:", key="draw_extension"):
        st.session_state["extension_curve"] = key
    if st.session_state.get("extension_curve") != key:
        return
    # 2. The frequency of the last added tokens, and how much they shorten the text.
    found = count_cache.extension_of(largest, model, corpus, workspace.root)
    left, right = st.columns(2)
    with left:
        alt = f"Occurrences of {count(len(found.counts))} new tokens by rank."
        draw_figure(plot_token_frequency(found, size), "token_frequency", alt)
    last = found.sizes[-1]
    with right:
        alt = (
            f"Wordpieces of the text by the number of new tokens: {count(found.sizes[0].tokens)}"
            f" with none, {count(last.tokens)} with {count(last.size)}."
        )
        draw_figure(plot_wordpieces_by_size(found, size), "pieces_by_size", alt)
    legend = "Dashed: the selected size. " if size <= last.size else ""
    draw_note(
        f"{legend}Of all {count(last.size)} tokens, {count(last.seldom)} occur"
        f" fewer than {RARE} times in the text. Together they make the tokenization of held-out"
        f" lines {percent(last.shorter)} shorter ({percent(last.shorter_in_sample)} {IN_SAMPLE})."
        " Embeddings of rare tokens are hardly trained."
    )
    draw_command(["vocabulary", "extension", "--model", model, "--corpus", str(corpus.folder)])


def _measure_cost(
    workspace: Workspace, chosen: ChosenRecipe, plan: VocabularyPlan
) -> PlanCost | None:
    """Measure what a plan costs the text that its tokens were chosen by, or saves; None without
    word counts of this text.
    """
    root = workspace.root
    model = cache.model_of(chosen.model)
    if "counts" in chosen.recipe.needs and chosen.corpus:
        return count_cache.cost_of(
            chosen.recipe, chosen.model, chosen.vectors, chosen.target, chosen.corpus, root
        )
    if not chosen.vectors or "vectors" not in chosen.recipe.kind.needs:
        return None
    name = find_text_name(chosen.vectors)
    text = next((one for one in workspace.artifacts("corpora") if one.name == name), None)
    counts = count_cache.words_of(text, model.splitter, root) if text else None
    if text is None or counts is None:
        return None
    return count_cache.savings_of(chosen.recipe, model, chosen.vectors, text, plan, counts)


def draw_plan_metrics(plan: VocabularyPlan, dim: int, cost: PlanCost | None = None) -> None:
    """Draw the numbers of added, removed and excluded tokens, the parameters, and what the plan
    costs or saves; only those that the kind of plan has.
    """
    # The parameters of the input embeddings; fewer if more are removed than added.
    parameters = (len(plan.tokens) - len(plan.base)) * dim
    label = "Parameters added" if parameters >= 0 else "Parameters saved"
    metrics = [
        *_describe_tokens(plan),
        (label, count(abs(parameters)), megabytes(abs(parameters) * FLOAT32)),
        *_describe_effect(plan, cost),
    ]
    # Two in a row: the plan shares the page with the form.
    for start in range(0, len(metrics), 2):
        pair = metrics[start : start + 2]
        draw_metrics(*pair, places=st.columns(2)[: len(pair)])
    if cost is not None:
        draw_unknown_words(cost.unknown)
    wanted = plan.settings.max_added
    if wanted > len(plan.added) and "vectors" in KINDS[plan.settings.kind].needs:
        draw_note(
            f"{count(wanted)} words were requested; the word vectors contain"
            f" {count(len(plan.added))} of them."
        )
    for why, words in plan.left_out.items():
        draw_note(f"{count(len(words))} excluded: {why}")
    if plan.note:
        st.warning(plain(plan.note), icon=":material/info:")
    if plan.unreachable:
        draw_note(
            f"{count(len(plan.unreachable))} of the new tokens can never be"
            " produced by the tokenizer (inherited from the target)"
        )


def _describe_tokens(plan: VocabularyPlan) -> list[Metric]:
    """Describe the added and the removed tokens, or the excluded words if none is removed."""
    adds = KINDS[plan.settings.kind].adds
    metrics = list[Metric]()
    before = count(len(plan.base))
    after = count(len(plan.tokens))
    if adds:
        metrics.append(("Tokens added", count(len(plan.added)), f"{before} tokens before"))
    if plan.removed_tokens:
        n_removed = count(len(plan.removed_tokens))
        metrics.append(("Tokens removed", n_removed, f"{after} of {before} stay"))
    elif adds:
        excluded = sum(len(words) for words in plan.left_out.values())
        metrics.append(("Excluded", count(excluded), None, HELP["excluded"]))
    return metrics


def _describe_effect(plan: VocabularyPlan, cost: PlanCost | None) -> list[Metric]:
    """Describe the replaced embeddings, and what the plan costs the text, or saves."""
    metrics: list[Metric] = []
    saved = count_saved_wordpieces(plan)
    if plan.replaced:
        metrics.append(("Embeddings replaced", count(len(plan.replaced)), None, HELP["replaced"]))
    if cost is not None:
        metrics.append(describe_cost(cost.growth, cost.growth_in_sample, cost.held_out_lines > 0))
    elif saved is not None:
        metrics.append(("Wordpieces saved", count(saved), IN_SAMPLE, HELP["saved"]))
    return metrics


def describe_cost(
    growth: float, in_sample: float, is_held_out: bool
) -> tuple[str, str, str | None, str]:
    """Describe the change of the length of a text as a metric: label, value, note and help; on
    held-out lines if there are any.
    """
    label, sign = "Text growth", 1
    if growth < 0:
        label = "Tokens saved"
        sign = -1
    note = IN_SAMPLE
    if is_held_out:
        note = f"{percent(sign * in_sample)} {IN_SAMPLE}"
    return label, percent(sign * growth), note, HELP["growth"]


def count_saved_wordpieces(plan: VocabularyPlan) -> int | None:
    """Return how many wordpieces shorter the text of the word vectors becomes; None if the plan
    does not add whole words, or their counts are unknown.
    """
    if "vectors" not in KINDS[plan.settings.kind].needs:
        return None
    counts = [word.count for word in plan.added]
    if None in counts:
        return None
    return sum((word.count or 0) * (len(word.pieces) - 1) for word in plan.added)


def draw_added_words(plan: VocabularyPlan) -> None:
    """Draw LISTED added words, their wordpieces before, and their counts if known; and the file of
    all. Words come first, numbers and two letters last.
    """
    if not plan.added:
        return

    def is_no_word(added: AddedWord) -> bool:
        body = plan.base.body(added.token)
        return len(body) < SHORTEST or not body.isalpha()

    listed = sorted(plan.added, key=is_no_word)[:LISTED]
    table: dict[str, list[object]] = {
        "new token": [word.token for word in listed],
        "wordpieces before": [" ".join(word.pieces) for word in listed],
    }
    if any(word.count is not None for word in listed):
        # The plan `extend` counts whole words: a wordpiece also occurs inside other words.
        counted = "as a whole word" if plan.settings.kind == "extend" else "occurrences"
        table[counted] = [word.count for word in listed]
    draw_table(table, height=330, key="added")
    if len(listed) < len(plan.added):
        draw_note(f"{count(len(listed))} of {count(len(plan.added))} added words.")
        rows: list[tuple[object, ...]] = [
            (word.token, " ".join(word.pieces), word.count) for word in plan.added
        ]
        header = ("new token", "wordpieces before", "occurrences")
        draw_downloads({"added-words.tsv": lambda: tsv(header, rows)})
