"""The step that compares the neighborhoods of two spaces, with or without a noise baseline; and how
a comparison is saved.
"""

import time
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.inputs.opened import OpenedInputs
from vocadapt.lab.steps.noise_baselines import (
    BOOTSTRAP,
    SEED,
    open_vectors_artifact,
    rebuild_spec,
    train_noise_baseline,
)
from vocadapt.lab.steps.step import Numbers, PlannedStep, Role, Step, StepContext
from vocadapt.lab.workspace.saved_results import load_result, save_result
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.neighbors.change import (
    WHOLE_WORDS,
    ChangeSettings,
    NeighborhoodChange,
    estimate_change_seconds,
)
from vocadapt.spaces.neighbors.noise_baseline import (
    BaselinePair,
    NoiseBaseline,
    measure_change_with_baseline,
)
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.forecasts import Work

FILES = ("change.json", "change.safetensors")
TRAINED = 0.7  # fraction of the work that trains the noise baseline
TRAININGS = {
    SEED: "train one of the spaces again with another seed",
    BOOTSTRAP: "train one of the spaces on two bootstrap resamples of its text",
}
TRAINING_FLAGS = {SEED: "--noise-baseline-seed", BOOTSTRAP: "--noise-baseline-bootstrap"}
# Arrays of a noise baseline, which have a value for each word.
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
class ChangeInputs:
    """The opened spaces of a comparison.

    noise: two spaces that differ only by chance, () for none. counted: a space with word counts,
    for spaces that have none.
    """

    before: OpenedSpace
    after: OpenedSpace
    noise: tuple[EmbeddingSpace, ...] = ()
    counted: EmbeddingSpace | None = None


def make_change(context: StepContext, settings: ChangeStep) -> Numbers:
    """Compare the neighborhoods of two spaces."""
    found = compare_spaces(open_change_inputs(context.inputs), settings, context.progress)
    save_comparison(found, context.draft)
    return summarize_comparison(found)


def open_change_inputs(inputs: OpenedInputs) -> ChangeInputs:
    """Open the spaces of a comparison."""
    n_noise = len(inputs.paths.get("noise", ()))
    noise = tuple(inputs.open_space("noise", place).space for place in range(n_noise))
    counted = inputs.open_space("counts").space if "counts" in inputs.paths else None
    return ChangeInputs(inputs.open_space("before"), inputs.open_space("after"), noise, counted)


def compare_spaces(
    spaces: ChangeInputs, settings: ChangeStep, progress: Progress = silent
) -> Comparison:
    """Compare the neighborhoods of two spaces, after training the noise baseline if requested.

    Raises InputError if the spaces have too few words in common, or if no baseline can be trained.
    """
    start = time.perf_counter()
    trained = TRAINED if settings.train_noise else 0.0
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
    """Return the first of the spaces that can be trained a second time; raise InputError if none
    can.
    """
    found = [open_vectors_artifact(name) for name in spaces]
    trained = [artifact for artifact in found if artifact is not None]
    if not trained:
        raise InputError(
            "Neither space was trained in this workspace, so none can be trained again.",
            "Give two spaces that differ only in the seed as the noise baseline.",
            code="not-retrainable",
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
    """Write a comparison to a folder."""
    save_result(found, folder, FILES)


def load_comparison(folder: Path) -> Comparison:
    """Read a saved comparison; raises InputError if the folder has none, or a damaged one."""
    found = load_result(
        Comparison,
        folder,
        FILES,
        _check_sizes,
        "comparison of neighborhoods",
        "Compare the spaces again.",
    )
    if found.baseline is None:
        return found
    below = found.baseline.below.astype(bool)
    return replace(found, baseline=replace(found.baseline, below=below))


def _check_sizes(found: Comparison) -> None:
    """Raise ValueError unless arrays have a value for each word, and neighbors are candidates."""
    change, baseline = found.change, found.baseline
    n = len(change.words)
    arrays: list[Sized] = [change.overlap]
    arrays += [one for one in (change.counts, change.ids) if one is not None]
    if baseline is not None:
        arrays += [getattr(baseline, name) for name in BASELINE_ARRAYS]
    if any(len(values) != n for values in arrays):
        raise ValueError(f"an array does not have a value for each of the {n} words")
    for side in (change.before, change.after):
        rows, cosines = side.near.rows, side.near.scores
        if not rows.shape == cosines.shape == (n, change.settings.k):
            raise ValueError(f"neighbors of shape {rows.shape}")
        if n and not 0 <= rows.min() <= rows.max() < len(side.words):
            raise ValueError(f"a neighbor is not one of the {len(side.words)} candidates")


def measure_comparison(planned: PlannedStep) -> Work | None:
    """Return the work of a comparison; None if a noise baseline is trained for it."""
    settings: ChangeStep = planned.spec.settings
    if settings.train_noise:
        return None
    before, after = (planned.inputs.open_space(role).space for role in ("before", "after"))
    n_pairs = 1 + ("noise" in planned.spec.inputs)
    seconds = n_pairs * estimate_change_seconds(before, after, settings.neighborhoods)
    return Work(n_pairs * len(before), "words", seconds)


def _open_baseline(spaces: ChangeInputs, train: str, progress: Progress) -> BaselinePair | None:
    """Return the two spaces of the noise baseline: those given, or trained now; None for none."""
    if spaces.noise:
        if len(spaces.noise) != 2 or train:
            raise InputError(
                "A noise baseline is one pair of spaces that differ only by chance.",
                "Give two spaces, or have one of the compared spaces trained again.",
                code="no-pair",
            )
        first, second = spaces.noise
        return BaselinePair(f"{first.name} and {second.name}, as given", first, second)
    if train:
        retrainable = choose_retrainable((spaces.before.folder, spaces.after.folder))
        return train_noise_baseline(retrainable, train, progress)
    return None


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
