"""Cached readers of tasks and runs, hashed as in `cache` by the stamps of what they read."""

from pathlib import Path

import streamlit as st

from vocadapt.analysis.errors.votes import ExamplePrediction, predict_example
from vocadapt.lab.artifacts import runs
from vocadapt.lab.artifacts.runs import find_corpus
from vocadapt.lab.reports.ledgers import PairSpec, RunPair, open_pair
from vocadapt.lab.workspace.manifest import MANIFEST, compute_seen_stamp
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.text.corpus import Corpus
from vocadapt.training.finetune.run_files import RUN, SavedRun, load_run
from vocadapt.training.tasks.examples import Example
from vocadapt.training.tasks.task import Task, files_of_task, read_task
from vocadapt.ui.frame.cache import STAMPS, model_stamp
from vocadapt.ui.serving import preload


def task_of(path: Path, fold: int = 0) -> Task:
    """Return the examples of a task folder or .toml; for a k-fold task, those of one fold. Raise
    InputError if it is no task.
    """
    return _task(str(path), fold, compute_seen_stamp(files_of_task(path)))


def runs_in(workspace: Workspace, task: str = "") -> list[runs.RunSet]:
    """Return the fine-tuned runs of a workspace, of one task or all, newest first; predictions are
    read lazily.
    """
    return runs.list_runs(workspace, task, _open_runs)


def runs_and_unreadable(workspace: Workspace) -> tuple[list[runs.RunSet], dict[str, str]]:
    """Return all runs, and the reason for each unreadable one by its name."""
    return runs.list_runs_and_errors(workspace, _open_runs)


@st.cache_resource(max_entries=4, show_spinner="Comparing the predictions …")
def run_pair(asked: PairSpec, stamps: tuple[str, ...]) -> RunPair:
    """Return two sets of predictions for error analysis; `stamps` are those of their artifacts."""
    return open_pair(asked)


def corpus_behind(run: Path) -> Corpus | None:
    """Return the text of the added words of a run's model, if it is available and unchanged."""
    return _corpus_behind(
        str(run), compute_seen_stamp([run / MANIFEST]) if (run / MANIFEST).is_file() else ""
    )


def run_of(folder: str) -> SavedRun:
    """Return the run of a folder, without its network; raise InputError if there is none, or
    several.
    """
    return _run(folder, run_stamp(folder))


def network_of(folder: str) -> SavedRun:
    """Return the run of a folder with its network, loaded once; raise InputError as `run_of`
    does.
    """
    return _network(folder, run_stamp(folder))


@st.cache_resource(
    max_entries=64,
    show_spinner="Running the model with each tokenization …",
    hash_funcs={SavedRun: lambda run: run_stamp(str(run.folder))},
)
def tried(run: SavedRun, example: Example) -> ExamplePrediction:
    """Return the predictions of a run for one example."""
    return predict_example(run, example)


def run_stamp(folder: str) -> str:
    """Return a cache key that changes with the record or the weights of a run."""
    return f"{model_stamp(folder)} {model_stamp(str(Path(folder) / RUN))}"


@st.cache_resource(max_entries=4, show_spinner="Reading the task …")
def _task(path: str, fold: int, stamp: str) -> Task:
    return read_task(Path(path), fold)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=STAMPS)
def _open_runs(artifact: Artifact) -> runs.RunSet:
    return runs.open_runs(artifact.folder)


@st.cache_data(max_entries=8, show_spinner=False, ttl=60)
def _corpus_behind(run: str, stamp: str) -> Corpus | None:
    return find_corpus(Path(run))


@st.cache_resource(max_entries=2, show_spinner=False)
def _run(folder: str, stamp: str) -> SavedRun:
    return load_run(Path(folder))


@st.cache_resource(max_entries=2, show_spinner="Loading the network …")
def _network(folder: str, stamp: str) -> SavedRun:
    run = _run(folder, stamp)
    preload.wait()
    _ = run.network  # load it now, while the spinner is shown
    return run
