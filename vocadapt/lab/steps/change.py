"""The step that compares the neighborhoods of two spaces, with or without a noise baseline; and how
a comparison is saved.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.steps.noise_baselines import (
    BOOTSTRAP,
    SEED,
    open_vectors_artifact,
    rebuild_spec,
    train_noise_baseline,
)
from vocadapt.lab.steps.step import Numbers, PlannedStep, Role, Step, StepContext
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.manifest import read_saved_settings
from vocadapt.lab.workspace.saved_results import load_result
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.neighbors.change import (
    WHOLE_WORDS,
    ChangeSettings,
    ComparedSpace,
    NeighborhoodChange,
    estimate_change_seconds,
)
from vocadapt.spaces.neighbors.noise_baseline import (
    BaselinePair,
    NoiseBaseline,
    measure_change_with_baseline,
)
from vocadapt.spaces.neighbors.search import Neighbors
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.forecasts import Work

TENSORS, FACTS = "change.safetensors", "change.json"
TRAINED = 0.7  # fraction of the work that trains the noise baseline
TRAININGS = {
    SEED: "train one of the spaces again with another seed",
    BOOTSTRAP: "train one of the spaces on two bootstrap resamples of its text",
}
TRAINING_FLAGS = {SEED: "--noise-baseline-seed", BOOTSTRAP: "--noise-baseline-bootstrap"}
# Arrays of a noise baseline that are saved under these names.
BASELINE_ARRAYS = ("overlap", "band", "quantile", "z", "threshold", "below")


@dataclass(frozen=True)
class ChangeStep(CheckedSettings):
    """How neighborhoods are compared, and whether a noise baseline is trained for it."""

    neighborhoods: ChangeSettings = field(default_factory=ChangeSettings)
    train_noise: str = setting(
        "",
        "how the noise baseline is trained",
        choices=lambda: TRAININGS,
        label="Noise baseline",
        flag="",
        empty="none is trained",
    )


# A model and the model it was made from: the embeddings of their common words are the same, so only
# the added words, which are candidates here, can change a neighborhood.
BASE_TO_ADAPTED = ChangeStep(ChangeSettings(among="all", without=WHOLE_WORDS))


@dataclass(frozen=True, eq=False)
class Comparison:
    """A finished comparison: the change, and its noise baseline if it has one."""

    change: NeighborhoodChange
    baseline: NoiseBaseline | None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Compared:
    """The spaces of a comparison.

    noise: two spaces that differ only by chance, () for none. counted: a space with word counts,
    for spaces that have none.
    """

    before: OpenedSpace
    after: OpenedSpace
    noise: tuple[EmbeddingSpace, ...] = ()
    counted: EmbeddingSpace | None = None


def make_change(context: StepContext, settings: ChangeStep) -> Numbers:
    """Compare the neighborhoods of two spaces."""
    inputs = context.spec.inputs
    noise = tuple(
        context.inputs.open_space("noise", place).space
        for place in range(len(inputs.get("noise", ())))
    )
    counted = None
    if "counts" in inputs:
        counted = context.inputs.open_space("counts").space
    spaces = Compared(
        context.inputs.open_space("before"), context.inputs.open_space("after"), noise, counted
    )
    found = compare_spaces(spaces, settings, context.progress)
    save_comparison(found, context.draft)
    return summarize_comparison(found)


def compare_spaces(
    spaces: Compared, settings: ChangeStep, progress: Progress = silent
) -> Comparison:
    """Compare the neighborhoods of two spaces, after training the noise baseline if requested.

    Raises InputError if the spaces have too few words in common, or if no baseline can be trained.
    """
    start = time.perf_counter()
    trained = 0.0
    if settings.train_noise:
        trained = TRAINED
    pair = _open_baseline(spaces, settings.train_noise, part(progress, 0.0, trained))
    change, baseline = measure_change_with_baseline(
        spaces.before.space,
        spaces.after.space,
        settings.neighborhoods,
        pair,
        part(progress, trained, 1.0),
        spaces.counted,
    )
    return Comparison(change, baseline, time.perf_counter() - start)


def choose_retrainable(spaces: Sequence[str | Path]) -> Artifact:
    """Return the first of the spaces that can be trained a second time; raise InputError if none can."""
    found = [open_vectors_artifact(name) for name in spaces]
    trained = [artifact for artifact in found if artifact is not None]
    if not trained:
        raise InputError(
            "Neither space was trained in this workspace, so none can be trained again.",
            "Give two spaces that differ only in the seed as the noise baseline.",
        )
    # If the text of the first has changed since, the second is trained again.
    try:
        rebuild_spec(trained[0])
    except InputError:
        rebuild_spec(trained[-1])
        return trained[-1]
    return trained[0]


def summarize_comparison(found: Comparison) -> Numbers:
    """Return the figures of a comparison for its manifest."""
    change = found.change
    numbers: Numbers = {
        "compared": len(change.words),
        "shared": change.shared,
        "of": list(change.sizes),
        "candidates": [len(change.before.words), len(change.after.words)],
        "dims": list(change.dims),
        "k": change.settings.k,
        "mean_overlap": change.mean,
        "chance": change.chance,
        "unchanged": int(change.histogram[-1]),
        "left_out": change.left_out,
        "counts_from": change.counts_from,
    }
    if found.baseline is not None:
        numbers["baseline"] = found.baseline.about
        numbers["baseline_mean_overlap"] = found.baseline.mean
        numbers["changed"] = found.baseline.fraction_below
    return numbers


def save_comparison(found: Comparison, folder: Path) -> None:
    """Write a comparison to a folder: arrays as tensors, everything else as strict JSON."""
    from safetensors.numpy import save_file

    # 1. The neighbors of each word on both sides, the counts, and the noise baseline.
    change, baseline = found.change, found.baseline
    tensors: dict[str, Any] = {"overlap": change.overlap}
    for side, one in _name_sides(change).items():
        tensors[f"{side}.neighbors"] = one.near.rows.astype(np.int32)
        tensors[f"{side}.cosines"] = one.near.scores
    for name in ("counts", "ids"):
        if getattr(change, name) is not None:
            tensors[name] = getattr(change, name)
    if baseline is not None:
        for name in BASELINE_ARRAYS:
            values = getattr(baseline, name)
            if values.dtype == bool:
                values = values.astype(np.int32)
            tensors[f"baseline.{name}"] = values
    save_file(
        {name: np.ascontiguousarray(values) for name, values in tensors.items()}, folder / TENSORS
    )

    # 2. Everything else; the candidates are listed only where they are not the compared words.
    facts: dict[str, Any] = {
        "words": change.words,
        "settings": asdict(change.settings),
        "sizes": change.sizes,
        "dims": change.dims,
        "shared": change.shared,
        "left_out": change.left_out,
        "counts_from": change.counts_from,
        "same_vectors": change.same_vectors,
        "baseline": None,
        "seconds": found.seconds,
    }
    for side, one in _name_sides(change).items():
        candidates = one.words
        facts[side] = {
            "name": one.name,
            "candidates": None if candidates == change.words else candidates,
        }
    if baseline is not None:
        facts["baseline"] = {"about": baseline.about, "names": baseline.names}
    strict_json.write(folder / FACTS, facts)


def load_comparison(folder: Path) -> Comparison:
    """Read a saved comparison; raises InputError if the folder has none, or a damaged one."""
    remedy = "Compare the spaces again."
    return load_result(
        folder, (FACTS, TENSORS), _build_comparison, "comparison of neighborhoods", remedy
    )


def measure_comparison(planned: PlannedStep) -> Work | None:
    """Return the work of a comparison; None if a noise baseline is trained for it."""
    settings: ChangeStep = planned.spec.settings
    if settings.train_noise:
        return None
    before, after = (planned.inputs.open_space(role).space for role in ("before", "after"))
    n_pairs = 1 + ("noise" in planned.spec.inputs)
    seconds = n_pairs * estimate_change_seconds(before, after, settings.neighborhoods)
    return Work(n_pairs * len(before), "words", seconds)


def _open_baseline(spaces: Compared, train: str, progress: Progress) -> BaselinePair | None:
    """Return the two spaces of the noise baseline: those given, or trained now; None for none."""
    if spaces.noise:
        if len(spaces.noise) != 2 or train:
            raise InputError(
                "A noise baseline is one pair of spaces that differ only by chance.",
                "Give two spaces, or have one of the compared spaces trained again.",
            )
        first, second = spaces.noise
        return BaselinePair(f"{first.name} and {second.name}, as given", first, second)
    if train:
        retrainable = choose_retrainable((spaces.before.folder, spaces.after.folder))
        return train_noise_baseline(retrainable, train, progress)
    return None


def _build_comparison(facts: Mapping[str, Any], stored: Mapping[str, Any]) -> Comparison:
    words = tuple(facts["words"])
    settings = read_saved_settings(ChangeSettings, facts["settings"], "the comparison")
    # 1. Both sides; every array must have a row for each word.
    sides = []
    for side in ("before", "after"):
        candidates = facts[side]["candidates"]
        names = words if candidates is None else tuple(candidates)
        rows = stored[f"{side}.neighbors"].astype(np.int64)
        cosines = stored[f"{side}.cosines"]
        _check_neighbors(rows, cosines.shape, (len(words), settings.k), len(names))
        sides.append(ComparedSpace(facts[side]["name"], names, Neighbors(rows, cosines)))
    for name in ("overlap", "counts", "ids"):
        if name in stored and len(stored[name]) != len(words):
            raise ValueError(f"{len(words)} words, {len(stored[name])} values of {name}")
    change = NeighborhoodChange(
        words,
        stored["overlap"],
        sides[0],
        sides[1],
        settings,
        tuple(facts["sizes"]),
        facts["shared"],
        facts["left_out"],
        stored.get("counts"),
        facts["counts_from"],
        stored.get("ids"),
        facts["same_vectors"],
        tuple(facts["dims"]),
    )
    # 2. The noise baseline.
    baseline = None
    if facts["baseline"] is not None:
        arrays = {name: stored[f"baseline.{name}"] for name in BASELINE_ARRAYS}
        if any(len(values) != len(words) for values in arrays.values()):
            raise ValueError("the noise baseline has another number of words")
        arrays["below"] = arrays["below"].astype(bool)
        about = facts["baseline"]["about"]
        names = tuple(facts["baseline"]["names"])
        baseline = NoiseBaseline(about, names, **arrays)
    return Comparison(change, baseline, facts["seconds"])


def _check_neighbors(
    rows: Any, shape: tuple[int, ...], expected: tuple[int, int], candidates: int
) -> None:
    """Raise ValueError unless each word has k neighbors, all of them candidates."""
    if rows.shape != expected or shape != expected:
        raise ValueError(f"neighbors of shape {rows.shape} and {shape}, expected {expected}")
    if rows.size and (rows.min() < 0 or rows.max() >= candidates):
        raise ValueError(f"a neighbor is not one of the {candidates} candidates")


def _name_sides(change: NeighborhoodChange) -> dict[str, ComparedSpace]:
    return {"before": change.before, "after": change.after}


def build_training_arguments(settings: ChangeStep, folder: Path) -> list[str]:
    """Return the argument that trains the noise baseline."""
    if not settings.train_noise:
        return []
    return [TRAINING_FLAGS[settings.train_noise]]


STEP = Step(
    "change",
    "Compare neighborhoods",
    ChangeStep,
    make_change,
    makes="changes",
    needs=(Role("before", "--before", "Before"), Role("after", "--after", "After")),
    takes=(
        Role("noise", "--noise-baseline", "Noise baseline", several=True),
        Role("counts", "--counts", "Word counts", "vectors"),
    ),
    libraries=("numpy", "tokenizers", "safetensors"),
    command=("change",),
    own_arguments=build_training_arguments,
    start_up=3.0,
    work=measure_comparison,
)
