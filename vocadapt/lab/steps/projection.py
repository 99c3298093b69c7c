"""The step that projects a space, or two over the same words, to 2-D; and how a projection is
saved.
"""

import os
import time
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.steps.step import PlannedStep, Role, Step, StepContext
from vocadapt.lab.workspace.saved_results import load_result, save_result
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.io.storage import VECTORS
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import (
    Projection,
    estimate_projection_seconds,
    measure_movement,
    project,
    project_pair,
)
from vocadapt.spaces.projection.quality import ProjectionQuality, measure_projection_quality
from vocadapt.spaces.projection.regions import Regions, find_regions
from vocadapt.spaces.projection.token_choice import ChosenTokens, TokenChoice, choose_tokens
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.system.files import expand_path
from vocadapt.system.forecasts import Work

FILES = ("map.json", "map.safetensors")


@dataclass(frozen=True)
class ProjectionStep:
    """Which tokens of a space are projected, and how."""

    choice: TokenChoice = field(default_factory=TokenChoice)
    projection: ProjectionSettings = field(default_factory=ProjectionSettings)


@dataclass(frozen=True, eq=False)
class ProjectedSpace:
    """The projection of one space, and its quality."""

    projection: Projection
    quality: ProjectionQuality


@dataclass(frozen=True, eq=False)
class ProjectionArtifact:
    """A finished projection: one space, or two over the same words.

    `of`: number of tokens to choose from (with two spaces those in both); `how`: how they were
    chosen. `rows` (n,) int64: rows (ids) of the words in the first space; `counts` (n,) if known.
    `moved` (n,) float32: distance of each word to its position in the second projection, in units
    of the first one's spread. `layout_file`: name of the file that the layout was imported from, ""
    if it was computed.
    """

    first: ProjectedSpace
    rows: NDArray[np.int64]
    of: int
    how: str
    settings: ProjectionStep
    regions: Regions
    counts: NDArray[np.int64] | None = None
    second: ProjectedSpace | None = None
    moved: Matrix | None = None
    seconds: float = field(default=0.0, compare=False)
    layout_file: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def words(self) -> tuple[str, ...]:
        """The words shown."""
        return self.first.projection.words

    @property
    def method(self) -> str:
        """The projection method, or where an imported layout comes from."""
        if self.layout_file:
            return f"layout from {self.layout_file}"
        return self.settings.projection.method


@dataclass(frozen=True)
class QualityNumbers:
    """Quality at k of the projection of a space, over a sample of tokens, and its chance level;
    explained: fraction of the variance, of PCA alone.
    """

    name: str
    trustworthiness: float
    preservation: float
    k: int
    judged: int
    chance: float
    explained: float | None


@dataclass(frozen=True)
class ProjectionNumbers(QualityNumbers):
    """Which tokens of a space are shown, and the quality of the projection; `moved`: median
    distance of a word to its place in the second one.
    """

    shown: int
    of: int
    how: str
    method: str
    engine: str
    second: QualityNumbers | None = None
    moved: float | None = None


def make_projection(context: StepContext, settings: ProjectionStep) -> ProjectionNumbers:
    """Project a space, or two: words in 2-D, with the quality of the projection."""
    drawn = compute_projection(
        context.inputs.open_space("space"),
        context.inputs.open_space("other") if "other" in context.spec.inputs else None,
        settings,
        context.progress,
    )
    save_projection(drawn, context.draft)
    return summarize_projection(drawn)


def summarize_projection(drawn: ProjectionArtifact) -> ProjectionNumbers:
    """Return the figures of a projection for manifest, page and command line."""
    return ProjectionNumbers(
        **vars(_summarize_quality(drawn.first)),
        shown=len(drawn),
        of=drawn.of,
        how=drawn.how,
        method=drawn.method,
        engine=drawn.first.projection.engine,
        second=None if drawn.second is None else _summarize_quality(drawn.second),
        moved=None if drawn.moved is None else float(np.median(drawn.moved)),
    )


def _summarize_quality(drawn: ProjectedSpace) -> QualityNumbers:
    """Return the quality of one projection."""
    quality, projection = drawn.quality, drawn.projection
    return QualityNumbers(
        projection.name,
        quality.trustworthiness,
        quality.preservation,
        quality.k,
        quality.n,
        quality.chance,
        projection.explained,
    )


