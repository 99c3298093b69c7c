"""Parts of the vocabulary page: a smaller vocabulary under a slider, what that costs, and each
token that goes or stays.
"""

import shlex
from collections.abc import Sequence

import numpy as np
import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.advice import measure_model
from vocadapt.lab.steps.command_lines import PROGRAM
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.ui.components import export, keyword_in_context, markup
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_figure,
    draw_metric,
    draw_note,
    draw_table,
)
from vocadapt.ui.components.export import draw_downloads, open_details
from vocadapt.ui.components.markup import Card, Chip, TokenizationLine
from vocadapt.ui.components.number_formats import count, megabytes
from vocadapt.ui.frame import mistakes
from vocadapt.ui.lens.view import Seen
from vocadapt.vocabulary.families.wordpiece import Vocabulary
from vocadapt.vocabulary.growth.gains import ModelSize
from vocadapt.vocabulary.growth.growth import SEEDS, Growth, Reducer, measure_growth_over_seeds
from vocadapt.vocabulary.growth.retokenization import Mask
from vocadapt.vocabulary.overlap import length_of
from vocadapt.vocabulary.plan.reduction import REDUCTIONS, ReductionSettings, min_keep_fraction

FLOAT32 = 4  # bytes
STEPS = 8  # sizes on a curve
Curves = dict[str, dict[float, float]]  # heuristic → share kept → growth
AT_ONCE = 300_000  # characters of distinct words: the curves of such a text take about a second
NEAREST = 8
HELP = {
    "heuristic": (
        "Selects the order in which tokens are removed. cost is vocadapt's own; the"
        " others are published."
    ),
    "growth": (
        "Increase in the number of tokens: a word whose token is removed is split into"
        " shorter ones. Exact: every distinct word is tokenized again."
    ),
}


@st.fragment
def reduction(workspace: Workspace, corpus: Artifact, seen: Seen, reducer: Reducer) -> None:
    """The slider, what it does, the curves of all heuristics, and the tokens."""
    st.subheader("Reduce the vocabulary")
    settings = _ask(reducer.vocabulary)
    with mistakes.shown():
        with st.spinner("Ordering the tokens …"):
            gone = reducer.removed_mask(settings)
        grown = measure_growth_over_seeds(reducer, settings, SEEDS)
        _figures(seen, reducer, grown, gone)
        _pictures(reducer, settings, grown, gone)
        st.subheader("Removed and kept tokens")
        _tokens(workspace, corpus, seen, reducer, gone)


def details(corpus: Artifact, models: Sequence[Seen], reducer: Reducer) -> None:
    """Details & export: the same as commands, and every token as a table."""
    with open_details():
        st.markdown("The same in a terminal")
        first, root = models[0].name, str(corpus.folder.parent.parent)
        study = [
            "vocabulary",
            "study",
            "--model",
            first,
            "--corpus",
            str(corpus.folder),
            "--workspace",
            root,
        ]
        for command in (
            study,
            *(
                [["vocabulary", "compare", *(seen.name for seen in models)]]
                if len(models) > 1
                else []
            ),
        ):
            draw_command(shlex.join([*PROGRAM, *command]))
        st.markdown(
            "Fractions are of the whole vocabulary. A token's length is counted without ##."
            " Special tokens and those shorter than four characters are kept, and so is the"
            " only token that spells a character; of ties the higher id is removed first."
        )
        st.markdown(
            "\n".join(f"- *{name}*: {one.about} ({one.source})" for name, one in REDUCTIONS.items())
        )
        draw_downloads({"tokens.tsv": lambda: _tokens_file(reducer)})


def _ask(vocabulary: Vocabulary) -> ReductionSettings:
    """The heuristic and the share to keep, from what must stay upwards; both stand in the
    address.
    """
    left, right = st.columns([1, 1.6], gap="large")
    least = min(100, int(np.ceil(100 * min_keep_fraction(vocabulary))))
    heuristic = left.selectbox(
        "Heuristic",
        list(REDUCTIONS),
        key="vocabulary_heuristic",
        bind="query-params",
        help=HELP["heuristic"],
    )
    left.markdown(f":small[{REDUCTIONS[heuristic].about}]")
    if least == 100:
        right.markdown("No token can be removed: all are special or shorter than four characters.")
        return ReductionSettings(heuristic, 1.0)
    if st.session_state.get("vocabulary_keep", least) < least:  # it was set for another model
        st.session_state["vocabulary_keep"] = least
    keep = right.slider(
        "Keep (percent)",
        least,
        100,
        max(50, least),
        key="vocabulary_keep",
        bind="query-params",
    )
    draw_note(
        f"{least} % at least: special tokens and tokens shorter than four"
        " characters are always kept",
        right,
    )
    return ReductionSettings(heuristic, keep / 100)


