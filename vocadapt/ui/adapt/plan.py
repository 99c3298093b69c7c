"""Blocks of the part Adapt: the plan of the selected recipe, and the size of an extension."""

from dataclasses import replace

import streamlit as st

from vocadapt.analysis.figures.training import (
    plot_added_words,
    plot_token_frequency,
    plot_wordpieces_by_size,
)
from vocadapt.lab.reports.pretraining import list_pretrained_models
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.presets import EXTENSION
from vocadapt.recipe import Recipe
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.adapt.form import ChosenRecipe
from vocadapt.ui.components import pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_metrics,
    draw_note,
    draw_table,
    tsv,
)
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, megabytes
from vocadapt.ui.frame import cache, count_cache
from vocadapt.ui.pretraining import view
from vocadapt.vocabulary.growth.growth import RARE
from vocadapt.vocabulary.plan.plan import KINDS, VocabularyPlan
from vocadapt.vocabulary.plan.planning import OVER_LIMIT, TOO_RARE

FLOAT32 = 4  # bytes
LISTED = 1_000  # added words in the table; all are in the file
HELP = {
    "excluded": "Number of candidates that are missing in the model but are not added.",
    "saved": (
        "Number of wordpieces by which the text becomes shorter: each added word is one"
        " token instead of several."
    ),
    "replaced": "Number of old tokens that are kept and get a new embedding.",
}


def draw_plan(workspace: Workspace, chosen: ChosenRecipe) -> None:
    """Draw the plan of a recipe: figures, added and removed tokens, and the cost of continued
    pretraining, if the recipe includes it.
    """
    # 1. The figures, and for an extension the curve for choosing its size.
    found = count_cache.plan_of(
        chosen.recipe, chosen.model, chosen.vectors, chosen.target, chosen.corpus, workspace.root
    )
    draw_plan_metrics(found, cache.model_of(chosen.model).dim)
    if chosen.corpus and chosen.recipe.vocabulary.kind == "extend":
        _draw_extension_curve(workspace, chosen.recipe, chosen.model, chosen.corpus)
    if chosen.vectors:
        _draw_frequency_curve(cache.space_of(chosen.vectors), found)
    # 2. The tokens themselves.
    draw_added_words(found)
    if found.removed_tokens:
        with st.expander(
            f"{count(len(found.removed_tokens))} removed tokens", expanded=not found.added
        ):
            draw_table(
                {
                    "token": list(found.removed_tokens),
                    "old id": [found.base.ids[token] for token in found.removed_tokens],
                },
                height=240,
                key="dropped",
                column_config={"token": st.column_config.TextColumn()},
            )
    # 3. The cost of continued pretraining.
    if chosen.recipe.further.stage and chosen.corpus:
        request = view.PretrainingRequest(
            pickers.shown_model(chosen.model), chosen.model, chosen.corpus, chosen.recipe.further
        )
        view.draw_cost(
            workspace, request, list_pretrained_models(workspace), "Continued pretraining, about"
        )


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
    rarest = min(word.count or 0 for word in plan.added)
    alt = (
        f"Occurrences of {count(len(counts))} words by rank, from {count(max(counts))} to"
        f" {count(min(counts))}. The {count(len(plan.added))} added words occur"
        f" {count(rarest)} times or more."
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
        f"{legend}Of all"
        f" {count(last.size)} tokens, {count(last.seldom)} occur fewer than {RARE} times in the"
        f" text. Together they make its tokenization {100 * found.shorter(last):.1f} % shorter."
        " Embeddings of rare tokens are hardly trained."
    )
    draw_command(["vocabulary", "extension", "--model", model, "--corpus", str(corpus.folder)])


def draw_plan_metrics(plan: VocabularyPlan, dim: int) -> None:
    """Draw the numbers of added, removed and excluded tokens, and the parameters."""
    # The second figure: removed tokens, or excluded words if no token is removed.
    changed: tuple[str | None, ...] = (
        "Tokens removed",
        count(len(plan.removed_tokens)),
        f"{count(len(plan.tokens))} tokens after",
    )
    if not plan.removed_tokens:
        excluded = sum(len(words) for words in plan.left_out.values())
        changed = ("Excluded", count(excluded), None, HELP["excluded"])
    parameters, size = count_added_parameters(plan, dim)
    label = "Parameters added" if parameters >= 0 else "Parameters saved"
    # Two in a row: the plan shares the page with the form.
    draw_metrics(
        ("Tokens added", count(len(plan.added)), f"{count(len(plan.base))} tokens before"),
        (label, count(abs(parameters)), megabytes(abs(size))),
    )
    saved = count_saved_wordpieces(plan)
    last: tuple[str | None, ...] = ("Wordpieces saved", "–", None, HELP["saved"])
    if plan.replaced:
        last = ("Embeddings replaced", count(len(plan.replaced)), None, HELP["replaced"])
    elif saved is not None:
        last = ("Wordpieces saved", count(saved), "in the whole text", HELP["saved"])
    draw_metrics(changed, last)
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


def count_saved_wordpieces(plan: VocabularyPlan) -> int | None:
    """Return how many wordpieces shorter the text of the word vectors becomes; None if the plan does
    not add whole words, or their counts are unknown.
    """
    if "vectors" not in KINDS[plan.settings.kind].needs:
        return None
    counts = [word.count for word in plan.added]
    if None in counts:
        return None
    return sum((word.count or 0) * (len(word.pieces) - 1) for word in plan.added)


def count_added_parameters(plan: VocabularyPlan, dim: int) -> tuple[int, int]:
    """Return the number of parameters and bytes (float32) of the added input embeddings; negative if
    more embeddings are removed than added.
    """
    parameters = (len(plan.tokens) - len(plan.base)) * dim
    return parameters, parameters * FLOAT32


def draw_added_words(plan: VocabularyPlan) -> None:
    """Draw the first LISTED added words, their wordpieces before, and their counts if known; and
    the file of all.
    """
    if not plan.added:
        return
    listed = plan.added[:LISTED]
    table: dict[str, list[object]] = {
        "new token": [word.token for word in listed],
        "wordpieces before": [" ".join(word.pieces) for word in listed],
    }
    if any(word.count is not None for word in listed):
        # The plan `extend` counts whole words: a wordpiece also occurs inside other words.
        counted = "as a whole word" if plan.settings.kind == "extend" else "occurrences"
        table[counted] = [word.count for word in listed]
    draw_table(
        table,
        height=330,
        key="added",
        column_config={
            "new token": st.column_config.TextColumn(),
            "wordpieces before": st.column_config.TextColumn(width="medium"),
        },
    )
    if len(listed) < len(plan.added):
        draw_note(f"The first {count(len(listed))} of {count(len(plan.added))} added words.")
        rows: list[tuple[object, ...]] = [
            (word.token, " ".join(word.pieces), word.count) for word in plan.added
        ]
        header = ("new token", "wordpieces before", "occurrences")
        draw_downloads({"added-words.tsv": lambda: tsv(header, rows)})
