"""The demo: a workspace that fills every page of the lab.

`assets/demo/` has the layout of a workspace. Opening the demo copies its artifacts into another
workspace. Jobs make what is too large to be shipped: an adapted model, a projection of it, its
neighborhoods compared with those of its base model, and a fine-tuned network. `run_demo` waits for
them.

An artifact of the demo that was renamed is recognized by its manifest (`find_demo_artifact`).
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from vocadapt.errors import InputError
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.shared_queue import count_free_jobs
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.change import BASE_TO_ADAPTED
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.step import Numbers, Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import FLOOR, measure_files, reserve_space
from vocadapt.lab.workspace.drafts import convert_write_errors, open_draft
from vocadapt.lab.workspace.manifest import (
    ARTIFACTS,
    MANIFEST,
    Manifest,
    compute_stamp,
    read_manifest,
)
from vocadapt.lab.workspace.workspace import Artifact, Workspace, is_name, open_artifact
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.io.word_files import find_gensim_file
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.system.files import read_whole
from vocadapt.system.shipped_files import find_shipped_files
from vocadapt.training.finetune.settings import FinetuneSettings

Place = tuple[str, str]  # kind and name of an artifact
DEMO = find_shipped_files() / "assets" / "demo"
EXAMPLES = DEMO / "examples.json"  # words to offer first: see assets/demo/make_examples.py
HEADLINE = DEMO / "headline.json"  # of the first screen: see assets/demo/make_headline.py
WORD_COUNTS = "counts"  # folder of cached word counts

# The artifacts that are shipped, by kind and name.
MODEL = ("models", "demo-bert")
BIOMEDICAL = ("models", "demo-biomedical-bert")
# The general model, pretrained equally on biomedical text: with new words, and as it is.
WORDS_MODEL = ("models", "demo-words-bert")
PLAIN_MODEL = ("models", "demo-plain-bert")
VECTORS = ("vectors", "demo-biomedical")
MAP = ("alignments", "demo-map")
BEST = ("alignments", "demo-best")
COUNTED = ("corpora", "demo-biomedical")
NOTES = ("corpora", "demo-notes")
TASK = ("tasks", "demo-diseases")
BASE_RUNS = ("runs", "demo-diseases-base")
ADAPTED_RUNS = ("runs", "demo-diseases-adapted")
STUDY = ("studies", "demo-study")
# A task in which single words decide: runs, and a study with random embeddings beside.
WORDS_TASK = ("tasks", "demo-words")
WORDS_STUDY = ("studies", "demo-words-study")
WORDS_BASE_RUNS = ("runs", "demo-words-base")
WORDS_ADAPTED_RUNS = ("runs", "demo-words-adapted")
BOARD = ("initializers", "demo-initializers")
SHIPPED = (
    MODEL,
    BIOMEDICAL,
    WORDS_MODEL,
    PLAIN_MODEL,
    VECTORS,
    MAP,
    BEST,
    COUNTED,
    NOTES,
    TASK,
    BASE_RUNS,
    ADAPTED_RUNS,
    STUDY,
    WORDS_TASK,
    WORDS_STUDY,
    WORDS_BASE_RUNS,
    WORDS_ADAPTED_RUNS,
    BOARD,
)

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
RUN_SETTINGS = FinetuneSettings(epochs=4)
WORDS_RUN_SETTINGS = FinetuneSettings(epochs=10)
# Artifacts that jobs make, in this order: title, settings, inputs by role, and share of the time.
JOBS: dict[Place, tuple[str, Any, dict[str, Place], float]] = {
    ADAPTED: ("adapted model", AdaptStep(), {"model": MODEL, "vectors": VECTORS}, 3.0),
    PROJECTION: (
        "projection",
        ProjectionStep(TokenChoice(around=WORD, nearest=NEAREST), ProjectionSettings("tsne")),
        {"space": ADAPTED},
        1.0,
    ),
    CHANGE: (
        "neighborhood change",
        BASE_TO_ADAPTED,
        {"before": MODEL, "after": ADAPTED, "counts": VECTORS},
        2.0,
    ),
    TRY_RUN: (
        "fine-tuned model",
        # Two epochs take half the time, and hardly change the score.
        FinetuneStep(replace(RUN_SETTINGS, epochs=2)),
        {"model": ADAPTED, "task": TASK},
        3.0,
    ),
}


@dataclass(frozen=True)
class DemoJob:
    """An artifact that a job makes, title and spec of its step, and its share of the time."""

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
    jobs = []
    for place, (title, settings, inputs, weight) in JOBS.items():
        paths = {role: (str(_find_folder(workspace, one)),) for role, one in inputs.items()}
        jobs.append(DemoJob(place, title, Spec(settings, paths), weight))
    return jobs


def find_known_model(name: str, root: Path) -> tuple[Path | None, bool]:
    """Return the folder of a model in the workspace at `root` or in the demo, and whether it has
    this name; without one, the demo's model, None if the demo is not installed.
    """
    named = [folder / MODEL[0] / name for folder in (root, DEMO) if is_name(name)]
    here = Path.cwd()
    for folder in (*named, DEMO.joinpath(*MODEL)):
        if (folder / MANIFEST).is_file():
            shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
            return shown, folder in named
    return None, False


def find_demo_artifact(workspace: Workspace, place: Place) -> Artifact | None:
    """Return an artifact of the demo, which may have been renamed; None if the workspace lacks it."""
    with suppress(InputError):  # no artifact has this name
        found = open_artifact(workspace.folder(*place))
        if is_demo_artifact(found, place):
            return found
    renamed = (one for one in workspace.artifacts(place[0]) if is_demo_artifact(one, place))
    return next(renamed, None)


def is_demo_artifact(artifact: Artifact, place: Place) -> bool:
    """Return whether an artifact is the one of the demo at `place`: its kind and original name.

    The inputs are not compared, because renaming an input changes the manifest.
    """
    manifest = artifact.manifest
    shipped = DEMO.joinpath(*place)
    if place[0] == "studies" or place not in SHIPPED:  # a study may have run again
        return manifest.name == place[1]
    if not (shipped / MANIFEST).is_file():
        return False
    return replace(manifest, inputs={}) == replace(read_manifest(shipped), inputs={})


def _find_folder(workspace: Workspace, place: Place) -> Path:
    """Return the folder of an artifact of the demo, or the folder that it will have."""
    found = find_demo_artifact(workspace, place)
    return found.folder if found else workspace.folder(*place)


def find_news_text() -> Path:
    """Return gensim's 300 news stories: enough to demonstrate the steps, too little to align."""
    return find_gensim_file("lee_background.cor")


