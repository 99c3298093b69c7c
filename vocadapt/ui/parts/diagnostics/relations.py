"""Blocks of the part Diagnostics: lexical relations in each space, from the bundled lists or the
user's file.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import streamlit as st

from vocadapt.analysis.figures import diagnostics as figures
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.diagnostics.relations import (
    RelationScore,
    compute_pair_cosines,
)
from vocadapt.spaces.diagnostics.word_lists import Relation, RelationList
from vocadapt.ui.components import intake, mistakes
from vocadapt.ui.components.blocks import Download, draw_figure, draw_note, draw_table, tsv
from vocadapt.ui.parts.diagnostics import cached
from vocadapt.ui.parts.diagnostics.cached import SelectedSpace, shorten_labels
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count, fraction

BUNDLED, OWN = "Bundled lists", "Your file"
TYPES = ("txt", "tsv", "csv")
FILE_FORMATS = (
    "Two words per line, optionally followed by a score or the name of their relation; or"
    " analogy questions; or verb forms below a header that begins with `lemma`. Separated by"
    " tabs, semicolons, commas or spaces."
)
Score = tuple[RelationList, Relation, SelectedSpace, RelationScore]


def draw_relations(workspace: Workspace, spaces: Sequence[SelectedSpace]) -> Path | None:
    """Draw the picker of word pairs and their cosines in each space; return the user's file, None
    for the bundled lists.
    """
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
    arguments: list[str] = []
    if models:
        arguments += ["--model", *models]
    if vectors:
        arguments += ["--vectors", *vectors]
    if file:
        arguments += ["--pairs", str(file)]
    return tuple(arguments)


def build_downloads(spaces: Sequence[SelectedSpace], file: Path | None) -> dict[str, Download]:
    """Return the downloads: the scores of the relations, and the cosine of each pair."""
    return {
        "relations.tsv": lambda: _format_scores(spaces, file),
        "pairs.tsv": lambda: _format_pairs(spaces, file),
    }


def _draw_scores(spaces: Sequence[SelectedSpace], file: Path | None) -> None:
    """Draw the chart and the table of the relations of all lists in each space."""
    lists = cached.load_lists(file)
    found = list(_iterate_scores(spaces, lists, file))
    # 1. The marks of each space in the chart, in the order of the relations.
    named = [(one, relation) for one in lists for relation in one.relations]
    names = dict(zip(spaces, shorten_labels([selected.label for selected in spaces]), strict=True))
    marks = [
        _marks(
            selected, names[selected], [score for *_, other, score in found if other is selected]
        )
        for selected in spaces
    ]
    # 2. The chart, and below it the table of the scores: side by side one of them is too narrow.
    drawn = figures.plot_relations([relation.name for _, relation in named], marks)
    draw_figure(drawn, "relations", describe_scores(found, names))
    draw_note(describe_scores(found, names))
    draw_table(
        {
            "relation": [relation.name for _, relation, _, _ in found],
            "space": [names[selected] for _, _, selected, _ in found],
            "corrected": [score.corrected for *_, score in found],
            "z": [score.z for *_, score in found],
            "p": [score.p for *_, score in found],
            "pairs": [f"{count(score.usable)} of {count(score.of)}" for *_, score in found],
        },
        height=min(420, 38 + 35 * len(found)),
        key="relation_table",
        column_config=COLUMNS,
        placeholder="–",
    )
    draw_note(
        "corrected: mean cosine of the pairs minus the space's own · z and p: relative to 200 random"
        " pairings of the same words · a pair is used if the space has both words as single tokens;"
        " the missing words are in relations.tsv below"
    )
    _draw_similarity(names, lists, file)


def describe_scores(found: Sequence[Score], names: Mapping[SelectedSpace, str]) -> str:
    """Return the scores in words: the most similar relation of each space."""
    parts = []
    for selected, name in names.items():
        scored = [
            (score.corrected, relation.name)
            for _, relation, other, score in found
            if other is selected and score.corrected is not None
        ]
        if scored:
            best, relation_name = max(scored)
            parts.append(
                f"{plain(name)}: the most similar pairs are those of {plain(relation_name)},"
                f" {fraction(best)} above the mean cosine of the space"
            )
    if not parts:
        return "No pair of words is in any of the spaces."
    return f"{'; '.join(parts)}."


def _iterate_scores(
    spaces: Sequence[SelectedSpace], lists: Sequence[RelationList], file: Path | None
) -> Iterator[Score]:
    scored = [cached.compute_scores(selected, file) for selected in spaces]
    for i, one in enumerate(lists):
        for j, relation in enumerate(one.relations):
            for selected, score in zip(spaces, scored, strict=True):
                yield one, relation, selected, score[i].relations[j]


def _marks(
    selected: SelectedSpace, name: str, scores: Sequence[RelationScore]
) -> figures.RelationMarks:
    own = cached.get_mean_cosine(selected) or 0.0
    random = [None if score.null_mean is None else score.null_mean - own for score in scores]
    corrected, sd = [score.corrected for score in scores], [score.sd for score in scores]
    return figures.RelationMarks(name, selected.color, corrected, sd, random)


def _draw_similarity(
    names: Mapping[SelectedSpace, str], lists: Sequence[RelationList], file: Path | None
) -> None:
    """Draw Spearman's correlation of cosine and human score, if the pairs have human scores."""
    rows = []
    for place, one in enumerate(lists):
        for selected, name in names.items():
            score = cached.compute_scores(selected, file)[place].similarity
            if score:
                pairs = f"{count(score.covered)} of {count(score.of)}"
                rows.append((one.name, name, score.spearman, pairs))
    if not rows:
        return
    st.markdown(
        "**Agreement with human judgment**: Spearman's correlation of cosine and human score"
    )
    columns = zip(("list", "space", "Spearman", "pairs"), zip(*rows, strict=True), strict=True)
    draw_table(dict(columns), key="similarity_table", column_config=COLUMNS, placeholder="–")


def _format_scores(spaces: Sequence[SelectedSpace], file: Path | None) -> str:
    rows: list[dict[str, object]] = [
        {
            "list": one.name,
            "relation": relation.name,
            "space": selected.label,
            "corrected": score.corrected,
            "sd": score.sd,
            "cosine": score.mean,
            "null_mean": score.null_mean,
            "null_sd": score.null_sd,
            "z": score.z,
            "p": score.p,
            "usable": score.usable,
            "of": score.of,
            "lacking": " ".join(score.lacking),
        }
        for one, relation, selected, score in _iterate_scores(spaces, cached.load_lists(file), file)
    ]
    return tsv(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _format_pairs(spaces: Sequence[SelectedSpace], file: Path | None) -> str:
    relations = [relation for one in cached.load_lists(file) for relation in one.relations]
    rows: list[tuple[object, ...]] = []
    for selected in spaces:
        space, splitter, mean = (
            selected.opened.space,
            selected.opened.splitter,
            cached.get_mean_cosine(selected),
        )
        for relation in relations:
            for pair in compute_pair_cosines(space, relation, splitter, mean):
                words = (relation.name, pair.first, pair.second)
                rows.append((*words, selected.label, pair.cosine, pair.corrected))
    return tsv(("relation", "first", "second", "space", "cosine", "corrected"), rows)


FRACTIONS = ("corrected", "sd", "cosine", "random", "Spearman", "p")
COLUMNS = {
    **{
        name: st.column_config.TextColumn()
        for name in ("relation", "space", "pairs", "missing", "list")
    },
    **{name: st.column_config.NumberColumn(format="%.3f") for name in FRACTIONS},
    "z": st.column_config.NumberColumn(format="%.1f"),
}
