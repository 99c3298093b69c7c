"""The part Alignment: align domain words with the model's wordpieces, evaluate the alignment on
held-out words, and show neighbors.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple
from functools import partial
from statistics import fmean

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from vocadapt.analysis.figures import figures
from vocadapt.lab.inputs.alignments import find_saved_stacked, list_alignments
from vocadapt.lab.steps.alignment import ANCHOR_COLUMNS, AlignmentEvaluation, AlignmentStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.report.csv_files import write_csv
from vocadapt.report.table import read_value
from vocadapt.spaces.alignment.cross_space import CrossSpace, ListSettings
from vocadapt.spaces.alignment.cross_validation import (
    find_infeasible_methods,
    list_feasible_alignments,
)
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.evaluation import (
    COLUMNS,
    EvaluatedAlignment,
    StackedScores,
    describe_best,
)
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.ui.components import keyword_in_context, mistakes, pickers, word_links, word_query
from vocadapt.ui.components.blocks import (
    draw_artifact_details,
    draw_figure,
    draw_heading,
    draw_note,
    draw_table,
    tsv,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_linked_setting
from vocadapt.ui.jobs import forms, panel
from vocadapt.ui.parts.alignment import accuracy, methods
from vocadapt.ui.parts.text.needed_size import describe_needed_text
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.cache import evaluation_of
from vocadapt.ui.state.names import model_behind
from vocadapt.ui.text import markup
from vocadapt.ui.text.number_formats import chance, count, fraction, signed

DEFAULT = AlignmentSettings()
DEFAULT_METHOD = describe_method(DEFAULT)
DrawEvaluation = Callable[[AlignmentSettings, bool], None]
SHORTEST = 4  # letters: function words are badly aligned for other reasons
LISTED = 1_000  # anchors in the table, worst first; all are in the file
HELP = {column.name: column.help for column in COLUMNS}
NOT_EVALUATED = (
    "{} not evaluated yet. Each alignment is fitted on nine tenths of the anchors and"
    " evaluated on the held-out tenth."
)


def draw(workspace: Workspace) -> None:
    """Draw the neighbors of a word across an alignment, and the held-out evaluation."""
    found = workspace.artifacts("vectors")
    if not found:
        pickers.draw_empty_state(
            "There are no word vectors to align yet.",
            "An alignment needs the words of your domain with vectors, and a language model.",
            "vectors",
        )
        return

    with st.container(horizontal=True):
        vectors = pickers.pick("Word vectors", found, "alignment_vectors")
        name = pickers.pick_model(
            workspace, "alignment_model", default=model_behind(vectors, workspace)
        )
        place = st.container()
    model = cache.model_of(name)
    draw_alignment(workspace, vectors, model, place)


def draw_alignment(
    workspace: Workspace, vectors: Artifact, model: LanguageModel, place: DeltaGenerator
) -> None:
    """Draw the picker of the method in a column, the neighbors, and the held-out evaluation."""
    # 1. The method; the best evaluated one is selected first.
    alignments = list_alignments(workspace, vectors, model)
    evaluated = methods.list_evaluated_methods(alignments)
    anchors = cache.anchors_of(vectors, model)
    offered = methods.list_methods(cache.space_of(vectors), model.word_space, anchors, evaluated)
    default = methods.choose_default(offered, evaluated, alignments)
    labels = methods.label_methods(offered)
    with place:
        chosen = pickers.pick_name(
            "Method", list(offered), "alignment_method", default, labels=labels
        )
    settings = offered[chosen]
    first = next(iter(offered.values()))
    # 2. The alignment: a saved one, or one that is fitted now, unless fitting is slow.
    detail = methods.find_detailed(alignments, settings)
    waiting = methods.is_slow(settings) and not detail
    fitted = first if waiting else settings  # first: for the number of anchors alone
    spaces = cache.cross_space_of(vectors, model, fitted, detail)
    pickers.warn_if_stale(vectors, workspace)
    row = None if waiting else evaluated.get(chosen)
    warn_if_at_chance(row)
    draw_evaluation = partial(_draw_evaluation, vectors, model)
    # 3. Neighbors, or the offer to fit; then the held-out results.
    if waiting:
        st.markdown(
            f"**{describe_method(settings)}** is not fitted yet. Fitting takes"
            " minutes in the background; then its scores and neighbor lists appear here."
        )
        draw_evaluation(settings, False)
    else:
        stacked = find_saved_stacked(vectors.folder, model)
        draw_neighbors(spaces, model, vectors, workspace, row, detail, stacked)
    draw_headline(row, evaluated.get(DEFAULT.digest), anchors)
    draw_held_out(evaluated, spaces, settings, detail, draw_evaluation)


def _draw_evaluation(
    vectors: Artifact, model: LanguageModel, which: AlignmentSettings, compare: bool
) -> None:
    """Draw the button of the job that evaluates a method in detail; `compare`: all of them."""
    kind: panel.ButtonKind = "secondary"
    label = f"Evaluate {describe_method(which)} in detail"
    key = "judge_one"
    if compare:
        label, key, kind = "Evaluate all methods", "judge_all", "primary"
    inputs = {"vectors": (str(vectors.folder),), "model": (str(model.path),)}
    spec = Spec(AlignmentStep(which, compare=compare), inputs)
    wish = f"{vectors.name}-{which.method}"
    forms.draw_start(address.workspace(), spec, wish, label, key, kind=kind)


def draw_headline(
    row: EvaluatedAlignment | None, default: EvaluatedAlignment | None, anchors: int
) -> None:
    """Draw the number of anchors, held-out P@5 with cosine and with CSLS, and the chance level; a
    dash for a score that was not computed.

    row: scores of the method. default: those of the default method (Poerner et al. 2020), with
    which both are compared if they have the same anchors and folds.
    """
    if row is None or row is default or (default and default.basis != row.basis):
        default = None
    p5 = read_value(row, "held_out.p5")
    csls = read_value(row, "held_out.csls.p5")
    base = read_value(default, "held_out.p5")
    base_csls = read_value(default, "held_out.csls.p5")
    # Side by side as far as they fit, never cut.
    with st.container(horizontal=True, gap="large"):
        for label, value, delta, help in (
            ("Anchors", count(anchors), None, HELP["anchors"]),
            ("Held-out P@5", fraction(p5), _delta(p5, base), HELP["held_out.p5"]),
            ("With CSLS", fraction(csls), _delta(csls, base_csls), HELP["held_out.csls.p5"]),
            ("Chance", chance(read_value(row, "held_out.chance5")), None, HELP["held_out.chance5"]),
        ):
            st.metric(label, value, delta, help=explain(label, help), width="content")


def warn_if_at_chance(row: EvaluatedAlignment | None) -> None:
    """Warn if the neighbors of a method cannot be interpreted."""
    if row and row.at_chance:
        st.warning(
            (
                "**At chance.** This alignment finds the right wordpiece no more often than"
                f" chance, on {count(row.anchors)} anchors, so its neighbors are meaningless. The"
                " usual cause is too little text: the vectors need"
                f" {describe_needed_text()} of one domain. Another possible cause is that the text"
                " is not in the model's language."
            ),
            icon=":material/casino:",
        )


@st.fragment
def draw_neighbors(
    spaces: CrossSpace,
    model: LanguageModel,
    vectors: Artifact,
    workspace: Workspace,
    row: EvaluatedAlignment | None,
    detail: Artifact | None,
    stacked: StackedScores | None,
) -> None:
    """Draw the search field, the neighbor lists, how often they are right, and the word in context.

    row, detail, stacked: as in `accuracy.draw_accuracy`. A search reruns only this fragment.
    """
    # 1. The word and the settings of its lists.
    found = word_query.draw_word_search(
        "alignment_word",
        "Type a word",
        _choose_examples(spaces, model, vectors),
        spaces.searchable,
        model.splitter,
        formulas=True,
        notes=word_query.label_examples(vectors),
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        settings = _choose_list_settings()
    if found is None:
        return
    # 2. The lists of a word or a formula, and how often they are right.
    with mistakes.show_errors():
        if found.formula is not None:
            cards = word_query.build_formula_cards(found.formula, spaces, settings)
            markup.draw_neighbor_cards(cards, word_links.build_links("alignment_word"))
        elif found.is_single_word:
            _draw_four_lists(found.word or found.typed, spaces, model, settings)
    accuracy.draw_accuracy(row, detail, spaces.words, settings, stacked)
    # 3. The word in the text of the vectors.
    if found.is_single_word:
        with st.expander("In the text", icon=":material/notes:"):
            word = found.word or found.typed
            keyword_in_context.draw_lines_of_vectors(word, vectors, workspace, str(model.path))


def _choose_examples(spaces: CrossSpace, model: LanguageModel, vectors: Artifact) -> list[str]:
    """Return words to look at first: those of the demo, or the best-aligned of frequent words that
    the model splits into several wordpieces.
    """
    frequent = word_query.examples_of(vectors, model, word_query.FREQUENT)
    if word_query.label_examples(vectors):
        return frequent
    return spaces.select_best_aligned(frequent, word_query.EXAMPLES)


def _draw_four_lists(
    word: str, spaces: CrossSpace, model: LanguageModel, settings: ListSettings
) -> None:
    answer = word_query.query_across_spaces(spaces, model, word, settings)
    cards = word_query.build_four_cards(answer, spaces, settings)
    markup.draw_neighbor_cards(cards, word_links.build_links("alignment_word"))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":small[:green[**underlined**] = in more than one list · {settings.measure} ·"
            f" k = {settings.k} · click a word to see its neighbors]"
        )
        st.download_button(
            "The four lists",
            lambda: word_query.format_four_lists(answer, settings),
            "neighbors.tsv",
            on_click="ignore",
            icon=":material/download:",
            type="tertiary",
            key="get_neighbors",
        )


def _choose_list_settings() -> ListSettings:
    """Draw the controls of the neighbor ranking; CSLS requires cosine."""
    options = {"least": 3, "most": 50, "width": 130}
    k = draw_linked_setting(ListSettings(8), "k", "alignment_k", **options)
    metric = draw_linked_setting(ListSettings, "metric", "alignment_metric", buttons=True)
    among = draw_linked_setting(
        ListSettings, "among", "alignment_among", label="Wordpieces", buttons=True
    )
    cosine = metric == "cosine"
    csls = draw_linked_setting(
        ListSettings, "csls", "alignment_csls", toggle=True, disabled=not cosine
    )
    return ListSettings(k, metric, csls and cosine, among)


def draw_held_out(
    evaluated: Mapping[str, EvaluatedAlignment],
    spaces: CrossSpace,
    settings: AlignmentSettings,
    detail: Artifact | None,
    draw_evaluation: DrawEvaluation,
) -> None:
    """Draw all methods compared, true against random pairs, and the anchors of the selected one."""
    # 1. All methods, and the held-out pairs of the selected one.
    draw_heading("Alignment methods compared")
    _draw_comparison(evaluated, spaces, settings.digest, draw_evaluation)
    draw_heading("Held-out pairs against random pairs")
    if detail is None:
        st.markdown("Run the detailed evaluation of this method to see the cosine of each anchor.")
        if not methods.is_slow(settings):  # the button of a slow method is at the top of the page
            draw_evaluation(settings, False)
        return
    evaluation = evaluation_of(detail)
    true = [anchor.cosine for anchor in evaluation.anchors]
    random = [anchor.random_cosine for anchor in evaluation.anchors]
    text = (
        f"Mean cosine of a held-out word and its own wordpiece: {fraction(fmean(true))};"
        f" and another word's: {fraction(fmean(random))}; n = {count(len(true))}."
    )
    draw_figure(figures.plot_pair_similarities(true, random), "pairs", text)
    draw_note(text)
    # 2. Each anchor, and the files.
    _draw_anchors(evaluation, describe_method(settings))
    table = methods.build_table(methods.select_comparable(evaluated))
    anchors = [astuple(anchor) for anchor in evaluation.anchors]
    files = {
        "held-out-maps.csv": lambda: write_csv([table]),
        "anchors.tsv": lambda: tsv(ANCHOR_COLUMNS, anchors),
    }
    draw_artifact_details(detail, files)


def _draw_comparison(
    evaluated: Mapping[str, EvaluatedAlignment],
    spaces: CrossSpace,
    chosen: str,
    draw_evaluation: DrawEvaluation,
) -> None:
    """Draw the comparison table and the button that starts it."""
    shown = methods.select_comparable(evaluated)
    if shown:
        table = methods.build_table(shown)
        chosen_row = shown.get(chosen)
        place = next((i for i, row in enumerate(table.rows) if row is chosen_row), -1)
        markup.draw_plain_table(table, place)
        _draw_best(shown)
    if not methods.find_best(evaluated):
        which = "The others are" if shown else "The alignments are"
        st.markdown(f"{NOT_EVALUATED.format(which)} All of them are evaluated in the background.")
        feasible = list_feasible_alignments(spaces.words, spaces.pieces, methods.FOLDS)
        draw_evaluation(feasible[0], True)
    # List infeasible methods with the reason, for example fewer anchors than dimensions.
    for method, why in find_infeasible_methods(
        spaces.words, spaces.pieces, spaces.alignment.anchors, methods.FOLDS
    ).items():
        st.markdown(f":small[Not in the table: {method} ({why}).]")


def _draw_best(evaluated: Mapping[str, EvaluatedAlignment]) -> None:
    """Show the best method, its significance, and the basis of the scores."""
    digest = methods.find_best(evaluated)
    if digest:
        best = describe_best(evaluated[digest], "Poerner et al. 2020", len(evaluated))
        st.markdown(markup.format_sentence(best.sentence))
    row = next(iter(evaluated.values()))
    scores = row.held_out
    basis = f"{scores.folds} folds"
    if scores.folds == 1:
        judged = count(scores.words or row.anchors)
        basis = f"{judged} of them, which took no part in choosing the method, give the scores"
    pieces = scores.all_pieces
    draw_note(
        f"n = {count(row.anchors)} anchors, {basis}, chance {chance(scores.chance5)}. The"
        " candidates of P@k are the anchors' wordpieces; those of *P@5 · all* are all"
        f" {count(pieces.candidates)} wordpieces, chance {chance(pieces.chance5)}."
    )


def _draw_anchors(evaluated: AlignmentEvaluation, chosen: str) -> None:
    """Draw the anchors with their residuals, worst first."""
    words = [
        anchor
        for anchor in evaluated.anchors
        if len(anchor.word) >= SHORTEST and anchor.word.isalpha()
    ]
    ordered = sorted(words, key=lambda anchor: anchor.cosine)[:LISTED]
    listed = ""
    if len(words) > LISTED:
        listed = f" The first {count(LISTED)} are listed."
    draw_heading("Worst-aligned words")
    st.markdown(
        f"{count(len(words))} of {count(len(evaluated.anchors))} anchors: words of {SHORTEST}"
        f" letters or more, held out and aligned by {chosen.lower()}, worst first. A badly aligned"
        f" word often has another meaning in your domain, or is too rare.{listed}"
    )
    draw_table(
        {
            "word": [anchor.word for anchor in ordered],
            "cosine to its wordpiece": [anchor.cosine for anchor in ordered],
            "residual": [1 - anchor.cosine for anchor in ordered],
            "wordpieces nearer than its own": [anchor.rank for anchor in ordered],
        },
        {"cosine to its wordpiece": fraction, "residual": fraction},
        column_config={
            "word": st.column_config.TextColumn(width="medium"),
            "residual": st.column_config.Column(help="1 − cosine, held out."),
        },
        height=300,
        key="anchors",
    )


def _delta(value: float | None, base: float | None) -> str | None:
    """Format the difference to the same score of Poerner et al. 2020."""
    if value is None or base is None:
        return None
    return f"{signed(value - base)} vs {DEFAULT_METHOD.lower()}"
