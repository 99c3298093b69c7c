"""The demo: a workspace that fills every page of the lab.

`assets/demo/` has the layout of a workspace. Opening the demo copies its artifacts into another
workspace. Jobs make what is too large to be shipped: an adapted model, a projection of it, its
neighborhoods compared with those of its base model, and a fine-tuned network. `run_demo` waits for
them.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import vocadapt
from vocadapt.errors import InputError
from vocadapt.files import read_whole
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.change import BASE_TO_ADAPTED
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import Numbers, Spec
from vocadapt.lab.workspace.disk_space import FLOOR, check_disk_space, measure_files
from vocadapt.lab.workspace.drafts import convert_write_errors, open_draft
from vocadapt.lab.workspace.manifest import MANIFEST, compute_stamp
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.io.word_files import find_gensim_file
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.training.finetune.settings import FinetuneSettings

Place = tuple[str, str]  # kind and name of an artifact
DEMO = Path(vocadapt.__file__).parents[1] / "assets" / "demo"
EXAMPLES = DEMO / "examples.json"  # words to offer first: see assets/demo/make_examples.py
WORD_COUNTS = "counts"  # folder of cached word counts

# The artifacts that are shipped, by kind and name.
MODEL, BIOMEDICAL = ("models", "demo-bert"), ("models", "demo-biomedical-bert")
VECTORS = ("vectors", "demo-biomedical")
MAP, BEST = ("alignments", "demo-map"), ("alignments", "demo-best")
COUNTED, NOTES = ("corpora", "demo-biomedical"), ("corpora", "demo-notes")
TASK = ("tasks", "demo-diseases")
BASE_RUNS, ADAPTED_RUNS = ("runs", "demo-diseases-base"), ("runs", "demo-diseases-adapted")
SHIPPED = (MODEL, BIOMEDICAL, VECTORS, MAP, BEST, COUNTED, NOTES, TASK, BASE_RUNS, ADAPTED_RUNS)

# A small text for those who have none at hand, which gensim brings along.
NEWS = ("corpora", "demo-news")

# The artifacts that jobs make.
ADAPTED = ("models", "demo-adapted")
PROJECTION = ("projections", "demo-cancer")
CHANGE = ("changes", "demo-base-to-adapted")
TRY_RUN = ("runs", "demo-try-it")

LOOK_EVERY = 0.2  # seconds between two looks at a job
WORD = "cancer"  # the projection shows its neighborhood: a third of it are old tokens
NEAREST = 300  # tokens of the projection
PROJECTION_STEP = ProjectionStep(
    TokenChoice(around=WORD, nearest=NEAREST), ProjectionSettings("tsne")
)
RUN_SETTINGS = FinetuneSettings(epochs=4)
TRY_EPOCHS = 2  # of the network that is made: half the time, and hardly another score
NOT_INSTALLED = "Run vocadapt from a clone of the repository."


@dataclass(frozen=True)
class DemoJob:
    """An artifact that a job makes, the title of its step, how it is made, and its share of the
    time.
    """

    place: Place
    title: str
    spec: Spec
    weight: float


@dataclass(frozen=True)
class DemoStepResult:
    """Result of one step: a sentence on what it did, its figures, seconds and command line."""

    step: str
    did: str
    seconds: float
    command: str
    numbers: Numbers


def list_demo_jobs(workspace: Workspace) -> list[DemoJob]:
    """List what is made after the shipped artifacts were copied, in this order."""
    return [
        _plan_job(
            workspace,
            ADAPTED,
            "adapted model",
            ("model", ModelStep()),
            {"model": MODEL, "vectors": VECTORS},
            3.0,
        ),
        _plan_job(
            workspace,
            PROJECTION,
            "projection",
            ("projection", PROJECTION_STEP),
            {"space": ADAPTED},
            1.0,
        ),
        _plan_job(
            workspace,
            CHANGE,
            "neighborhood change",
            ("change", BASE_TO_ADAPTED),
            {"before": MODEL, "after": ADAPTED, "counts": VECTORS},
            2.0,
        ),
        _plan_job(
            workspace,
            TRY_RUN,
            "fine-tuned model",
            ("finetune", FinetuneStep(replace(RUN_SETTINGS, epochs=TRY_EPOCHS))),
            {"model": ADAPTED, "task": TASK},
            3.0,
        ),
    ]


def _plan_job(
    workspace: Workspace,
    place: Place,
    title: str,
    step: tuple[str, Any],
    inputs: Mapping[str, Place],
    weight: float,
) -> DemoJob:
    paths = {role: (str(workspace.folder(*given)),) for role, given in inputs.items()}
    return DemoJob(place, title, Spec(*step, paths), weight)


def find_news_text() -> Path:
    """Return gensim's 300 news stories: enough to demonstrate the steps, too little for a useful
    alignment.
    """
    return find_gensim_file("lee_background.cor")


def is_demo_installed() -> bool:
    """Return whether the demo's artifacts are part of this installation."""
    return all((DEMO / kind / name / MANIFEST).is_file() for kind, name in SHIPPED)