def is_demo_installed() -> bool:
    """Return whether the demo's artifacts are part of this installation."""
    return all((DEMO / kind / name / MANIFEST).is_file() for kind, name in SHIPPED)


def has_demo(workspace: Workspace) -> bool:
    """Return whether the demo was opened in a workspace: its model is there."""
    return find_demo_artifact(workspace, MODEL) is not None


def is_demo_complete(workspace: Workspace) -> bool:
    """Return whether a workspace has, or jobs are making, everything that the demo consists of."""
    if not all(_exists_or_is_promised(workspace, place) for place in SHIPPED):
        return False
    return all(_exists_or_is_promised(workspace, job.place) for job in list_demo_jobs(workspace))


def _exists_or_is_promised(workspace: Workspace, place: Place) -> bool:
    if _find_folder(workspace, place).exists():
        return True
    kind, name = place
    return name in queue.list_promised_names(workspace, kind)


def open_demo(workspace: Workspace) -> list[Artifact]:
    """Copy the demo's artifacts into a workspace; those that it already has, under any name, are
    left as they are.

    Raises InputError if they are not part of this installation, if the workspace has other
    artifacts of the same names, and if they cannot be written. Nothing is copied in the first two
    cases; in the last one, opening the demo again copies the rest.
    """
    # 1. Which artifacts are missing? Nothing is written if a name is taken.
    if not is_demo_installed():
        raise InputError(
            f"The demo is not part of this installation: {DEMO}.",
            "Install vocadapt again, or run it from a clone of the repository.",
            code="no-demo",
        )
    missing = [place for place in SHIPPED if find_demo_artifact(workspace, place) is None]
    taken = ["/".join(place) for place in missing if workspace.folder(*place).exists()]
    if taken:
        raise InputError(
            f"This workspace has other artifacts with names of the demo: {', '.join(taken)}.",
            "Rename those, or open the demo in a new workspace; nothing was changed in this one.",
            code="names-taken",
        )

    # 2. Copy them.
    needed = measure_files(str(DEMO / kind / name) for kind, name in missing)
    stamps: dict[str, str] = {}
    with ExitStack() as stack:
        if missing:
            # No place of its own: others may fill the same workspace.
            stack.enter_context(reserve_space(workspace.root / uuid4().hex, needed, FLOOR))
        for kind, name in missing:
            draft = stack.enter_context(open_draft(workspace.folder(kind, name)))
            shutil.copytree(DEMO / kind / name, draft, dirs_exist_ok=True)
            _update_inputs(workspace, draft, stamps)
    _copy_word_counts(workspace)
    return [open_artifact(_find_folder(workspace, place)) for place in SHIPPED]


