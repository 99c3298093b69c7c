"""The maps that the alignment page offers, their names, and what is known of each from the
artifacts of the workspace.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vocadapt.lab.steps.spec import AlignmentStep
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.recipe import settings_from
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.comparison import find_infeasible_methods, list_alignments
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.spaces.neighbors.cross_space import CrossSpace
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.components.markup import Scores
from vocadapt.ui.frame.cache import judged_of

COLUMNS = (
    "cosine",
    "P@1",
    "P@5",
    "P@10",
    "P@5 · CSLS",
    "P@5 · all",
)  # all: among all wordpieces, not only the anchors'
FOLDS = AlignmentStep().folds
SECONDS = 3.4e-11  # for one product of two numbers
BARS = ("P@5", "P@5 · CSLS")


@dataclass(frozen=True)
class Row:
    """What held-out words say of one map, whether it was the best of a table, and how it compares
    with the paper's.
    """

    settings: AlignmentSettings
    anchors: int
    held_out: Mapping[str, Any]
    best: bool = False
    against: Mapping[str, Any] | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """The scores of the table's columns."""
        held = self.held_out
        return (
            held["cosine"],
            held["p@1"],
            held["p@5"],
            held["p@10"],
            held["csls"]["p@5"],
            held["all_pieces"]["p@5"],
        )

    @property
    def basis(self) -> tuple[AnchorFilter, int, int]:
        """What it was judged on: only maps of one basis are compared in one table."""
        return self.settings.anchors, self.anchors, self.held_out["folds"]

    @property
    def at_chance(self) -> bool:
        """Whether the map finds no more than luck would."""
        return bool(self.held_out["verdict"] == "chance")


def label(settings: AlignmentSettings) -> str:
    """A map's name for people: its method and all that differs from the defaults."""
    anchors = settings.anchors
    named = {
        "unit rows": settings.unit,
        "centered": settings.center,
        f"ridge {settings.ridge:g}": settings.ridge,
        f"{settings.weights} weights": settings.weights != "none",
        "no single characters": anchors.single_characters,
        "no digits": anchors.digits,
        "no continuation pieces": anchors.continuation,
        f"anchors from {anchors.min_count} occurrences": anchors.min_count,
        f"seed {settings.seed}": settings.seed != AlignmentSettings().seed,
    }
    extras = [name for name, differs in named.items() if differs]
    return " · ".join([settings.method.replace("-", " ").capitalize(), *extras])


def offered(
    source: EmbeddingSpace, target: EmbeddingSpace, anchors: int, judged: Mapping[str, Row]
) -> dict[str, AlignmentSettings]:
    """Every map that so many anchors can carry, by its name: the paper's first, those of the
    catalog, what else was judged.
    """
    cannot = find_infeasible_methods(source, target, anchors)
    known = {
        label(settings): settings
        for settings in list_alignments(source, target)
        if settings.method not in cannot
    }
    return known | {name: row.settings for name, row in judged.items() if name not in known}


def alignments_of(workspace: Workspace, vectors: Artifact, model: LanguageModel) -> list[Artifact]:
    """The alignments that follow from these vectors, as they are now, and this model; newest
    first.
    """
    return [
        found
        for found in workspace.artifacts("alignments")
        if _fits(found, workspace, vectors, model)
    ]


def judged_maps(alignments: list[Artifact]) -> dict[str, Row]:
    """The held-out result of every map, by the map's name: of the newest table of all maps, else
    its newest own.
    """
    rows: dict[str, Row] = {}
    for lines in sorted(
        (judged_of(found).maps for found in alignments), key=lambda lines: len(lines) == 1
    ):
        to_paper = settings_from(AlignmentSettings, lines[0]["settings"]) == AlignmentSettings()
        for line in lines:
            settings = settings_from(AlignmentSettings, line["settings"])
            best, against = (
                len(lines) > 1 and line["best"],
                (line["against_first"] if to_paper else None),
            )
            rows.setdefault(
                label(settings), Row(settings, line["anchors"], line["held_out"], best, against)
            )
    return rows


def detailed(alignments: list[Artifact], settings: AlignmentSettings) -> Artifact | None:
    """The newest alignment whose kept map has these settings: the one that knows every anchor."""
    kept = (
        found for found in alignments if judged_of(found).maps[0]["settings"] == asdict(settings)
    )
    return next(kept, None)


def slow(settings: AlignmentSettings) -> bool:
    """Whether fitting this map takes too long for a page that someone waits for."""
    return METHODS[settings.method].kernel


def to_judge(spaces: CrossSpace, folds: int = FOLDS) -> list[AlignmentSettings]:
    """The maps that can be judged on the anchors there are, the paper's first."""
    cannot = find_infeasible_methods(spaces.words, spaces.pieces, spaces.alignment.anchors, folds)
    return [
        settings
        for settings in list_alignments(spaces.words, spaces.pieces)
        if settings.method not in cannot
    ]


def judging_seconds(spaces: CrossSpace, folds: int = FOLDS) -> float:
    """About how long judging every map takes: each fold compares all anchors with all wordpieces
    (two cores, 2.5 GHz).
    """
    maps = len(to_judge(spaces, folds))
    return (
        SECONDS * maps * folds * spaces.alignment.anchors * len(spaces.pieces) * spaces.pieces.dim
    )


def best(rows: Mapping[str, Row]) -> str | None:
    """The name of the map that was best in the newest table of all; None before there is one."""
    return next((name for name, row in rows.items() if row.best), None)


def comparable(rows: Mapping[str, Row]) -> dict[str, Row]:
    """The rows of one set of anchors and number of folds: those of the newest table of all, else of
    the paper's map.
    """
    leader = rows.get(best(rows) or label(AlignmentSettings()), next(iter(rows.values()), None))
    return {name: row for name, row in rows.items() if leader and row.basis == leader.basis}


def table(rows: Mapping[str, Row], chosen: str) -> list[Scores]:
    """The lines of the table of all maps, the highest P@5 by CSLS first."""
    ordered = sorted(rows, key=lambda name: -rows[name].held_out["csls"]["p@5"])
    return [Scores(name, rows[name].values, name == chosen) for name in ordered]


def _fits(found: Artifact, workspace: Workspace, vectors: Artifact, model: LanguageModel) -> bool:
    inputs = found.manifest.inputs
    same_model = (workspace.root / inputs["model"].paths[0]).resolve() == model.path.resolve()
    return same_model and inputs["vectors"].stamp == vectors.stamp