def is_demo_complete(workspace: Workspace) -> bool:
    """Return whether a workspace has, or jobs are making, everything that the demo consists of."""
    made = [job.place for job in list_demo_jobs(workspace)]
    return not any(
        name not in queue.list_promised_names(workspace, kind)
        for kind, name in (*SHIPPED, *made)
        if not workspace.folder(kind, name).exists()
    )


def open_demo(workspace: Workspace) -> list[Artifact]:
    """Copy the demo's artifacts into a workspace; those that it already has are left as they are.

    Raises InputError if they are not part of this installation, if the workspace has other
    artifacts of the same names, and if they cannot be written. Nothing is copied in the first two
    cases; in the last one, opening the demo again copies the rest.
    """
    # 1. Which artifacts are missing? Nothing is written if a name is taken.
    if not is_demo_installed():
        raise InputError(f"The demo is not part of this installation: {DEMO}.", NOT_INSTALLED)
    missing = [place for place in SHIPPED if not workspace.folder(*place).exists()]
    taken = [
        "/".join(place)
        for place in SHIPPED
        if place not in missing and _is_another(workspace, place)
    ]
    if taken:
        raise InputError(
            f"This workspace has other artifacts with names of the demo: {', '.join(taken)}.",
            "Open the demo in a new workspace; nothing was changed in this one.",
        )

    # 2. Copy them.
    needed = measure_files(str(DEMO / kind / name) for kind, name in missing)
    if missing:
        check_disk_space(workspace.root, FLOOR + needed)
    with ExitStack() as stack:
        for kind, name in missing:
            draft = stack.enter_context(open_draft(workspace.folder(kind, name)))
            shutil.copytree(DEMO / kind / name, draft, dirs_exist_ok=True)
    _copy_word_counts(workspace)
    return [workspace.artifact(kind, name) for kind, name in SHIPPED]


def _is_another(workspace: Workspace, place: Place) -> bool:
    """Return whether a folder of the workspace is not the demo's artifact of this name."""
    folder = workspace.folder(*place)
    if not (folder / MANIFEST).is_file():
        return True
    return compute_stamp(folder) != compute_stamp(DEMO.joinpath(*place))


def _copy_word_counts(workspace: Workspace) -> None:
    """Copy the cached word counts of the demo's text."""
    target = workspace.root / WORD_COUNTS
    with convert_write_errors(target):
        for source in (DEMO / WORD_COUNTS).glob("*.tsv"):
            if (target / source.name).is_file():
                continue
            target.mkdir(parents=True, exist_ok=True)
            draft = target / f".{source.name}.{os.getpid()}"
            draft.write_bytes(read_whole(source))
            os.replace(draft, target / source.name)


def start_demo_jobs(workspace: Workspace) -> list[queue.Job]:
    """Start the jobs of the demo whose artifacts do not exist and are not being made; return them."""
    started = []
    for job in list_demo_jobs(workspace):
        kind, name = job.place
        if workspace.folder(kind, name).exists():
            continue
        if name not in queue.list_promised_names(workspace, kind):
            started.append(queue.start(workspace, job.spec, name))
    return started


def run_demo(workspace: Workspace, progress: Progress = silent) -> Iterator[DemoStepResult]:
    """Open the demo, wait for its jobs, and yield the result of each step.

    Raises InputError if a job does not finish. If the caller stops waiting, the jobs are canceled.
    """
    # 1. Copy what is shipped, and start the jobs for the rest.
    start = time.perf_counter()
    opened = open_demo(workspace)
    names = ", ".join(artifact.name for artifact in opened)
    yield DemoStepResult("open", f"copied {names}", time.perf_counter() - start, "", {})
    planned = list_demo_jobs(workspace)
    total, done = sum(job.weight for job in planned), 0.0
    started = start_demo_jobs(workspace)
    jobs = {job.target: job for job in reversed(queue.list_jobs(workspace))}  # the newest of each

    # 2. Wait for them in turn.
    try:
        for one in planned:
            step_progress = part(progress, done / total, (done + one.weight) / total, one.title)
            done += one.weight
            folder = workspace.folder(*one.place)
            seconds = 0.0
            if folder in jobs:
                seconds = _wait_for(jobs[folder], step_progress)
            manifest = workspace.artifact(*one.place).manifest
            did = f"made {'/'.join(one.place)}"
            command = build_command(one.spec, folder)
            yield DemoStepResult(one.title, did, seconds, command, dict(manifest.numbers))
    finally:
        for job in started:
            if job.status().alive:
                job.cancel()


def _wait_for(job: queue.Job, progress: Progress) -> float:
    """Wait for the end of a job and return its seconds; raise InputError unless it is done."""
    while (status := job.status()).alive:
        progress(status.fraction, status.message or status.state)
        time.sleep(LOOK_EVERY)
    if status.state != "done":
        raise InputError(
            f"The job {job.id} is {status.state}. {status.error}".strip(),
            status.remedy or "Run the demo again: what is done is kept.",
        )
    return status.seconds