def _update_inputs(workspace: Workspace, draft: Path, stamps: dict[str, str]) -> None:
    """Replace the names of renamed artifacts of the demo in the inputs of a copied artifact.

    stamps: shipped stamp of an artifact that was copied before -> its stamp if it was changed here.
    """
    manifest = Manifest.load(draft)
    shipped_stamp = compute_stamp(draft)
    inputs = {}
    for role, given in manifest.inputs.items():
        kind, _, name = given.paths[0].partition("/")
        stamp = stamps.get(given.stamp, given.stamp)
        found = None
        if kind in ARTIFACTS and is_name(name):
            found = find_demo_artifact(workspace, (kind, name))
        if found is None:  # copied with this one, or not made yet
            inputs[role] = replace(given, stamp=stamp)
            continue
        if stamp and not given.seen:  # an artifact, not files
            stamp = found.stamp
        inputs[role] = replace(given, paths=(f"{kind}/{found.name}",), stamp=stamp)
    if inputs != manifest.inputs:
        strict_json.write(draft / MANIFEST, asdict(replace(manifest, inputs=inputs)))
        stamps[shipped_stamp] = compute_stamp(draft)


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
    """Start jobs for missing artifacts of the demo, as many as a visitor may have; return them."""
    started: list[queue.Job] = []
    room = count_free_jobs(workspace.root)
    for job in list_demo_jobs(workspace):
        if room is not None and len(started) >= room:
            break
        kind, name = job.place
        if _find_folder(workspace, job.place).exists():
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
    yield DemoStepResult("open", f"opened {names}", time.perf_counter() - start, "", {})
    planned = list_demo_jobs(workspace)
    total = sum(job.weight for job in planned)
    done = 0.0
    started = start_demo_jobs(workspace)
    # Ended jobs are ignored: the artifacts that they did not make are made by new jobs.
    running = [job for job in queue.list_jobs(workspace) if job.status().alive]
    jobs = {job.target: job for job in (*running, *started)}

    # 2. Wait for them in turn.
    try:
        for one in planned:
            step_progress = part(progress, done / total, (done + one.weight) / total, one.title)
            done += one.weight
            folder = _find_folder(workspace, one.place)
            seconds = 0.0
            verb = "kept"
            if folder in jobs:
                seconds = _wait_for(jobs[folder], step_progress)
                verb = "made"
            numbers = dict(open_artifact(folder).manifest.numbers)
            did = f"{verb} {one.spec.kind}/{folder.name}"
            command = build_command(one.spec, folder)
            yield DemoStepResult(one.title, did, seconds, command, numbers)
    finally:
        for job in reversed(started):  # last first: the next job would start without its inputs
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
            code="job-failed",
        )
    return status.seconds