def compute_projection(
    first: OpenedSpace,
    second: OpenedSpace | None,
    settings: ProjectionStep,
    progress: Progress = silent,
    judged: int = 0,
) -> ProjectionArtifact:
    """Choose the tokens, project them, measure the quality (on `judged` tokens; 0: all allowed),
    name regions.

    With a second space only words of both are chosen. Raises InputError as `choose` and `project`
    do.
    """
    begin = time.perf_counter()

    # 1. Choose tokens, with a second space among the words of both.
    others = [] if second is None else [second]
    space, chosen = choose_shared_tokens(first, others, settings)
    shown = space.take(chosen.rows)
    how = chosen.how

    # 2. Project them; two spaces together, so that words that did not move stay in place.
    layout_progress = part(progress, 0.0, 0.95)
    moved = other = None
    if second is None:
        layout = project(shown, settings.projection, layout_progress)
    else:
        rows = second.space.take(second.space.rows(shown.words))
        layout, other_layout = project_pair(shown, rows, settings.projection, layout_progress)
        moved = measure_movement(layout, other_layout)
        other = judge_projection(other_layout, rows, judged, part(progress, 0.95, 0.97))
        how += f"; {len(space):,} of {len(first.space):,} are in {second.space.name} too"

    # 3. Measure the quality of the first, and name its regions.
    seed = settings.projection.seed
    drawn = judge_projection(layout, shown, judged, part(progress, 0.97, 0.99))
    regions = find_regions(shown.words, layout.xy, counts=shown.counts, seed=seed)
    progress(1.0, "drawn")
    return ProjectionArtifact(
        drawn,
        first.space.rows(shown.words),
        len(space),
        how,
        settings,
        regions,
        shown.counts,
        other,
        moved,
        seconds=time.perf_counter() - begin,
    )


def judge_projection(
    layout: Projection, space: EmbeddingSpace, judged: int, progress: Progress
) -> ProjectedSpace:
    """Measure the quality of a layout of a space on `judged` tokens (0: all allowed)."""
    quality = measure_projection_quality(
        space,
        layout.xy,
        metric=layout.settings.metric,
        max_tokens=judged,
        seed=layout.settings.seed,
        progress=progress,
    )
    return ProjectedSpace(layout, quality)


def choose_shared_tokens(
    first: OpenedSpace, others: Sequence[OpenedSpace], settings: ProjectionStep
) -> tuple[EmbeddingSpace, ChosenTokens]:
    """Choose tokens among the words that all spaces share; return these words as a space, too.

    Raises InputError if no word is shared, and as `choose_tokens` does.
    """
    space = first.space
    for other in others:
        shared = [row for row, word in enumerate(space.words) if word in other.space]
        if not shared:
            raise InputError(
                f"{first.space.name} and {other.space.name} share no word.",
                "Choose spaces over the same words.",
            )
        space = space.take(shared)
    chosen = choose_tokens(space, settings.choice, first.added, settings.projection.metric)
    return space, chosen


def save_projection(drawn: ProjectionArtifact, folder: Path) -> None:
    """Write a projection to a folder."""
    save_result(drawn, folder, FILES)


def load_projection(folder: Path) -> ProjectionArtifact:
    """Read a saved projection; raises InputError if the folder has none, or a damaged one."""
    return load_result(
        ProjectionArtifact, folder, FILES, _check_sizes, "projection", "Compute it again."
    )


def _check_sizes(drawn: ProjectionArtifact) -> None:
    """Raise ValueError unless every word has coordinates, a row and a region."""
    arrays: list[Sized] = [drawn.rows, drawn.regions.numbers]
    arrays += [one.projection.xy for one in (drawn.first, drawn.second) if one]
    arrays += [one for one in (drawn.counts, drawn.moved) if one is not None]
    if any(len(values) != len(drawn.words) for values in arrays):
        raise ValueError(f"an array does not have a value for each of the {len(drawn.words)} words")


def measure_layout(planned: PlannedStep) -> Work:
    """Return the work of the layouts of a projection, one after the other."""
    settings, inputs = planned.spec.settings, planned.inputs
    others = [inputs.open_space("other")] if "other" in planned.spec.inputs else []
    space, chosen = choose_shared_tokens(inputs.open_space("space"), others, settings)
    n_spaces = 1 + len(others)
    seconds = estimate_projection_seconds(len(chosen), space.dim, settings.projection)
    return Work(n_spaces * len(chosen), "tokens", n_spaces * seconds)


def choose_space_flag(path: str) -> str:
    """Return the flag of a space: word vectors and models have different ones."""
    if os.path.isfile(expand_path(path) / VECTORS):
        return "--vectors"
    return "--model"


SPACE = Role("space", "", "Space", choose_flag=choose_space_flag)
STEP = Step(
    "projection",
    "Compute a projection",
    ProjectionStep,
    make_projection,
    makes="projections",
    needs=(SPACE,),
    takes=(Role("other", "--other", "Second space"),),
    libraries=("numpy", "scikit-learn", "openTSNE", "umap-learn", "safetensors"),
    command=("project",),
    start_up=5.0,
    work=measure_layout,
    seed="projection.seed",
)
