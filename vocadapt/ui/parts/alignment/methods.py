"""Alignment methods of the page Alignment, by the digests of their settings, and their saved
evaluations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.lab.inputs.alignments import load_table
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.cross_validation import (
    find_infeasible_methods,
    list_alignment_settings,
)
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings, rank_method
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.text.markup import Scores

# "all": candidates are all wordpieces, not only those of the anchors
COLUMNS = ("cosine", "P@1", "P@5", "P@10", "P@5 · CSLS", "P@5 · all")
FOLDS = AlignmentStep().folds
BARS = ("P@5", "P@5 · CSLS")


@dataclass(frozen=True)
class MethodScores:
    """Held-out scores of an alignment method, whether it is the best of its table, and its
    comparison with Poerner et al. 2020.
    """

    settings: AlignmentSettings
    anchors: int
    held_out: Mapping[str, Any]
    best: bool = False
    against: Mapping[str, Any] | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """The scores of the table's columns."""
        scores = self.held_out
        return (
            scores["cosine"],
            scores["p@1"],
            scores["p@5"],
            scores["p@10"],
            scores["csls"]["p@5"],
            scores["all_pieces"]["p@5"],
        )

    @property
    def basis(self) -> tuple[AnchorFilter, int, int]:
        """Anchors and folds of the evaluation; methods are compared only if these are equal."""
        return self.settings.anchors, self.anchors, self.held_out["folds"]

    @property
    def at_chance(self) -> bool:
        """Whether the alignment is no better than chance."""
        return bool(self.held_out["verdict"] == "chance")


def list_methods(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    anchors: int,
    evaluated: Mapping[str, MethodScores],
) -> dict[str, AlignmentSettings]:
    """Return all methods that the number of anchors allows, by digest, the default first, then those
    that were evaluated.
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


def list_evaluated_methods(alignments: list[Artifact]) -> dict[str, MethodScores]:
    """Return the held-out scores by digest: from the newest comparison of all methods if it has the
    method, else from the newest evaluation of the method.
    """
    # A comparison takes precedence over single evaluations: its scores share their folds.
    evaluations = [load_table(found) for found in alignments]
    evaluations.sort(key=lambda lines: len(lines) == 1)  # comparisons first
    rows: dict[str, MethodScores] = {}
    for lines in evaluations:
        first = build_settings(AlignmentSettings, lines[0]["settings"])
        for line in lines:
            settings = build_settings(AlignmentSettings, line["settings"])
            best = len(lines) > 1 and line["best"]
            against = line["against_first"]
            if first != AlignmentSettings():  # not compared with the default method
                against = None
            row = MethodScores(settings, line["anchors"], line["held_out"], best, against)
            rows.setdefault(settings.digest, row)
    return rows


def find_detailed(alignments: list[Artifact], settings: AlignmentSettings) -> Artifact | None:
    """Return the newest saved alignment with these settings; None if there is none."""
    for found in alignments:
        saved = load_table(found)[0]["settings"]
        if build_settings(AlignmentSettings, saved) == settings:
            return found
    return None


def is_slow(settings: AlignmentSettings) -> bool:
    """Return whether fitting takes too long for a page."""
    method = METHODS[settings.method]
    return method.kernel or method.iterative


def find_best(rows: Mapping[str, MethodScores]) -> str | None:
    """Return the digest of the best method of the newest comparison; None if there is none."""
    return next((digest for digest, row in rows.items() if row.best), None)


def choose_default(
    offered: Mapping[str, AlignmentSettings],
    evaluated: Mapping[str, MethodScores],
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
    first = next(iter(offered))
    return max(
        ready,
        key=lambda digest: rank_method(
            offered[digest].method, evaluated[digest].held_out["csls"]["p@5"]
        ),
        default=first,
    )


def select_comparable(rows: Mapping[str, MethodScores]) -> dict[str, MethodScores]:
    """Return the methods that were evaluated on the same anchors and folds as the best method of the
    newest comparison, else as the default method.
    """
    leader = rows.get(
        find_best(rows) or AlignmentSettings().digest, next(iter(rows.values()), None)
    )
    return {digest: row for digest, row in rows.items() if leader and row.basis == leader.basis}


def build_scores(rows: Mapping[str, MethodScores], chosen: str) -> list[Scores]:
    """Return the table rows of all methods, highest P@5 with CSLS first."""
    ordered = sorted(rows, key=lambda digest: -rows[digest].held_out["csls"]["p@5"])
    return [
        Scores(describe_method(rows[digest].settings), rows[digest].values, digest == chosen)
        for digest in ordered
    ]
