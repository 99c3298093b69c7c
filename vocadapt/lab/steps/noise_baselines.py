"""Noise baselines of a neighborhood change: word vectors trained a second time from what their
manifest names.

Vectors can be trained again, with another seed or on resampled lines, if their text is unchanged.
Imported vectors and embeddings of a model cannot: then two spaces that differ only in the seed must
be given.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from vocadapt.errors import InputError
from vocadapt.lab.steps.contextual import ContextualStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.manifest import read_saved_settings
from vocadapt.lab.workspace.workspace import Artifact, Workspace, explain_change, open_artifact
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import MAX_SEED
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.noise_baseline import BaselinePair
from vocadapt.spaces.word2vec.trainer import TRAINERS
from vocadapt.system.files import expand_path
from vocadapt.text.corpus import CorpusSettings

SEED, BOOTSTRAP = "seed", "bootstrap"


def rebuild_spec(artifact: Artifact) -> Spec:
    """Rebuild the spec that made these vectors; raises InputError if it cannot be run again."""
    # 1. The settings of its step, from the manifest.
    manifest = artifact.manifest
    around = Workspace(artifact.folder.resolve().parent.parent)
    found = _read_settings(artifact)
    if found is None:
        raise InputError(
            f"{artifact.name} was not trained in this workspace, so it cannot be trained with"
            " another seed.",
            "Give two spaces that differ only in the seed, or compare without a noise baseline.",
        )

    # 2. The inputs, which must be unchanged: otherwise more than the seed would differ.
    for role, given in manifest.inputs.items():
        if why := explain_change(given, around):
            raise InputError(
                f"{artifact.name} cannot be trained again: {why}.",
                f"It needs the unchanged {role}.",
            )
    inputs = {
        role: tuple(str(around.root / path) for path in given.paths)
        for role, given in manifest.inputs.items()
    }
    return Spec(found, inputs, offline=True, casing=manifest.casing)


def use_next_seed(spec: Spec) -> Spec:
    """Return the step with the next seed; the seed after the largest is 0."""
    seed = ((spec.seed or 0) + 1) % (MAX_SEED + 1)
    return replace(spec, settings=_with_seed(spec.settings, seed))


def resample_lines(spec: Spec, seed: int) -> Spec:
    """Return the spec with resampled lines; raises InputError if it trains no word vectors."""
    if not isinstance(spec.settings, VectorsStep):
        raise InputError(
            "Only word vectors are trained on lines that can be resampled.",
            "Use a second seed instead.",
        )
    return replace(spec, settings=replace(spec.settings, resample=seed))


def depends_on_seed(spec: Spec) -> bool:
    """Return whether training vectors again with another seed changes them: counted ones stay."""
    if not isinstance(spec.settings, VectorsStep):
        return True
    trainer = TRAINERS.get(spec.settings.word2vec.trainer)
    return trainer is None or trainer.depends_on_seed


def train_noise_baseline(
    artifact: Artifact, how: str = SEED, progress: Progress = silent
) -> BaselinePair:
    """Train vectors again with another seed (`how` "seed"), or twice on resampled lines
    ("bootstrap").

    Returns the pair; nothing is saved. Raises InputError if the vectors cannot be trained again.
    """
    # 1. What to train: once with another seed, or twice on resampled lines.
    spec = rebuild_spec(artifact)
    if how == SEED and not depends_on_seed(spec):
        raise InputError(
            f"{artifact.name} was counted, not trained: another seed gives the same vectors.",
            "Make the noise baseline from resampled lines instead.",
        )
    specs = [use_next_seed(spec)]
    if how == BOOTSTRAP:
        specs = [resample_lines(spec, seed) for seed in (1, 2)]

    # 2. Train into a temporary folder.
    n = len(specs)
    spaces = []
    with TemporaryDirectory(prefix="vocadapt-") as scratch:
        for number, again in enumerate(specs, start=1):
            folder = Path(scratch) / f"baseline-{number}"
            title = f"noise baseline {number} of {n}"
            run_step(again, folder, part(progress, (number - 1) / n, number / n, title))
            space = load_space(folder, f"{artifact.name} again ({_describe_seed(again)})")
            # A copy in memory: the file is removed with the folder.
            spaces.append(space.take(range(len(space))))

    # 3. Pair with the given vectors, or with each other: resampled vectors differ from the given
    #    ones by more than chance.
    if how == SEED:
        return BaselinePair(f"two seeds of {artifact.name}", load_space(artifact.folder), *spaces)
    return BaselinePair(f"two bootstrap resamples of {artifact.name}", *spaces)


def list_noise_baselines(
    artifact: Artifact, workspace: Workspace
) -> dict[str, tuple[Artifact, Artifact]]:
    """Return the noise baselines that a workspace has for these vectors: {title: (first, second)}."""
    found = {
        f"two seeds · {artifact.name}, {twin.name}": (artifact, twin)
        for twin in find_other_seeds(artifact, workspace)
    }
    # One of each resampling seed: those of the same seed are the same vectors.
    by_seed = {
        resampled.manifest.settings["resample"]: resampled
        for resampled in find_resampled(artifact, workspace)
    }
    first, *others = list(by_seed.values()) or [artifact]
    return found | {
        f"bootstrap resamples · {first.name}, {other.name}": (first, other) for other in others
    }


def find_resampled(artifact: Artifact, workspace: Workspace) -> list[Artifact]:
    """Return the vectors trained like these, seed included, but on resampled lines; newest first."""
    alike = _find_alike(artifact, workspace, _key_without_resampling)
    return [other for other in alike if other.manifest.settings.get("resample")]


def find_other_seeds(artifact: Artifact, workspace: Workspace) -> list[Artifact]:
    """Return the vectors trained like these but for the seed, newest first."""
    alike = _find_alike(artifact, workspace, _key_without_seed)
    return [other for other in alike if other.manifest.seed != artifact.manifest.seed]


def _find_alike(
    artifact: Artifact, workspace: Workspace, key: Callable[[Artifact], object]
) -> list[Artifact]:
    """Return the vectors of a workspace with the key of these, newest first; none without a key."""
    own = key(artifact)
    if own is None:
        return []
    return [other for other in workspace.artifacts("vectors") if key(other) == own]


def open_vectors_artifact(folder: str | Path) -> Artifact | None:
    """Open the vectors artifact at a folder; None for anything else, such as a hub name."""
    try:
        found = open_artifact(expand_path(folder))
    except (InputError, OSError):
        return None
    return found if found.kind == "vectors" else None


def _read_settings(artifact: Artifact) -> VectorsStep | ContextualStep | None:
    """Return the settings of the step that made vectors; None for imported vectors."""
    settings = artifact.manifest.settings
    if "word2vec" in settings:
        return read_saved_settings(VectorsStep, settings, artifact.name)
    if "contextual" in settings:
        return read_saved_settings(ContextualStep, settings, artifact.name)
    return None


def _with_seed(settings: VectorsStep | ContextualStep, seed: int) -> VectorsStep | ContextualStep:
    if isinstance(settings, VectorsStep):
        return replace(settings, word2vec=replace(settings.word2vec, seed=seed))
    return replace(settings, contextual=replace(settings.contextual, seed=seed))


def _describe_seed(spec: Spec) -> str:
    if isinstance(spec.settings, VectorsStep) and spec.settings.resample:
        return f"lines resampled with seed {spec.settings.resample}"
    return f"seed {spec.seed}"


def _key_without_seed(
    artifact: Artifact,
) -> tuple[VectorsStep | ContextualStep, dict[str, str]] | None:
    """Return what vectors were made from, apart from the seed; None if unknown."""
    try:
        found = _read_settings(artifact)
    except InputError:  # of a version with other settings
        return None
    if found is None:
        return None
    # Two results are alike if their settings are once the seeds that they may differ in are equal.
    settings = _with_seed(found, 0)
    if settings.corpus.sample == 1:  # no line is drawn: that seed does nothing
        settings = replace(settings, corpus=replace(settings.corpus, seed=CorpusSettings().seed))
    made_from = {role: given.stamp for role, given in artifact.manifest.inputs.items()}
    return settings, made_from | {"casing": artifact.manifest.casing}


def _key_without_resampling(
    artifact: Artifact,
) -> tuple[VectorsStep, dict[str, str], int | None] | None:
    """Return what word vectors were made from, apart from the resampling; None if unknown."""
    found = _key_without_seed(artifact)
    if found is None or not isinstance(found[0], VectorsStep):
        return None
    return replace(found[0], resample=0), found[1], artifact.manifest.seed
