"""Runs built by hand in the format of finetune, without training, so that every value is known."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Example, Split
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.scoring.counts import DEFAULT_RULES
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.predictions import build_tally

Prediction = Mapping[str, Sequence[Any]]  # what is said of each example, by cut


def write_run(
    folder: Path,
    examples: Sequence[Example],
    said: Prediction,
    seed: int = 1,
    kind: str = "ner",
    task: str = "toy",
    **record: Any,
) -> Path:
    """Write the run of one seed: its record with the scores that these predictions have, its
    predictions and logits.
    """
    folder.mkdir(parents=True)
    split, scorer = Split(tuple(examples)), TASK_KINDS[kind].scorer(record.get("scorer", ""))
    scores = {
        tokenization: scorer.score_tally(build_tally(split, list(own), scorer)).to_dict()
        for tokenization, own in said.items()
    }
    outputs = sorted({label for own in said.values() for labels in own for label in labels} | {"O"})
    values = {
        "task": task,
        "kind": kind,
        "outputs": outputs,
        "scorer": scorer.name,
        "rules": asdict(DEFAULT_RULES),
        "model": "base",
        "seed": seed,
        "trained_on": "mixed" if len(said) > 1 else "base",
        "settings": asdict(FinetuneSettings()),
        "scores": scores,
        "dev": [0.25, 0.5, 0.5],
        "curve": [[1, 0.9], [2, 0.4], [3, 0.2]],
        "seconds": 2.0,
        "examples": 30,
        "trainable": 100,
        "frozen": 0,
        "collapsed": False,
        "findings": [],
        **record,
    }
    (folder / "run.json").write_text(json.dumps(values), encoding="utf-8")
    lines = (
        {
            **asdict(example),
            "said": {tokenization: list(own[place]) for tokenization, own in said.items()},
        }  # type: ignore[call-overload]
        for place, example in enumerate(examples)
    )
    (folder / "predictions.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    rows = {
        tokenization: np.zeros((len(examples), len(outputs)), dtype=np.float32)
        for tokenization in said
    }
    save_file(
        {"sizes": np.ones(len(examples), dtype=np.int64), **rows}, folder / "logits.safetensors"
    )
    return folder


def write_runs(
    workspace: Workspace,
    name: str,
    examples: Sequence[Example],
    seeds: Mapping[int, Prediction],
    model: str = "",
    **record: Any,
) -> Path:
    """Write an artifact of runs, one for each seed, as finetune does: one seed in the folder
    itself, several below it.
    """
    folder = workspace.folder("runs", name)
    for seed, said in seeds.items():
        place = folder / f"seed-{seed}" if len(seeds) > 1 else folder
        write_run(place, examples, said, seed, model=model or name, **record)
    Manifest(
        "runs",
        name,
        {"seeds": list(seeds), "limit": 0, "fold": 0},
        command="python -m vocadapt finetune",
    ).save(folder)
    return folder
