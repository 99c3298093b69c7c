"""The step that lays a space, or two over the same words, out in the plane; and the map as it is
kept.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import Opened
from vocadapt.lab.steps.context import Numbers, Task
from vocadapt.lab.steps.spec import MapStep
from vocadapt.lab.workspace import strict_json
from vocadapt.progress import Progress, part, silent
from vocadapt.recipe import settings_from
from vocadapt.spaces.io.tensors import stored_tensors
from vocadapt.spaces.projection.projection import Projection, movement, project, project_pair
from vocadapt.spaces.projection.quality import PictureQuality, picture_quality
from vocadapt.spaces.projection.regions import Region, Regions, find_regions
from vocadapt.spaces.projection.token_choice import CONTINUATION, choose
from vocadapt.spaces.space import EmbeddingSpace, Matrix

COORDINATES = "map.safetensors"
FACTS = "map.json"


@dataclass(frozen=True, eq=False)
class Drawn:
    """One space of a map: where each word stands, and how far that may be trusted."""

    projection: Projection
    quality: PictureQuality


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """A finished map: one space, or two over the same words; which tokens are shown, of how many,
    and why.

    `of`: the tokens there are to choose from (with two spaces those of both). `rows` (n,) are the
    rows (ids) of the words in the first space; `counts` (n,) where they are known. `moved` (n,):
    how far a word stands from itself in the second space, in units of the first map's spread.
    """

    first: Drawn
    rows: NDArray[np.int64]
    of: int
    how: str
    settings: MapStep
    regions: Regions
    counts: NDArray[np.int64] | None = None
    second: Drawn | None = None
    moved: Matrix | None = None
    seconds: float = field(default=0.0, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def words(self) -> tuple[str, ...]:
        """The words shown."""
        return self.first.projection.words


def mapped(task: Task, settings: MapStep) -> Numbers:
    """A space, or two → their words in the plane, with the quality of the picture."""
    drawn = draw_map(
        task.opened("space"),
        task.opened("other") if "other" in task.spec.inputs else None,
        settings,
        task.progress,
    )
    save_map(drawn, task.draft)
    return headline(drawn)


def headline(drawn: DrawnMap) -> Numbers:
    """The figures of a map that a manifest and the command line tell."""
    numbers: Numbers = {
        "shown": len(drawn),
        "of": drawn.of,
        "how": drawn.how,
        "method": drawn.settings.projection.method,
        "engine": drawn.first.projection.engine,
        **_told(drawn.first),
    }
    if drawn.second is not None and drawn.moved is not None:
        numbers |= {"second": {"name": drawn.second.projection.name, **_told(drawn.second)}}
        numbers |= {"moved": float(np.median(drawn.moved))}
    return numbers


def _told(drawn: Drawn) -> Numbers:
    """Quality at k of one picture, with n of how many were judged and the chance level."""
    quality = drawn.quality
    numbers: Numbers = {
        key: getattr(quality, key) for key in ("trustworthiness", "preservation", "k")
    }
    numbers |= {"judged": quality.n, "chance": quality.chance}
    return numbers | (
        {} if drawn.projection.explained is None else {"explained": drawn.projection.explained}
    )


def draw_map(
    first: Opened,
    second: Opened | None,
    settings: MapStep,
    progress: Progress = silent,
    judged: int = 0,
) -> DrawnMap:
    """Choose the tokens, lay them out, judge the picture (on so many of them; 0: all it allows),
    name its regions.

    With a second space only words of both are chosen from. Raises InputError as `choose` and
    `project` do.
    """
    begin = time.perf_counter()
    space = first.space if second is None else _shared(first.space, second.space)
    continuation = first.model.vocabulary.continuation if first.model else CONTINUATION
    chosen = choose(space, settings.choice, first.special, continuation)
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
    drawn = [_judged(projection, rows, settings, judging, judged) for projection, rows in pair]
    regions = find_regions(
        shown.words, drawn[0].projection.xy, counts=shown.counts, seed=settings.projection.seed
    )
    progress(1.0, "drawn")
    return DrawnMap(
        drawn[0],
        first.space.rows(shown.words),
        len(space),
        how,
        settings,
        regions,
        shown.counts,
        *_second(drawn),
        seconds=time.perf_counter() - begin,
    )


def _shared(space: EmbeddingSpace, other: EmbeddingSpace) -> EmbeddingSpace:
    rows = [row for row, word in enumerate(space.words) if word in other]
    if not rows:
        raise InputError(
            f"{space.name} and {other.name} share no word.", "Choose spaces over the same words."
        )
    return space.take(rows)


def _second(drawn: list[Drawn]) -> tuple[Drawn | None, Matrix | None]:
    return (
        (drawn[1], movement(drawn[0].projection, drawn[1].projection))
        if len(drawn) > 1
        else (None, None)
    )


def _judged(
    projection: Projection, space: EmbeddingSpace, settings: MapStep, progress: Progress, most: int
) -> Drawn:
    metric, seed = settings.projection.metric, settings.projection.seed
    return Drawn(
        projection,
        picture_quality(
            space, projection.xy, metric=metric, most=most, seed=seed, progress=progress
        ),
    )


def save_map(drawn: DrawnMap, folder: Path) -> None:
    """Write a map into a folder: coordinates as tensors, everything else as strict JSON."""
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
    pictures = [_facts(picture) for picture in (drawn.first, drawn.second) if picture]
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


def _facts(drawn: Drawn) -> dict[str, Any]:
    kept = {key: getattr(drawn.projection, key) for key in ("name", "engine", "explained")}
    return {**kept, "versions": dict(drawn.projection.versions), "quality": asdict(drawn.quality)}


def load_map(folder: Path) -> DrawnMap:
    """Read what `save_map` wrote; raises InputError where the folder holds no map, or a damaged
    one.
    """
    for name in (FACTS, COORDINATES):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: expected a map, {name} is missing.", "Draw the map again.")
    facts = strict_json.read(folder / FACTS)
    stored = {name: tensor.rows() for name, tensor in stored_tensors(folder / COORDINATES).items()}
    try:
        return _read(facts, stored)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{folder}: the map is damaged ({error}).", "Draw it again.") from error


def _read(facts: Mapping[str, Any], stored: Mapping[str, Any]) -> DrawnMap:
    settings, words = settings_from(MapStep, facts["settings"], "map"), tuple(facts["words"])
    first, *more = [
        _picture(picture, words, stored[name], settings)
        for picture, name in zip(facts["pictures"], ("xy", "second.xy"), strict=False)
    ]
    regions = tuple(
        Region(**{**region, "words": tuple(region["words"])}) for region in facts["regions"]
    )
    return DrawnMap(
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


def _picture(
    picture: Mapping[str, Any], words: tuple[str, ...], xy: Matrix, settings: MapStep
) -> Drawn:
    if len(words) != len(xy):
        raise ValueError(f"{len(words)} words, {len(xy)} places")
    told = {key: picture[key] for key in ("name", "versions", "explained")}
    projection = Projection(words, xy, settings.projection, picture["engine"], **told)
    return Drawn(projection, PictureQuality(**picture["quality"]))
