"""Lay out assets/demo from two pretrained models and word vectors: how the shipped demo was made.
Run from the project's root.

    python -m vocadapt pretrain --from-scratch … --out MODEL
    python -m vocadapt vectors train … --model MODEL --dim 256 --out VECTORS
    python -m vocadapt adapt … --out MOVED; python -m vocadapt pretrain --model MOVED … --out BIOMEDICAL
    python assets/demo/make.py MODEL BIOMEDICAL VECTORS

The manifests record settings, figures, versions and inputs inside the demo, but no paths of the
machine that ran this script.
"""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from vocadapt.lab.demo import BIOMEDICAL, MAP, MODEL, VECTORS
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import record_input
from vocadapt.lab.workspace.workspace import open_artifact
from vocadapt.models.language_model import open_model
from vocadapt.spaces.io.storage import load_space, save_space

HERE = Path(__file__).parent
WORDS = 20_000
ORDINARY = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


def main(model: Path, biomedical: Path, vectors: Path) -> None:
    """Write the four artifacts, each whole or not at all."""
    for folder in ("models", "vectors", "alignments"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    put_model(model.resolve(), MODEL)
    put_model(biomedical.resolve(), BIOMEDICAL)
    _vectors(vectors.resolve())
    os.chdir(HERE)  # so that the command in the manifest names paths inside the demo
    inputs = {"vectors": (str(Path(*VECTORS)),), "model": (str(Path(*MODEL)),)}
    made = run_step(Spec(AlignmentStep(compare=True), inputs), Path(*MAP))
    sys.stdout.write(f"{made.manifest.numbers}\n")


def put_model(source: Path, place: tuple[str, str]) -> None:
    """Copy the files of an ordinary model folder, and its manifest without the inputs, whose paths
    are those of another machine.
    """
    given = open_artifact(source).manifest
    with open_draft(HERE / Path(*place)) as draft:
        for file in filter(lambda name: (source / name).is_file(), ORDINARY):
            shutil.copyfile(source / file, draft / file)
        replace(given, name=place[1], inputs={}, command="", files=()).save(draft)


def _vectors(source: Path) -> None:
    given, space = open_artifact(source).manifest, load_space(source)
    kept = space.take(range(min(WORDS, len(space))))  # most frequent first
    vocabulary = open_model(HERE / Path(*MODEL)).vocabulary
    new = sum(word not in vocabulary for word in kept.words)
    numbers = {
        **given.numbers,
        "words": len(kept),
        "of": len(space),
        "new_words": new,
        "occurrences": int(kept.counts.sum()),
    }
    with open_draft(HERE / Path(*VECTORS)) as draft:
        save_space(kept, draft, "float16")
        inputs = {"model": record_input([HERE / Path(*MODEL)], HERE)}
        replace(given, name=VECTORS[1], inputs=inputs, numbers=numbers, command="", files=()).save(
            draft
        )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
