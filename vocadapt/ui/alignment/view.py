"""Parts of the alignment page: the figures at its top, and what held-out words say of the maps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.artifacts.alignments import COLUMNS, AlignmentEvaluation, AnchorScore
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.alignment.comparison import find_infeasible_methods
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.neighbors.cross_space import METRICS, CrossSpace, ListSettings
from vocadapt.ui.alignment import methods
from vocadapt.ui.alignment.methods import Row
from vocadapt.ui.components import export, keyword_in_context, markup, word_query
from vocadapt.ui.components.estimates import format_estimate
from vocadapt.ui.components.number_formats import count, fraction, signed
from vocadapt.ui.frame import mistakes
from vocadapt.ui.frame.cache import judged_of

PAPER = methods.label(AlignmentSettings())
JudgeMaps = Callable[[AlignmentSettings, bool], None]
SHORTEST = 4  # letters: brackets and "of" are far for another reason
HELP = {
    "anchors": "Words that stand in both spaces: the map is fitted and judged on them.",
    "p@5": (
        "Share of held-out anchors whose own wordpiece is among the five nearest, of the wordpieces"
        " of all anchors."
    ),
    "csls": "The same, with hubs (wordpieces near everything) counted less.",
    "lists by csls": "Order the lists across by CSLS: hubs count less. It is made of cosines.",
    "chance": "What a map that knows nothing would reach.",
}
NOT_JUDGED = (
    "{} not judged yet. Each map is fitted on nine tenths of the anchors and judged on the tenth it"
    " has not seen."
)


def headline(judged: Mapping[str, Row], chosen: str, anchors: int) -> None:
    """Show the number of anchors, held-out P@5 with cosine and with CSLS, and chance level; dashes
    before evaluation.

    Other maps than that of Poerner et al. 2020 are compared with it, P@5 with P@5 and CSLS with
    CSLS.
    """
    row, columns = judged.get(chosen), st.columns(4)
    paper = _paper_beside(row, judged) if chosen != PAPER else None
    p5, csls = _score(row, "p@5"), _score(row, "p@5", csls=True)
    columns[0].metric("Anchors", count(anchors), help=HELP["anchors"])
    columns[1].metric(
        "Held-out P@5", fraction(p5), _delta(p5, _score(paper, "p@5")), help=HELP["p@5"]
    )
    columns[2].metric(
        "With CSLS",
        fraction(csls),
        _delta(csls, _score(paper, "p@5", csls=True)),
        help=HELP["csls"],
    )
    columns[3].metric("Chance", fraction(_score(row, "chance@5")), help=HELP["chance"])
    if row and row.at_chance:
        st.warning(
            "**At chance.** This map finds the right wordpiece no more often than luck would, on"
            f" {count(row.anchors)} anchors. What a word lands next to means nothing yet. Most"
            " often that is too little text: each anchor is seen too seldom for a map that carries"
            " over to other words, and a few million words of one domain are enough. Else the text"
            " is not of the model's language.",
            icon=":material/casino:",
        )


def without_the_papers_map(first: AlignmentSettings, anchors: int, dim: int) -> None:
    """Say in a line why the page opens on another map than the paper's."""
    st.markdown(
        f":material/info: Opened on **{methods.label(first)}**: the paper's map, {PAPER}, needs an"
        f" anchor for each dimension, and there are {count(anchors)} anchors for {count(dim)}. More"
        " text gives more anchors."
    )


def not_fitted_yet(settings: AlignmentSettings, judge: JudgeMaps) -> None:
    """Say that the map is not fitted yet, and offer to fit it."""
    st.markdown(
        f"**{methods.label(settings)}** is not fitted yet: its scores and neighbor lists appear here"
        " when it is. It takes minutes to fit, in the background."
    )
    _judge_one(settings, judge)