def _figures(seen: Seen, reducer: Reducer, grown: Growth, gone: Mask) -> None:
    """Kept, dropped, growth, and what the model gets smaller by."""
    dropped, size = int(gone.sum()), measure_model(seen.model) if _has_rows(seen) else ModelSize()
    columns = st.columns(4)
    draw_metric(columns[0], "Tokens kept", count(grown.vocabulary), f"of {count(len(gone))}")
    columns[1].metric("Tokens removed", count(dropped))
    sd = f" ± {100 * grown.sd:.2f}" if grown.sd is not None else ""
    draw_metric(
        columns[2],
        "Text growth",
        f"{100 * grown.growth:.2f}{sd} %",
        f"{count(reducer.tokens)} → {count(grown.tokens)} wordpieces",
        help=HELP["growth"] + (f" Mean ± sd over {len(SEEDS)} seeds." if sd else ""),
    )
    if size.width is None:
        columns[3].metric("Parameters saved", "–", help="A bare vocabulary has no embeddings.")
    else:
        saved = dropped * size.width
        share = f" · {100 * saved / size.parameters:.2f} % of the model" if size.parameters else ""
        draw_metric(
            columns[3],
            "Parameters saved",
            count(saved),
            megabytes(saved * FLOAT32) + share,
            help="Parameters of the removed embeddings, size in float32; a tied output layer"
            " shares them.",
        )
    if grown.unknown:
        st.markdown(f":violet[{count(grown.unknown)} more words of the text become [UNK].]")


def _pictures(reducer: Reducer, settings: ReductionSettings, grown: Growth, gone: Mask) -> None:
    """Growth against size for all heuristics, and how often each token stands in the text against
    its id.
    """
    dots, curves = st.columns(2, gap="large")
    with curves:
        if _may_draw(reducer):
            st.markdown("**Text growth by heuristic and size.** Ring: the current setting.")
            curves_now = _through(_curves(reducer), settings.heuristic, grown)
            picture = figures.plot_vocabulary_growth(
                curves_now, (settings.heuristic, grown.keep, grown.growth)
            )
            draw_figure(picture, "curves")
    with dots:
        never = int((reducer.token_counts == 0).sum())
        st.markdown(
            f"**Token frequency by id.** One dot per token; {count(never)} tokens"
            " never occur and are not drawn."
        )
        panel = figures.Dots("", reducer.token_counts, gone)
        picture = figures.plot_against_id([panel], "occurrences of the token", logarithmic=True)
        draw_figure(picture, "frequency_by_id")


def _may_draw(reducer: Reducer) -> bool:
    """Whether the curves are drawn: at once for a small text, after a click for others."""
    asked = st.session_state.setdefault("curves_asked", set())
    if len(reducer.table.longest) <= AT_ONCE or id(reducer) in asked:
        return True
    with st.container(border=True):
        st.markdown("**Text growth by heuristic and size**, one line per heuristic.")
        if st.button("Draw curves (takes seconds)", key="curves_ask", icon=":material/show_chart:"):
            asked.add(id(reducer))
            st.rerun(scope="fragment")
    return False


def _curves(reducer: Reducer) -> Curves:
    """The growth curves of a reducer, drawn up once: the slider moves along them."""
    drawn_up: tuple[Reducer, Curves] | None = st.session_state.get("curves_of")
    if drawn_up is None or drawn_up[0] is not reducer:
        with st.spinner("Reducing the vocabulary to many sizes …"):
            drawn_up = st.session_state["curves_of"] = (reducer, _draw_up(reducer))
    return drawn_up[1]


def _through(curves: Curves, heuristic: str, grown: Growth) -> Curves:
    """The curves, that of the chosen heuristic through the very point the slider stands at."""
    through = dict(sorted({**curves[heuristic], grown.keep: grown.growth}.items(), reverse=True))
    return {**curves, heuristic: through}


