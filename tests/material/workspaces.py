"""Workspaces built from a small synthetic text, for the page tests and the browser tests."""

from pathlib import Path

import numpy as np

from tests.material.lab import KNOWN, NEW, write_text
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.presets import get_preset
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

HOSTILE = ["<img/src=x/onerror=alert(1)>", "$x$", ":red[x]", "**bold**", "[UNK]"]


def hostile_vectors(path: Path, dim: int = 16) -> Path:
    """A word2vec text file whose words would do harm if a page read them as markup."""
    rng = np.random.default_rng(2)
    words = [*HOSTILE, *NEW, *KNOWN]
    rows = "".join(
        f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=dim))}\n" for word in words
    )
    path.write_text(f"{len(words)} {dim}\n{rows}", encoding="utf-8")
    return path


def seed_workspace(root: Path, model: Path) -> Workspace:
    """Run every step of the walk on the invented text."""
    workspace = Workspace(root)
    text = write_text(root.parent / "trials.txt", lines=1000)
    training = Word2VecSettings(epochs=2, min_count=2, workers=1)
    specs = {
        "trials": Spec(CorpusStep(), {"text": (str(text),), "model": (str(model),)}),
        "trials-vectors": Spec(
            VectorsStep(word2vec=training),
            inputs(workspace, model, text="corpora/trials"),
        ),
        "trials-map": Spec(
            AlignmentStep(AlignmentSettings(), folds=3, compare=True),
            inputs(workspace, model, vectors="vectors/trials-vectors"),
        ),
        "trials-model": Spec(
            AdaptStep(get_preset("green-bert")),
            inputs(workspace, model, vectors="vectors/trials-vectors"),
        ),
    }
    for name, spec in specs.items():
        run_step(spec, workspace.folder(spec.kind, name))
    return workspace


def seed_hostile(root: Path, model: Path) -> Workspace:
    """A workspace whose vectors hold words that are also markup."""
    workspace = Workspace(root)
    root.mkdir(parents=True)
    spec = Spec(
        ImportVectorsStep(),
        {"file": (str(hostile_vectors(root.parent / "hostile.vec")),), "model": (str(model),)},
    )
    run_step(spec, workspace.folder("vectors", "hostile"))
    return workspace


def inputs(workspace: Workspace, model: Path, **artifacts: str) -> dict[str, tuple[str, ...]]:
    return {role: (str(workspace.root / path),) for role, path in artifacts.items()} | {
        "model": (str(model),)
    }