@st.fragment
def neighbors(
    spaces: CrossSpace, model: LanguageModel, vectors: Artifact, workspace: Workspace
) -> None:
    """A word to type, its four lists and its lines; a fragment, so that a question does not draw
    the whole page again.
    """
    words, options = st.columns([2, 1], gap="large")
    with words:
        word = word_query.ask_for_word(
            "alignment_word", "Type a word", word_query.telling(spaces, model), spaces.words
        )
    with options, st.container(horizontal=True, vertical_alignment="center"):
        k = st.number_input(
            "Neighbors",
            3,
            50,
            8,
            key="alignment_k",
            bind="query-params",
            label_visibility="collapsed",
            width=130,
        )
        settings = _list_settings(int(k))
    if word:
        with mistakes.shown():
            answer = word_query.across(spaces, model, word, settings)
            markup.neighbor_cards(word_query.four_cards(answer, settings))
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(
                    f":small[:green[**underlined**] = in more than one list · {settings.measure} ·"
                    f" k = {k}]"
                )
                st.download_button(
                    "The four lists",
                    lambda: word_query.four_lists_table(answer, settings),
                    "neighbors.tsv",
                    on_click="ignore",
                    icon=":material/download:",
                    type="tertiary",
                    key="get_neighbors",
                )
        with st.expander("In the text", icon=":material/notes:"):
            keyword_in_context.of_vectors(word, vectors, workspace, str(model.path))


def _list_settings(k: int) -> ListSettings:
    """What orders the lists; CSLS is made of cosines."""
    metric = st.segmented_control(
        "Measure",
        METRICS,
        default=METRICS[0],
        required=True,
        key="alignment_metric",
        bind="query-params",
        format_func=str.capitalize,
        label_visibility="collapsed",
    )
    cosine = metric == "cosine"
    csls = st.toggle(
        "CSLS",
        key="alignment_csls",
        bind="query-params",
        disabled=not cosine,
        help=HELP["lists by csls"],
    )
    return ListSettings(k, str(metric), csls and cosine)


def held_out(
    judged: Mapping[str, Row],
    spaces: CrossSpace,
    settings: AlignmentSettings,
    detail: Artifact | None,
    judge: JudgeMaps,
) -> None:
    """Every map on the same held-out anchors, beside it true pairs against random ones, and each
    anchor of the chosen one.
    """
    chosen = methods.label(settings)
    left, right = st.columns([1.7, 1], gap="large")
    with left:
        st.subheader("Every map on the same held-out anchors")
        _all_maps(judged, spaces, chosen, judge)
    with right:
        st.subheader("Do true pairs stand out?")
        if detail:
            _pairs(judged_of(detail))
        else:
            st.markdown("Each anchor's cosine is kept for maps that were judged one by one.")
            if not methods.slow(settings):  # else the button stands further up
                _judge_one(settings, judge)
    if detail:
        _anchors(judged_of(detail), chosen)
        anchors, shown = judged_of(detail).anchors, methods.comparable(judged)
        files = {
            "held-out-maps.tsv": lambda: _maps_file(shown),
            "anchors.tsv": lambda: _anchors_file(anchors),
        }
        export.details(detail, files)


def _judge_one(settings: AlignmentSettings, judge: JudgeMaps) -> None:
    if st.button(
        f"Judge {methods.label(settings)} in detail", key="judge_one", icon=":material/balance:"
    ):
        judge(settings, False)


def _all_maps(judged: Mapping[str, Row], spaces: CrossSpace, chosen: str, judge: JudgeMaps) -> None:
    """The table, and the button that makes it."""
    shown = methods.comparable(judged)
    if shown:
        markup.score_table(methods.COLUMNS, methods.table(shown, chosen), methods.BARS)
        _best(shown)
    if not methods.best(judged):
        seconds = methods.judging_seconds(spaces)
        which = "The others are" if shown else "The maps are"
        st.markdown(
            f"{NOT_JUDGED.format(which)} All of them take about {format_estimate(seconds)}, in the"
            " background."
        )
        if st.button("Judge every map", key="judge_all", type="primary", icon=":material/balance:"):
            judge(methods.to_judge(spaces)[0], True)
    for method, why in find_infeasible_methods(
        spaces.words, spaces.pieces, spaces.alignment.anchors, methods.FOLDS
    ).items():
        st.markdown(f":small[Not in the table: {method} ({why}).]")