def _draw_up(reducer: Reducer) -> Curves:
    """Growth of every heuristic from the whole vocabulary down to what must stay."""
    shares = np.linspace(
        1.0, min(1.0, np.ceil(1000 * min_keep_fraction(reducer.vocabulary)) / 1000), STEPS + 1
    )
    return {
        name: {
            float(keep): (
                measure_growth_over_seeds(
                    reducer, ReductionSettings(name, float(keep)), SEEDS
                ).growth
            )
            for keep in shares
        }
        for name in REDUCTIONS
    }


def _tokens(
    workspace: Workspace, corpus: Artifact, seen: Seen, reducer: Reducer, gone: Mask
) -> None:
    """Every token with what becomes of it; the one selected is shown closer."""
    vocabulary = reducer.vocabulary
    order = np.lexsort(
        (-reducer.token_counts, ~gone)
    )  # what goes first, of that what the text has most often
    table, closer = st.columns([1.2, 1], gap="large")
    with table:
        st.markdown(
            "Select a token to see its tokenization without itself, its neighbors and its"
            " occurrences."
        )
        event = draw_table(
            {
                "token": [vocabulary.tokens[i] for i in order],
                "": np.where(gone[order], "goes", "stays"),
                "length": (
                    reducer.lengths[order].astype(np.int16)
                ),  # all of it travels to the browser at each move of the slider
                "id": order.astype(np.int32),
                "occurrences": reducer.token_counts[order],
            },
            height=420,
            key=f"tokens_{gone.sum()}",
            on_select="rerun",
            selection_mode="single-row",
            column_config={"token": st.column_config.TextColumn()},
        )
        rows = [row for row in event["selection"]["rows"] if row < len(vocabulary)]
    with closer:
        if rows:
            _token(workspace, corpus, seen, reducer, gone, int(order[rows[0]]))
        else:
            st.markdown(
                ":gray[No token is selected: tick one on the left. Click a column name to sort.]"
            )


def _token(
    workspace: Workspace, corpus: Artifact, seen: Seen, reducer: Reducer, gone: Mask, i: int
) -> None:
    """One token: its tokens once it is removed, its count, its neighbors, its lines."""
    vocabulary = reducer.vocabulary
    token = vocabulary.tokens[i]
    others = {vocabulary.tokens[k] for k in np.flatnonzero(gone).tolist() if k != i}
    pieces = (
        ()
        if token in vocabulary.special
        else vocabulary.without(others).tokenize_token(token, without=True)
    )
    pieces = () if pieces == (vocabulary.unknown,) else pieces
    state = f"id {count(i)} · {count(int(reducer.token_counts[i]))} times in the text"
    note = f"{state} · tokenized without it" if pieces else state
    markup.tokenization_lines(
        [
            TokenizationLine(
                token,
                note,
                [Chip(piece, goes_on=k > 0) for k, piece in enumerate(pieces or [token])],
            )
        ]
    )
    if _has_rows(seen):
        with mistakes.shown():
            space = seen.model.space
            found = find_nearest(space.matrix[[i]], space, NEAREST, leave_out=np.array([i]))
            rows = [
                (space.words[row], float(score))
                for row, score in zip(found.rows[0], found.scores[0], strict=True)
            ]
            markup.neighbor_cards(
                [
                    Card(
                        "Nearest wordpieces",
                        f"cosine, {NEAREST} of {count(len(space))}",
                        "source",
                        rows,
                    )
                ]
            )
    if token not in vocabulary.special:
        try:
            keyword_in_context.in_context(
                token, read_corpus([corpus.folder]), seen.name, workspace, key="token_context"
            )
        except InputError as error:
            st.text(mistakes.named(error.problem))


def _has_rows(seen: Seen) -> bool:
    """Whether there is a model behind a vocabulary: none behind a bare one, nor behind the
    tokenizer kept in base/.
    """
    return (seen.model.path / "config.json").is_file()


def _tokens_file(reducer: Reducer) -> str:
    vocabulary, counts = reducer.vocabulary, reducer.token_counts
    rows: list[tuple[object, ...]] = [
        (i, token, length_of(token, vocabulary), int(counts[i]))
        for i, token in enumerate(vocabulary.tokens)
    ]
    return export.tsv(("id", "token", "length", "occurrences"), rows)
