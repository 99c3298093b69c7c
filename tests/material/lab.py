"""A small text and a small step for the tests of the lab and the command line."""

import random
import time
from pathlib import Path

import numpy as np

from tests.material.tiny_bert import WORDS
from vocadapt.lab.jobs.job import SPEC, Job
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

KNOWN = [word for word in WORDS if word.isalpha() and word not in ("diseases", "tachy", "cafe")]
QUICK = Word2VecSettings(epochs=1, min_count=1, workers=1)
LONG = 60  # seconds
NEW = ["aspirin", "euthymia", "dyspnea", "warfarin", "sepsis"]


def write_text(path: Path, lines: int = 300, seed: int = 1) -> Path:
    """Lines of ten words each, the model's own words and five that it lacks."""
    rng = random.Random(seed)
    path.write_text(
        "".join(" ".join(rng.choices(KNOWN + NEW, k=10)) + " .\n" for _ in range(lines)),
        encoding="utf-8",
    )
    return path


def write_documents(path: Path) -> Path:
    """Write forty documents of eight invented sentences, parted by empty lines."""
    rng = np.random.default_rng(1)
    documents = [
        [" ".join(rng.choice([*KNOWN, *NEW], size=6)) + " ." for _ in range(8)] for _ in range(40)
    ]
    path.write_text("\n\n".join("\n".join(own) for own in documents) + "\n", encoding="utf-8")
    return path


def write_job(workspace: Workspace, spec: Spec, name: str, state: str, number: int = 0) -> Job:
    """Write a job that has ended, without a process; one that is done has made its artifact."""
    folder = workspace.folder("jobs", f"20260101-000000-{number:06}-{spec.step}")
    folder.mkdir(parents=True)
    spec = spec.absolute()
    order = {"spec": spec.to_dict(), "target": f"{spec.kind}/{name}", "overwrite": False}
    strict_json.write(folder / SPEC, order)
    if state == "done":
        run_step(spec, workspace.folder(spec.kind, name), job=folder)
    write_status(folder, Status(state))
    return Job(folder)


def wait_for(job, state, seconds=LONG):
    end = time.monotonic() + seconds
    while job.status().state != state:
        assert time.monotonic() < end, f"{job.status()}\n{job.log()}"
        time.sleep(0.05)
    return job.status()
