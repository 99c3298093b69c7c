"""Alignment methods of the page Alignment, by the digests of their settings, and their saved
evaluations.
"""

from collections.abc import Mapping
from dataclasses import replace

from vocadapt.lab.inputs.alignments import load_table
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.report.table import Table
from vocadapt.spaces.alignment import evaluation
from vocadapt.spaces.alignment.cross_validation import (
    find_infeasible_methods,
    list_alignment_settings,
)
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.evaluation import EvaluatedAlignment
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings, rank_method
from vocadapt.spaces.space import EmbeddingSpace

NAMES = (
    "title",
    "held_out.cosine",
    "held_out.p1",
    "held_out.p5",
    "held_out.p10",
    "held_out.csls.p5",
    "held_out.all_pieces.p5",
)
SHOWN = tuple(column for column in evaluation.COLUMNS if column.name in NAMES)
FOLDS = AlignmentStep().folds


def list_methods(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    anchors: int,
    evaluated: Mapping[str, EvaluatedAlignment],
) -> dict[str, AlignmentSettings]:
    """Return all methods that the number of anchors allows, by digest, the default first, then
    those that were evaluated.
    """
    infeasible = find_infeasible_methods(source, target, anchors)
    known = {
        settings.digest: settings
        for settings in list_alignment_settings(source, target)
        if settings.method not in infeasible
    }
    return known | {digest: row.settings for digest, row in evaluated.items()}


def label_methods(offered: Mapping[str, AlignmentSettings]) -> dict[str, str]:
    """Return the display names of methods by digest."""
    return {digest: describe_method(settings) for digest, settings in offered.items()}


def list_evaluated_methods(alignments: list[Artifact]) -> dict[str, EvaluatedAlignment]:
    """Return the held-out scores by digest: from the newest comparison of all methods if it has the
    method, else from the newest evaluation of the method.
    """
    # A comparison takes precedence over single evaluations: its scores share their folds.
    evaluations = [load_table(found.folder) for found in alignments]
    evaluations.sort(key=lambda lines: len(lines) == 1)  # comparisons first
    rows: dict[str, EvaluatedAlignment] = {}
    for lines in evaluations:
        for line in lines:
            against = line.against_first
            if lines[0].settings != AlignmentSettings():  # not compared with the default method
                against = None
            best = len(lines) > 1 and line.best
            row = replace(line, best=best, against_first=against)
            rows.setdefault(line.settings.digest, row)
    return rows


def find_detailed(alignments: list[Artifact], settings: AlignmentSettings) -> Artifact | None:
    """Return the newest saved alignment with these settings; None if there is none."""
    same = (found for found in alignments if load_table(found.folder)[0].settings == settings)
    return next(same, None)


def is_slow(settings: AlignmentSettings) -> bool:
    """Return whether fitting takes too long for a page."""
    method = METHODS[settings.method]
    return method.kernel or method.iterative


def find_best(rows: Mapping[str, EvaluatedAlignment]) -> str | None:
    """Return the digest of the best method of the newest comparison; None if there is none."""
    return next((digest for digest, row in rows.items() if row.best), None)


def choose_default(
    offered: Mapping[str, AlignmentSettings],
    evaluated: Mapping[str, EvaluatedAlignment],
    alignments: list[Artifact],
) -> str:
    """Return the digest of the evaluated method with the highest P@5 by CSLS, or else the first.

    A method that is slow to fit and not saved does not count: its lists could not be shown. Methods
    are compared only if they were evaluated on the same anchors.
    """
    ready = [
        digest
        for digest in select_comparable(evaluated)
        if digest in offered
        and (not is_slow(offered[digest]) or find_detailed(alignments, offered[digest]))
    ]
    return max(
        ready,
        key=lambda digest: rank_method(offered[digest].method, evaluated[digest].held_out.csls.p5),
        default=next(iter(offered)),
    )


def select_comparable(rows: Mapping[str, EvaluatedAlignment]) -> dict[str, EvaluatedAlignment]:
    """Return the methods that were evaluated on the same anchors and folds as the best method of
    the newest comparison, else as the default method.
    """
    leader = rows.get(
        find_best(rows) or AlignmentSettings().digest, next(iter(rows.values()), None)
    )
    return {digest: row for digest, row in rows.items() if leader and row.basis == leader.basis}


def build_table(rows: Mapping[str, EvaluatedAlignment]) -> Table:
    """Return the scores of methods, highest P@5 with CSLS first."""
    return Table("", SHOWN, sorted(rows.values(), key=lambda row: -row.held_out.csls.p5))
