"""The step that projects a space, or two over the same words, to 2-D; and how a projection is
saved.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.lab.artifacts.open_space import OpenedSpace
from vocadapt.lab.steps.context import StepContext
from vocadapt.lab.steps.step import Numbers, Role, Step
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import settings_from
from vocadapt.spaces.io.storage import VECTORS
from vocadapt.spaces.io.tensors import index_tensors
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.projection import (
    Projection,
    estimate_projection_seconds,
    measure_movement,
    project,
    project_pair,
)
from vocadapt.spaces.projection.quality import ProjectionQuality, measure_projection_quality
from vocadapt.spaces.projection.regions import Region, Regions, find_regions
from vocadapt.spaces.projection.token_choice import TokenChoice, choose_tokens
from vocadapt.spaces.space import EmbeddingSpace, Matrix

COORDINATES = "map.safetensors"
FACTS = "map.json"
WIDTH = 768  # assumed dimension of a space; it matters little


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
    of the first one's spread.
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

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def words(self) -> tuple[str, ...]:
        """The words shown."""
        return self.first.projection.words


def make_projection(context: StepContext, settings: ProjectionStep) -> Numbers:
    """Project a space, or two: words in 2-D, with the quality of the projection."""
    drawn = compute_projection(
        context.opened("space"),
        context.opened("other") if "other" in context.spec.inputs else None,
        settings,
        context.progress,
    )
    save_projection(drawn, context.draft)
    return summarize_projection(drawn)


def summarize_projection(drawn: ProjectionArtifact) -> Numbers:
    """Return the figures of a projection for manifest and command line."""
    numbers: Numbers = {
        "shown": len(drawn),
        "of": drawn.of,
        "how": drawn.how,
        "method": drawn.settings.projection.method,
        "engine": drawn.first.projection.engine,
        **_summarize_quality(drawn.first),
    }
    if drawn.second is not None and drawn.moved is not None:
        numbers |= {
            "second": {"name": drawn.second.projection.name, **_summarize_quality(drawn.second)}
        }
        numbers |= {"moved": float(np.median(drawn.moved))}
    return numbers


def _summarize_quality(drawn: ProjectedSpace) -> Numbers:
    """Return quality at k of one projection, sample size, and chance level."""
    quality = drawn.quality
    numbers: Numbers = {
        key: getattr(quality, key) for key in ("trustworthiness", "preservation", "k")
    }
    numbers |= {"judged": quality.n, "chance": quality.chance}
    return numbers | (
        {} if drawn.projection.explained is None else {"explained": drawn.projection.explained}
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
    space = first.space if second is None else _shared_words(first.space, second.space)
    chosen = choose_tokens(space, settings.choice)
    shown, how = space.take(chosen.rows), chosen.how
    drawing, judging = part(progress, 0.0, 0.85), part(progress, 0.85, 0.98)
    if second is None:
        pair = [(project(shown, settings.projection, drawing), shown)]
    else:
        other = second.space.take(second.space.rows(shown.words))
        a, b = project_pair(shown, other, settings.projection, drawing)
        pair, how = (
            [
                (a, shown),
                (b, other),
            ],
            f"{how}; {len(space):,} of {len(first.space):,} are in {second.space.name} too",
        )
    drawn = [
        _measure_quality(projection, rows, settings, judging, judged) for projection, rows in pair
    ]
    regions = find_regions(
        shown.words, drawn[0].projection.xy, counts=shown.counts, seed=settings.projection.seed
    )
    progress(1.0, "drawn")
    return ProjectionArtifact(
        drawn[0],
        first.space.rows(shown.words),
        len(space),
        how,
        settings,
        regions,
        shown.counts,
        *_compare_second(drawn),
        seconds=time.perf_counter() - begin,
    )


def _shared_words(space: EmbeddingSpace, other: EmbeddingSpace) -> EmbeddingSpace:
    rows = [row for row, word in enumerate(space.words) if word in other]
    if not rows:
        raise InputError(
            f"{space.name} and {other.name} share no word.", "Choose spaces over the same words."
        )
    return space.take(rows)


def _compare_second(drawn: list[ProjectedSpace]) -> tuple[ProjectedSpace | None, Matrix | None]:
    return (
        (drawn[1], measure_movement(drawn[0].projection, drawn[1].projection))
        if len(drawn) > 1
        else (None, None)
    )


def _measure_quality(
    projection: Projection,
    space: EmbeddingSpace,
    settings: ProjectionStep,
    progress: Progress,
    most: int,
) -> ProjectedSpace:
    metric, seed = settings.projection.metric, settings.projection.seed
    return ProjectedSpace(
        projection,
        measure_projection_quality(
            space, projection.xy, metric=metric, most=most, seed=seed, progress=progress
        ),
    )


def save_projection(drawn: ProjectionArtifact, folder: Path) -> None:
    """Write a projection to a folder: coordinates as tensors, everything else as strict JSON."""
    from safetensors.numpy import save_file

    tensors: dict[str, Any] = {
        "xy": drawn.first.projection.xy,
        "rows": drawn.rows,
        "region": drawn.regions.of,
    }
    tensors |= {} if drawn.counts is None else {"counts": drawn.counts}
    if drawn.second is not None:
        tensors |= {"second.xy": drawn.second.projection.xy, "moved": drawn.moved}
    save_file(
        {name: np.ascontiguousarray(values) for name, values in tensors.items()},
        folder / COORDINATES,
    )
    pictures = [_space_facts(picture) for picture in (drawn.first, drawn.second) if picture]
    facts = {
        "words": list(drawn.words),
        "of": drawn.of,
        "how": drawn.how,
        "settings": asdict(drawn.settings),
        "pictures": pictures,
        "regions": [asdict(region) for region in drawn.regions.regions],
        "seconds": drawn.seconds,
    }
    strict_json.write(folder / FACTS, facts)


def _space_facts(drawn: ProjectedSpace) -> dict[str, Any]:
    kept = {key: getattr(drawn.projection, key) for key in ("name", "engine", "explained")}
    return {**kept, "versions": dict(drawn.projection.versions), "quality": asdict(drawn.quality)}


def load_projection(folder: Path) -> ProjectionArtifact:
    """Read a saved projection; raises InputError if the folder has none, or a damaged one."""
    for name in (FACTS, COORDINATES):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder}: expected a projection, {name} is missing.", "Compute it again."
            )
    facts = strict_json.read(folder / FACTS)
    stored = {name: tensor.rows() for name, tensor in index_tensors(folder / COORDINATES).items()}
    try:
        return _build_artifact(facts, stored)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"{folder}: the projection is damaged ({error}).", "Compute it again."
        ) from error


def _build_artifact(facts: Mapping[str, Any], stored: Mapping[str, Any]) -> ProjectionArtifact:
    settings, words = settings_from(ProjectionStep, facts["settings"], "map"), tuple(facts["words"])
    first, *more = [
        _build_projected_space(picture, words, stored[name], settings)
        for picture, name in zip(facts["pictures"], ("xy", "second.xy"), strict=False)
    ]
    regions = tuple(
        Region(**{**region, "words": tuple(region["words"])}) for region in facts["regions"]
    )
    return ProjectionArtifact(
        first,
        stored["rows"],
        facts["of"],
        facts["how"],
        settings,
        Regions(stored["region"], regions),
        stored.get("counts"),
        more[0] if more else None,
        stored.get("moved"),
        facts["seconds"],
    )


def _build_projected_space(
    picture: Mapping[str, Any], words: tuple[str, ...], xy: Matrix, settings: ProjectionStep
) -> ProjectedSpace:
    if len(words) != len(xy):
        raise ValueError(f"{len(words)} words, {len(xy)} places")
    fields = {key: picture[key] for key in ("name", "versions", "explained")}
    projection = Projection(words, xy, settings.projection, picture["engine"], **fields)
    return ProjectedSpace(projection, ProjectionQuality(**picture["quality"]))


def estimate_layout(artifact: Artifact) -> float:
    """Estimate the seconds of the layout, or of the two, of a projection."""
    numbers = artifact.manifest.numbers
    settings = settings_from(ProjectionStep, artifact.manifest.settings, artifact.name)
    seconds = estimate_projection_seconds(numbers["shown"], WIDTH, settings.projection)
    return 2 * seconds if "second" in numbers else seconds


def choose_space_flag(path: str) -> str:
    """Return the flag of a space: word vectors and models have different ones."""
    if (expand_path(path) / VECTORS).is_file():
        return "--vectors"
    return "--model"


STEP = Step(
    "projection",
    "Compute a projection",
    ProjectionStep,
    make_projection,
    makes="projections",
    needs=(Role("space", "", "Space", choose_flag=choose_space_flag),),
    takes=(Role("other", "--other", "Second space"),),
    libraries=("numpy", "scikit-learn", "openTSNE", "umap-learn", "safetensors"),
    command=("project",),
    page="pages/see/projection.py",
    selected_by="projection_view",
    start_up=5.0,
    estimate=estimate_layout,
    seed="projection.seed",
)
