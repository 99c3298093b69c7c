"""Blocks of the part Diagnostics: lexical relations in each space, from the bundled lists or the
user's file.
"""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import diagnostics as figures
from vocadapt.lab.reports.diagnostics import (
    PAIR_COSINES,
    ListScores,
    PairRow,
    RelationRow,
    build_relation_tables,
    join_scores,
    list_pair_cosines,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.table import Table
from vocadapt.ui.components import intake, mistakes
from vocadapt.ui.components.blocks import Download, draw_figure, draw_note
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.parts.diagnostics import cached
from vocadapt.ui.parts.diagnostics.cached import SelectedSpace
from vocadapt.ui.text.markup import format_sentence, plain

BUNDLED, OWN = "Bundled lists", "Your file"
TYPES = ("txt", "tsv", "csv")
FILE_FORMATS = (
    "Two words per line, optionally followed by a score or the name of their relation; or"
    " analogy questions; or verb forms below a header that begins with `lemma`. Separated by"
    " tabs, semicolons, commas or spaces."
)


def draw_relations(workspace: Workspace, spaces: Sequence[SelectedSpace]) -> Path | None:
    """Draw the picker of word pairs and their cosines; return the file, None for bundled lists."""
    st.markdown(
        "Compares the cosine of related words with the mean cosine of the space. Gray: the"
        " same words, randomly paired."
    )
    source = st.segmented_control(
        "Word pairs",
        [BUNDLED, OWN],
        default=BUNDLED,
        key="diagnostics_pairs",
        bind="query-params",
        label_visibility="collapsed",
        required=True,
    )
    file = None
    with mistakes.show_errors():
        if source == OWN:
            st.markdown(f":small[{FILE_FORMATS}]")
            files = intake.choose_files(workspace, "pair_file", TYPES, several=False)
            if not files:
                return None
            file = files[0]
        _draw_scores(spaces, file)
    return file


def build_arguments(spaces: Sequence[SelectedSpace], file: Path | None) -> tuple[str, ...]:
    """Build the arguments of the command `relations` for these spaces and pairs."""
    models = [selected.name for selected in spaces if selected.opened.model]
    vectors = [selected.name for selected in spaces if not selected.opened.model]
    pairs = [str(file)] if file else []
    arguments: list[str] = []
    for option, values in (("--model", models), ("--vectors", vectors), ("--pairs", pairs)):
        if values:
            arguments += [option, *values]
    return tuple(arguments)


def build_downloads(spaces: Sequence[SelectedSpace], file: Path | None) -> dict[str, Download]:
    """Return the downloads: the scores of the relations, and the cosine of each pair."""
    return {
        "relations.csv": lambda: write_csv(build_relation_tables(_score_lists(spaces, file))[:1]),
        "pairs.csv": lambda: write_csv([Table("Pairs", PAIR_COSINES, _list_pairs(spaces, file))]),
    }


def _draw_scores(spaces: Sequence[SelectedSpace], file: Path | None) -> None:
    """Draw the chart and the tables of the relations of all lists in each space."""
    lists = cached.load_lists(file)
    found = _score_lists(spaces, file)
    # 1. The marks of each space in the chart, in the order of the relations.
    marks = [
        _build_marks(selected, [row for row in found.relations if row.space == selected.label])
        for selected in spaces
    ]
    relations = [relation.name for one in lists for relation in one.relations]
    # 2. The chart, and below it the tables: side by side one of them is too narrow.
    shown = " ".join(map(str, found.findings))
    draw_figure(figures.plot_relations(relations, marks), "relations", plain(shown))
    draw_note(format_sentence(shown))
    for table in build_relation_tables(found):
        st.markdown(f"**{table.title}**")
        draw_report(table, table.title, height=min(420, 38 + 35 * len(table.rows)))


def _score_lists(spaces: Sequence[SelectedSpace], file: Path | None) -> ListScores:
    return join_scores([cached.compute_scores(selected, file) for selected in spaces])


def _build_marks(selected: SelectedSpace, rows: Sequence[RelationRow]) -> figures.RelationMarks:
    own = cached.compute_diagnosis(selected).mean_cosine or 0.0
    random = [None if row.null_mean is None else row.null_mean - own for row in rows]
    corrected = [row.corrected for row in rows]
    sd = [row.sd for row in rows]
    return figures.RelationMarks(selected.label, selected.color, corrected, sd, random)


def _list_pairs(spaces: Sequence[SelectedSpace], file: Path | None) -> list[PairRow]:
    lists = cached.load_lists(file)
    rows = list[PairRow]()
    for selected in spaces:
        mean = cached.compute_diagnosis(selected).mean_cosine
        rows += list_pair_cosines(selected.opened, lists, mean, selected.label)
    return rows
