"""The step that imports a layout of another program as a projection."""

import time
from dataclasses import dataclass
from pathlib import Path

from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.steps.projection import (
    SPACE,
    ProjectionArtifact,
    ProjectionNumbers,
    ProjectionStep,
    judge_projection,
    save_projection,
    summarize_projection,
)
from vocadapt.lab.steps.step import Role, Step, StepContext
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.neighbors.search import METRICS
from vocadapt.spaces.projection.layout_file import match_layout, read_layout
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import Projection
from vocadapt.spaces.projection.regions import find_regions

LAYOUT = Role(
    "layout",
    "--layout",
    "Layout",
    help="CSV or TSV file with the columns token, x and y, to show instead of computing a layout",
)


@dataclass(frozen=True)
class ImportLayoutStep(CheckedSettings):
    """How the quality of an imported layout is measured."""

    metric: str = setting(
        "cosine", "distance measure of the quality of the layout", choices=tuple(METRICS)
    )


def import_layout(context: StepContext, settings: ImportLayoutStep) -> ProjectionNumbers:
    """Import a layout of another program: tokens in 2-D, with the quality of the projection."""
    path = Path(context.spec.inputs["layout"][0])
    drawn = build_imported_projection(
        context.inputs.open_space("space"), path, settings, context.progress
    )
    save_projection(drawn, context.draft)
    return summarize_projection(drawn)


def build_imported_projection(
    opened: OpenedSpace, path: Path, settings: ImportLayoutStep, progress: Progress = silent
) -> ProjectionArtifact:
    """Build a projection from a layout file; raises InputError as `match_layout` does."""
    begin = time.perf_counter()
    # 1. Read the file, and keep the tokens of the space.
    space = opened.space
    matched = match_layout(read_layout(path), space)
    shown = space.take(matched.rows)

    # 2. Say how many tokens there are, and which ones were left out.
    n_added = sum(word in opened.added for word in shown.words)
    how = f"{len(shown):,} of {len(space):,} shown"
    if n_added:
        how += f", {n_added:,} of them added"
    how = "; ".join([f"{how}: a layout from {path.name}", *matched.notes])

    # 3. Measure the quality, and name the regions.
    layout = Projection(
        shown.words, matched.xy, ProjectionSettings(metric=settings.metric), "imported", space.name
    )
    drawn = judge_projection(layout, shown, 0, part(progress, 0.1, 0.9))
    regions = find_regions(shown.words, matched.xy, counts=shown.counts)
    progress(1.0, "imported")
    return ProjectionArtifact(
        drawn,
        matched.rows,
        len(space),
        how,
        ProjectionStep(projection=layout.settings),
        regions,
        shown.counts,
        seconds=time.perf_counter() - begin,
        layout_file=path.name,
    )


STEP = Step(
    "import-layout",
    "Import a layout",
    ImportLayoutStep,
    import_layout,
    makes="projections",
    needs=(SPACE, LAYOUT),
    libraries=("numpy", "scikit-learn", "safetensors"),
    writes=lambda spec: measure_files(spec.inputs["layout"]),
    keeps_inputs=lambda settings: True,
    command=("project",),
    start_up=3.0,
)
