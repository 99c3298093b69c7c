"""The part Vocabulary size: statistics and overlap of vocabularies, and the effect of reducing one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.advice import measure_model_size
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.presets import build_reduction, build_trim
from vocadapt.recipe import Recipe
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.text.words import describe_held_out
from vocadapt.ui.components import keyword_in_context, mistakes, pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_metrics,
    draw_note,
    draw_table,
    draw_unknown_words,
    open_details,
    tsv,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.jobs import forms
from vocadapt.ui.parts.lens import view as lens_view
from vocadapt.ui.parts.lens.view import ModelEntry
from vocadapt.ui.parts.text.counting import offer_counting
from vocadapt.ui.parts.vocabulary import profiles
from vocadapt.ui.state import cache, count_cache
from vocadapt.ui.state.names import models_in_use
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import count, group_digits, megabytes, percent
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.growth.growth import SEEDS, Growth, Reducer, measure_growth_over_seeds
from vocadapt.vocabulary.growth.word_tokenizations import ModelSize
from vocadapt.vocabulary.plan.plan import KINDS
from vocadapt.vocabulary.plan.reduction import (
    REDUCTIONS,
    ReductionSettings,
    compute_min_keep_fraction,
    name_heuristic,
)
from vocadapt.vocabulary.vocabulary import Mask

FLOAT32 = 4  # bytes
# Characters of distinct words up to which curves are drawn without a click, in about three seconds.
MAX_INSTANT_CHARACTERS = 600_000
NEAREST = 8  # neighbors of a token
LISTED = 200  # removed tokens in the table: it is sent to the browser at each move of the slider
TRIM = "trim"  # the choice that is no heuristic: what the text needs determines the size
TRIM_TITLE = "only what my text needs (trim)"
HELP = {
    "heuristic": "Selects which tokens are removed.",
    "cover": (
        "Selects the fraction of the running tokens of the text that are kept, the most frequent"
        " first; 100 % keeps the tokens of every line."
    ),
    "growth": (
        "Increase in the number of wordpieces of held-out lines: a word whose token is removed is"
        " split into shorter ones. In sample: the same for the lines that the tokens were chosen"
        " by. Exact: every distinct word is tokenized again."
    ),
}


def draw(workspace: Workspace) -> None:
    """Draw the reduction of a vocabulary, and the comparison of vocabularies."""
    # 1. The models, and the text that the reduction is measured on.
    left, right = st.columns([2, 1], gap="large")
    with left:
        models = lens_view.choose_models(workspace, "vocabulary_models", choose_default_model)
    corpora = workspace.artifacts("corpora")
    with right:
        corpus = pickers.pick("Text", corpora, "vocabulary_corpus") if corpora else None
    if not models:
        pickers.draw_empty_state(
            "Select a model to compare.",
            "Select one under *Models*, whose last option takes a folder on this machine or a hub"
            " name that was used here before, or add a `vocab.txt` file. The first one can be"
            " reduced; the others are compared with it.",
        )
        return
    # 2. The reduction of the first model; it needs a text with word counts.
    reducer = None
    if corpus is None:
        pickers.draw_empty_state(
            "There is no text in this workspace yet.",
            "Import one to see how many more tokens it has as the vocabulary shrinks.",
            "text",
        )
    else:
        with mistakes.show_errors():
            reducer = count_cache.reducer_of(corpus, models[0].name, workspace.root)
            if reducer:
                draw_reduction(workspace, corpus, models[0], reducer)
            else:
                offer_counting(workspace, corpus, models[0].name)
    # 3. The comparison of vocabularies, which needs no text.
    _draw_comparison(workspace, models, corpus)
    if corpus and reducer:
        draw_details(corpus, models, reducer)


def _draw_comparison(
    workspace: Workspace, models: Sequence[ModelEntry], corpus: Artifact | None
) -> None:
    """Draw the expander with the comparison of vocabularies, which is computed when it is opened."""
    comparison = st.expander(
        "Compare vocabularies: overlap, token length, frequency",
        icon=":material/compare_arrows:",
        key="vocabulary_compare",
        bind="query-params",
    )
    if comparison.open:
        with comparison, mistakes.show_errors():
            profiles.compare(workspace, models, corpus)


@dataclass(frozen=True, eq=False)
class SmallerVocabulary:
    """A selected reduction: its recipe, the removed tokens as a mask over ids (V,) bool, and its
    effect on the text.
    """

    recipe: Recipe
    removed: Mask
    growth: Growth


@st.fragment
def draw_reduction(
    workspace: Workspace, corpus: Artifact, entry: ModelEntry, reducer: Reducer
) -> None:
    """Draw the settings of a reduction, its effect, the curves of all heuristics, the removed
    tokens, and the button that makes the model.

    A fragment: a move of the slider redraws nothing else of the page.
    """
    left, right = st.columns([1, 1.6], gap="large")
    heuristic = _choose_heuristic(left)
    with mistakes.show_errors():
        if heuristic == TRIM:
            chosen = _choose_trim(workspace, corpus, entry, right)
        else:
            settings = _choose_size(heuristic, reducer.vocabulary, right)
            with st.spinner("Ordering the tokens …"):
                removed = reducer.build_removed_mask(settings)
            grown = measure_growth_over_seeds(reducer, settings, SEEDS)
            chosen = SmallerVocabulary(build_reduction(settings), removed, grown)
        _draw_metrics(entry, reducer, chosen)
        counts = count_cache.words_of(corpus, entry.model.splitter, workspace.root)
        if counts is not None:
            draw_note(group_digits(describe_held_out(counts.held_out_lines, counts.lines)))
        _draw_start_button(workspace, corpus, entry, chosen)
        curves, table = st.columns(2, gap="large")
        with table:
            selected = _draw_token_table(reducer, chosen.removed)
        # The curves last: the first time they take seconds.
        with curves:
            _draw_curves(workspace, corpus, entry, reducer, chosen.growth)
        if selected is not None:
            _draw_token(workspace, corpus, entry, reducer, chosen.removed, selected)


def choose_default_model(workspace: Workspace, offered: Mapping[str, str]) -> list[str]:
    """Return the label of the model that is selected by default: the one most recently used, or
    else the first one, that has embeddings.
    """
    used = models_in_use(workspace)
    labels = sorted(offered, key=lambda label: offered[label] not in used[:1])
    for label in labels:
        with suppress(InputError):
            opened = cache.model_of(offered[label])
            if opened.vocabulary and has_embeddings(opened):
                return [label]
    return labels[:1]


def _draw_start_button(
    workspace: Workspace, corpus: Artifact, entry: ModelEntry, chosen: SmallerVocabulary
) -> None:
    """Draw the name and the button of the job that makes the model of a reduction."""
    if not chosen.removed.any():
        return
    if not has_embeddings(entry.model):
        draw_note("A vocabulary without embeddings: select a model to make a smaller one.")
        return
    recipe = chosen.recipe
    inputs: dict[str, tuple[str, ...]] = {"model": (entry.name,)}
    if "counts" in recipe.needs:
        inputs["text"] = (str(corpus.folder),)
    wish = f"{entry.label.rpartition('/')[2]}-{recipe.name.removeprefix('reduced-')}"
    forms.draw_start(
        workspace,
        Spec(AdaptStep(recipe=recipe), inputs),
        wish,
        "Make this model",
        "vocabulary_make",
        "vocabulary_name",
        "secondary",
    )


def draw_details(corpus: Artifact, models: Sequence[ModelEntry], reducer: Reducer) -> None:
    """Draw Details & export: commands, definitions, and all tokens as a table."""
    study = ["vocabulary", "study", "--model", models[0].name, "--corpus", str(corpus.folder)]
    study += ["--workspace", str(corpus.folder.parent.parent)]
    with open_details():
        draw_command(study, "The same in a terminal")
        if len(models) > 1:
            draw_command(["vocabulary", "compare", *(entry.name for entry in models)])
        st.markdown(
            "Fractions refer to the whole vocabulary. The length of a token excludes the mark of a"
            " continuation. Special tokens and tokens shorter than four characters are kept, and so"
            " is a token without which a character could not be represented. Ties are broken by id:"
            " the higher one is removed first."
        )
        st.markdown(
            "\n".join(
                f"- *{name_heuristic(name)}* (`{name}`): {one.about} ({one.source})"
                for name, one in REDUCTIONS.items()
            )
        )
        vocabulary = reducer.vocabulary
        header = ("id", "token", "length", "occurrences")
        ids = range(len(vocabulary))
        columns = (ids, vocabulary.tokens, vocabulary.lengths, reducer.token_counts)
        draw_downloads({"tokens.tsv": lambda: tsv(header, list(zip(*columns, strict=True)))})


def _choose_heuristic(place: DeltaGenerator) -> str:
    """Show the menu of heuristics, those that read the text first, and the trim; the choice is
    stored in the address.
    """
    names = sorted(REDUCTIONS, key=lambda name: not REDUCTIONS[name].needs_counts)
    abouts = {name: one.about for name, one in REDUCTIONS.items()} | {TRIM: KINDS[TRIM].about}
    titles = {name: name_heuristic(name) for name in names} | {TRIM: TRIM_TITLE}
    with place:
        heuristic = pickers.pick_name(
            "Tokens to remove",
            list(titles),
            "vocabulary_heuristic",
            ReductionSettings().heuristic,
            help=explain("Heuristic", HELP["heuristic"]),
            labels=titles,
        )
    place.markdown(f":small[{abouts[heuristic]}]")
    return heuristic


def _choose_size(
    heuristic: str, vocabulary: Vocabulary, place: DeltaGenerator
) -> ReductionSettings:
    """Show the slider of the fraction to keep; it is stored in the address."""
    # Round up: the slider must not offer an impossible size.
    least = min(100, int(np.ceil(100 * compute_min_keep_fraction(vocabulary))))
    if least == 100:
        place.markdown("No token can be removed: all are special or shorter than four characters.")
        return ReductionSettings(heuristic, 1.0)
    if st.session_state.get("vocabulary_keep", least) < least:  # set for another model
        st.session_state["vocabulary_keep"] = least
    usual = max(50, least)
    keep = place.slider(
        "Keep (percent)", least, 100, usual, key="vocabulary_keep", bind="query-params"
    )
    draw_note(
        f"At least {least} %: special tokens and tokens shorter than four characters are always"
        " kept",
        place,
    )
    return ReductionSettings(heuristic, keep / 100)


def _choose_trim(
    workspace: Workspace, corpus: Artifact, entry: ModelEntry, place: DeltaGenerator
) -> SmallerVocabulary:
    """Show the coverage of a trim; return the trim."""
    cover = place.number_input(
        "Coverage of the text (percent)",
        50.0,
        100.0,
        100.0,
        0.01,
        key="vocabulary_cover",
        bind="query-params",
        help=HELP["cover"],
    )
    recipe = build_trim(cover=round(cover / 100, 6))
    plan = count_cache.plan_of(recipe, entry.name, None, None, corpus, workspace.root)
    cost = count_cache.cost_of(recipe, entry.name, None, None, corpus, workspace.root)
    assert cost is not None  # the words are counted
    removed = np.zeros(len(plan.base), dtype=np.bool_)
    removed[[plan.base.ids[token] for token in plan.removed_tokens]] = True
    grown = Growth(
        TRIM,
        len(plan.tokens) / len(plan.base),
        len(plan.tokens),
        cost.tokens_after,
        cost.growth,
        cost.growth_in_sample,
        cost.unknown,
    )
    return SmallerVocabulary(recipe, removed, grown)


def _draw_metrics(entry: ModelEntry, reducer: Reducer, chosen: SmallerVocabulary) -> None:
    """Draw the tokens kept and removed, the growth of the text, and the parameters saved."""
    grown = chosen.growth
    n_removed = int(chosen.removed.sum())
    # 1. The growth on held-out lines: a mean over seeds if the heuristic is random.
    growth = percent(grown.growth)
    growth_help = HELP["growth"]
    if grown.sd is not None:
        growth = f"{growth} ± {percent(grown.sd)}"
        growth_help += f" Mean ± sd over {count(len(SEEDS))} seeds."
    change = f"{count(reducer.tokens)} → {count(grown.tokens)}"
    if reducer.held_out:
        change = f"{percent(grown.growth_in_sample)} in sample"
    # 2. The parameters of the removed embeddings.
    saved = "–"
    saved_size = None
    saved_help = "A bare vocabulary has no embeddings."
    size = measure_model_size(entry.model) if has_embeddings(entry.model) else ModelSize()
    if size.width is not None:
        n_saved = n_removed * size.width
        saved = count(n_saved)
        saved_size = megabytes(n_saved * FLOAT32)
        if size.parameters:
            saved_size += f" · {percent(n_saved / size.parameters)} of the model"
        saved_help = "Of the removed embeddings, in float32; a tied output layer shares them."
    kept = f"{percent(grown.keep)} of {count(len(chosen.removed))}"
    draw_metrics(
        ("Tokens kept", count(grown.vocabulary), kept),
        ("Tokens removed", count(n_removed)),
        ("Text growth", growth, change, growth_help),
        ("Parameters saved", saved, saved_size, saved_help),
    )
    draw_unknown_words(grown.unknown)


def _draw_curves(
    workspace: Workspace, corpus: Artifact, entry: ModelEntry, reducer: Reducer, grown: Growth
) -> None:
    """Draw the growth by size for all heuristics, with a ring at the current setting."""
    if not _may_draw_curves(reducer):
        return
    legend = "Ring: the current setting."
    if reducer.held_out:
        legend += " Dotted: the growth in sample."
    st.markdown(f"**Text growth by heuristic and size**, on held-out lines. {legend}")
    # 1. The curves; the current setting is one more point on that of its heuristic.
    held_out: dict[str, dict[float, float]] = {}
    in_sample: dict[str, dict[float, float]] = {}
    curves = count_cache.growth_curves_of(corpus, entry.model, reducer, workspace.root)
    for name, sizes in curves.items():
        points = [*sizes, grown] if name == grown.heuristic else sizes
        points = sorted(points, key=lambda point: -point.keep)
        title = name_heuristic(name)
        held_out[title] = {point.keep: point.growth for point in points}
        if REDUCTIONS[name].needs_counts and reducer.held_out:
            in_sample[title] = {point.keep: point.growth_in_sample for point in points}
    current = TRIM_TITLE
    if grown.heuristic == TRIM:
        held_out[TRIM_TITLE] = {grown.keep: grown.growth}
    else:
        current = name_heuristic(grown.heuristic)
    # 2. The figure.
    alt = "; ".join(
        f"{title}: {percent(growth[min(growth)])} more tokens at {percent(min(growth))}"
        for title, growth in held_out.items()
    )
    alt = f"Growth of the text at the smallest size of each heuristic. {alt}."
    here = (current, grown.keep, grown.growth)
    draw_figure(figures.plot_vocabulary_growth(held_out, here, in_sample), "curves", alt)


def _may_draw_curves(reducer: Reducer) -> bool:
    """Return whether to draw the curves; for a large text, offer a button first."""
    requested = st.session_state.setdefault("curves_requested", set())
    if sum(map(len, reducer.counts)) <= MAX_INSTANT_CHARACTERS or id(reducer) in requested:
        return True
    with st.container(border=True):
        st.markdown("**Text growth by heuristic and size**, one line per heuristic.")
        if st.button("Draw curves (takes seconds)", key="curves_ask", icon=":material/show_chart:"):
            requested.add(id(reducer))
            st.rerun(scope="fragment")
    return False


def _draw_token_table(reducer: Reducer, removed: Mask) -> int | None:
    """Draw the table of the removed tokens that occur most often; return the id of the selected
    one, None if there is none.
    """
    vocabulary = reducer.vocabulary
    ids = np.flatnonzero(removed)
    order = ids[np.argsort(-reducer.token_counts[ids], kind="stable")][:LISTED]
    st.markdown(
        f"**Removed tokens**, {count(len(order))} of {count(len(ids))}, most frequent first. Select"
        " one to see how it is tokenized without it."
    )
    if not len(order):
        return None
    event = draw_table(
        {
            "token": [vocabulary.tokens[i] for i in order],
            "occurrences": reducer.token_counts[order],
            "length": vocabulary.lengths[order].astype(np.int16),
            "id": order.astype(np.int32),
        },
        height=330,
        key=f"tokens_{len(ids)}",
        on_select="rerun",
        selection_mode="single-row",
    )
    rows = [row for row in event["selection"]["rows"] if row < len(order)]
    return int(order[rows[0]]) if rows else None


def _draw_token(
    workspace: Workspace,
    corpus: Artifact,
    entry: ModelEntry,
    reducer: Reducer,
    removed: Mask,
    i: int,
) -> None:
    """Draw a removed token: its tokenization without it, its count, neighbors and occurrences."""
    vocabulary = reducer.vocabulary
    token = vocabulary.tokens[i]
    # 1. Tokenize the token with a vocabulary that lacks it and the other removed tokens.
    others = {vocabulary.tokens[k] for k in np.flatnonzero(removed).tolist() if k != i}
    note = f"id {count(i)} · {count(int(reducer.token_counts[i]))} times in the text"
    wordpieces = vocabulary.without(others).tokenize_token(token, without=True)
    if wordpieces and wordpieces != (vocabulary.unknown,):
        note += " · tokenized without it"
    else:
        wordpieces = (token,)
    chips = markup.build_word_chips(wordpieces, vocabulary.mark_of)
    markup.draw_tokenization_lines([markup.TokenizationLine(token, note, chips)])
    # 2. Its nearest wordpieces in the model.
    with mistakes.show_errors():
        if has_embeddings(entry.model):
            space = entry.model.word_space
            card = markup.Card(
                "Nearest wordpieces",
                f"cosine, {NEAREST} of {count(len(space))}",
                "source",
                list_neighbors(space, space.matrix[i], NEAREST, own=space.words[i]),
                random_cosine=cache.random_cosine_of(space),
            )
            markup.draw_neighbor_cards([card])
    # 3. The lines of the text that contain it.
    with mistakes.show_errors():
        keyword_in_context.draw_lines(
            token, read_corpus([corpus.folder]), entry.name, workspace, key="token_context"
        )


def has_embeddings(model: LanguageModel) -> bool:
    """Return whether a vocabulary belongs to a model with embeddings.

    A bare vocabulary does not, and neither does the tokenizer in the folder base/ of a model.
    """
    return (model.path / "config.json").is_file()
