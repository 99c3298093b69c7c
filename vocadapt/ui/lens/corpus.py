"""Parts of the tokenizer lens page: tokenizations of a whole text of the workspace, from the counts
that it keeps.
"""

from collections.abc import Sequence

import streamlit as st

from vocadapt.analysis.figures import figures
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.text.spreadsheet import format_csv
from vocadapt.ui.components import markup, pickers
from vocadapt.ui.components.blocks import draw_figure, draw_note, draw_table
from vocadapt.ui.components.estimates import format_estimate
from vocadapt.ui.components.markup import plain
from vocadapt.ui.components.number_formats import count, fraction, signed
from vocadapt.ui.frame import count_cache, mistakes
from vocadapt.ui.jobs import panel
from vocadapt.ui.lens.view import Seen, tokenization_line
from vocadapt.vocabulary.lens import Change, TokenizationFigures

STARTING = 2.0  # seconds until a job works
BYTES_A_SECOND = 5e6  # of text that is counted, as it lies on the disk, packed or not
SHOWN = 500  # rows of the table of changed words


def on_a_corpus(workspace: Workspace, models: Sequence[Seen]) -> None:
    """The same figures on a whole text of the workspace, from the counts that it keeps, and the
    words that changed most.
    """
    head, picker = st.columns([2, 1], vertical_alignment="bottom")
    head.subheader("On a corpus")
    corpora = workspace.artifacts("corpora")
    if not corpora:
        pickers.nothing_yet(
            "There is no text in this workspace yet.",
            "Import one to see how often each model splits its words.",
            "pages/words/vectors.py",
            "Import a text",
        )
        return
    with picker:
        corpus = pickers.pick("Text", corpora, "lens_corpus")
    with mistakes.shown():
        rows = {
            seen.name: count_cache.figures_of(corpus, seen.cutter, seen.name, workspace.root)
            for seen in models
        }
        counted = [row for row in rows.values() if row]
        if counted:
            _table(counted)
            shares = {row.model: row.shares() for row in counted}
            draw_figure(figures.plot_wordpieces_per_word(shares), "pieces")
        not_counted(workspace, corpus, [seen for seen in models if not rows[seen.name]])
        if len(counted) > 1:
            changed_words(workspace, corpus, [seen for seen in models if rows[seen.name]])


@st.fragment
def changed_words(workspace: Workspace, corpus: Artifact, models: Sequence[Seen]) -> None:
    """The words that another model tokenizes differently from the first; the one selected is shown in
    every model's tokenization.
    """
    others = {seen.label: seen for seen in models[1:]}
    st.subheader("Most changed words")
    label = next(iter(others))
    if len(others) > 1:
        label = str(
            st.selectbox(f"Compared with {plain(models[0].label)}", list(others), key="lens_other")
        )
    first, other = models[0], others[label]
    changed = (
        count_cache.changes_of(
            corpus, first.cutter, other.cutter, (first.name, other.name), workspace.root
        )
        or []
    )
    if not changed:
        st.markdown(
            f"**{plain(other.label)}** tokenizes every word of this text as"
            f" **{plain(first.label)}** does."
        )
        return
    shown = changed[:SHOWN]
    said = f"{count(len(shown))} of {count(len(changed))} words" + (
        " (all in the CSV)" if len(shown) < len(changed) else ""
    )
    st.markdown(
        f"{said} that **{plain(other.label)}** tokenizes differently from"
        f" **{plain(first.label)}**, ordered by the wordpieces saved in the whole text. Select"
        " a word to see its tokenizations."
    )
    table, chips = st.columns([1.25, 1], gap="large")
    with table:
        rows = selected_rows(shown)
    with chips:
        word = shown[rows[0] if rows else 0].word
        markup.tokenization_lines([tokenization_line(seen, first, word) for seen in models])
    st.download_button(
        "changed-words.csv",
        lambda: changed_csv(changed),
        "changed-words.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
        key="get_changed",
    )


def selected_rows(changed: Sequence[Change]) -> list[int]:
    """Draw changed words as a table, and give the rows that are selected in it."""
    event = draw_table(
        {
            "word": [change.word for change in changed],
            "occurrences": [change.count for change in changed],
            "before": [" ".join(change.before) for change in changed],
            "after": [" ".join(change.after) for change in changed],
            "pieces saved": [change.saved for change in changed],
        },
        height=330,
        key="changed",
        on_select="rerun",
        selection_mode="single-row",
        column_config={name: st.column_config.TextColumn() for name in ("word", "before", "after")},
    )
    return [row for row in event["selection"]["rows"] if row < len(changed)]


def changed_csv(changed: Sequence[Change]) -> str:
    """Every changed word with its count, its two tokenizations and the tokens saved, as a CSV file."""
    lines = [(c.word, c.count, " ".join(c.before), " ".join(c.after), c.saved) for c in changed]
    return format_csv([("word", "count", "before", "after", "saved"), *lines])


def _table(rows: Sequence[TokenizationFigures]) -> None:
    """The figures of a whole text, one line a model."""
    first = rows[0]
    draw_table(
        {
            "model": [row.model for row in rows],
            "pieces per word": [round(row.fertility, 3) for row in rows],
            "to the first": [
                signed(row.fertility - first.fertility) if row is not first else "" for row in rows
            ],
            "per distinct word": [round(row.fertility_distinct, 3) for row in rows],
            "one piece": [row.one_piece for row in rows],
            "[UNK]": [fraction(row.unknown) for row in rows],
        },
        key="fertility",
        column_config={
            "model": st.column_config.TextColumn(),
            **{
                name: st.column_config.NumberColumn(format="%.3f")
                for name in ("pieces per word", "per distinct word")
            },
            "one piece": st.column_config.ProgressColumn(
                format="%.3f", min_value=0, max_value=1, width="small"
            ),
            "[UNK]": st.column_config.TextColumn(width="small"),
        },
    )
    sizes = dict.fromkeys(
        f"{count(row.words)} words, {count(row.distinct)} of them distinct" for row in rows
    )
    draw_note(" · ".join(sizes))  # two sizes where some models keep capital letters apart


def not_counted(workspace: Workspace, corpus: Artifact, models: Sequence[Seen]) -> None:
    """Say which models wait for a count of the text in their own words, and offer to count."""
    if not models:
        return
    seconds = STARTING + float(corpus.manifest.numbers.get("bytes", 0)) / BYTES_A_SECOND
    names = ", ".join(plain(seen.label) for seen in models)
    st.markdown(
        f"This text has no word counts for **{names}** yet (different casing). Counting takes"
        f" about {format_estimate(seconds)}."
    )
    if st.button(
        f"Count words for {plain(models[0].label)}",
        icon=":material/calculate:",
        key="lens_count",
    ):
        inputs = {"text": (str(corpus.folder),), "model": (models[0].name,)}
        panel.start(
            workspace,
            Spec("corpus", CorpusStep(), inputs),
            workspace.free_name("corpora", corpus.name),
        )