def _best(judged: Mapping[str, Row]) -> None:
    """Which map is best on this data, whether that is more than luck, and what the scores are
    over.
    """
    name = methods.best(judged)
    if name:
        against = judged[name].against
        more = f" :small[{_against(against, len(judged))}]" if against else ""
        default = f" The default stays the paper's, {PAPER}." if PAPER in judged else ""
        st.markdown(f"Best on this data: :green[**{name}**]{more}.{default}")
    row = next(iter(judged.values()))
    held = (
        f"n = {count(row.anchors)} anchors, {row.held_out['folds']} folds, chance@5"
        f" {fraction(row.held_out['chance@5'])}"
    )
    pieces = row.held_out["all_pieces"]
    wide = (
        f"among all {count(pieces['candidates'])} wordpieces, chance@5"
        f" {fraction(pieces['chance@5'])}"
    )
    st.markdown(
        f":small[:gray[{held}. P@k among the anchors' wordpieces, *all*: {wide}, for the same"
        " anchors.]]"
    )


def _against(against: Mapping[str, Any], among: int) -> str:
    """A paired difference to the paper's map in words."""
    ahead = f"ahead of it in {against['won']} of {against['folds']} folds"
    picked = f"picked among {among} maps on the same folds, so p is optimistic"
    return (
        f"P@5 · CSLS {signed(against['difference'])} to the paper's, {ahead}, p ="
        f" {against['p']:.2g}; {picked}"
    )


def _pairs(judged: AlignmentEvaluation) -> None:
    true, random = zip(
        *((anchor.cosine, anchor.random_cosine) for anchor in judged.anchors), strict=True
    )
    st.plotly_chart(
        figures.plot_pair_similarities(true, random), key="pairs", config={"displayModeBar": False}
    )


def _anchors(judged: AlignmentEvaluation, chosen: str) -> None:
    """The anchors with their residual, worst first."""
    words = [
        anchor
        for anchor in judged.anchors
        if len(anchor.word) >= SHORTEST and anchor.word.isalpha()
    ]
    ordered = sorted(words, key=lambda anchor: anchor.cosine)
    st.subheader("Words that land far from their own wordpiece")
    st.markdown(
        f"{count(len(words))} of {count(len(judged.anchors))} anchors, those of {SHORTEST} letters"
        f" or more, under {chosen.lower()}, by the fold that had not seen them; worst first. A far"
        " word often means another thing in your domain than in general text, or is too rare to be"
        " placed."
    )
    st.dataframe(
        {
            "word": [anchor.word for anchor in ordered],
            "cosine to its wordpiece": [anchor.cosine for anchor in ordered],
            "residual": [1 - anchor.cosine for anchor in ordered],
            "wordpieces nearer than its own": [anchor.rank for anchor in ordered],
        },
        column_config={
            "word": st.column_config.TextColumn(width="medium"),
            "cosine to its wordpiece": st.column_config.NumberColumn(format="%.3f"),
            "residual": st.column_config.NumberColumn(format="%.3f", help="1 − cosine, held out."),
        },
        height=300,
        hide_index=True,
        key="anchors",
    )


def _score(row: Row | None, name: str, csls: bool = False) -> float | None:
    if row is None:
        return None
    return float((row.held_out["csls"] if csls else row.held_out)[name])


def _paper_beside(row: Row | None, judged: Mapping[str, Row]) -> Row | None:
    """Return the scores of the map of Poerner et al. 2020, if evaluated on the same anchors and
    folds as `row`.
    """
    paper = judged.get(PAPER)
    if row is None or paper is None or paper.basis != row.basis:
        return None
    return paper


def _delta(value: float | None, base: float | None) -> str | None:
    """Return the difference to the same score of the map of Poerner et al. 2020."""
    if value is None or base is None:
        return None
    return f"{signed(value - base)} vs {PAPER.lower()}"


def _anchors_file(anchors: Sequence[AnchorScore]) -> str:
    return export.tsv(COLUMNS, [astuple(anchor) for anchor in anchors])


def _maps_file(judged: Mapping[str, Row]) -> str:
    return export.tsv(
        ("map", *methods.COLUMNS), [(name, *row.values) for name, row in judged.items()]
    )
