"""Cached readers of artifacts, models and spaces.

STAMPS hashes arguments by the files they were read from, never by their matrices: Streamlit hashes
only a sample of a large array, so the results of two models could be confused.
"""

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import streamlit as st

from vocadapt.analysis.errors.votes import ExamplePrediction, predict_example
from vocadapt.lab.inputs.corpora import find_training_text
from vocadapt.lab.inputs.open_space import OpenedSpace, open_space
from vocadapt.lab.reports.ledgers import PairSpec, RunPair, open_pair
from vocadapt.lab.reports.word_lookup import look_up
from vocadapt.lab.results import runs
from vocadapt.lab.steps.alignment import AlignmentEvaluation, load_evaluation
from vocadapt.lab.workspace.manifest import MANIFEST, compute_seen_stamp, compute_stamp
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings, fit_alignment
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.alignment.cross_space import CrossSpace
from vocadapt.spaces.diagnostics.evaluation import PairScore, detect_casing, score_pairs
from vocadapt.spaces.diagnostics.statistics import compute_mean_cosine
from vocadapt.spaces.diagnostics.word_lists import load_bundled_pairs
from vocadapt.spaces.io.storage import VECTORS, WORDS, load_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import expand_path
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import ContextSettings, KeywordContext
from vocadapt.training.examples.examples import Example
from vocadapt.training.finetune.run_files import RUN, SavedRun, load_run
from vocadapt.training.tasks.task import Task, list_task_files, read_task
from vocadapt.ui.state import preload
from vocadapt.ui.state.paths import check_model

P = ParamSpec("P")
R = TypeVar("R")
FILES = (
    "config.json",
    "tokenizer.json",
    "vocab.txt",
    "model.safetensors",
    "model.safetensors.index.json",
    VECTORS,
    WORDS,
)


def stamp_files(path: Path) -> str:
    """Return a stamp that changes with the files of a model folder, or with a vocabulary file."""
    files = [path]
    if os.path.isdir(path):  # unlike Path.is_dir, False for a name that is too long
        files = [path / name for name in FILES]
    states = [file.stat() for file in files if os.path.isfile(file)]
    return " ".join(f"{state.st_size}-{state.st_mtime_ns}" for state in states)


def stamp_space(opened: OpenedSpace) -> str:
    """Return a stamp that changes with the files of a space."""
    return _stamp_folder(opened.folder)


def _stamp_folder(folder: Path) -> str:
    is_artifact = os.path.isfile(folder / MANIFEST)
    return f"{folder} {compute_stamp(folder) if is_artifact else stamp_files(folder)}"


# How the arguments of cached functions are hashed.
STAMPS: dict[str | type, Callable[[Any], Any]] = {
    Artifact: lambda artifact: f"{artifact.folder} {artifact.stamp}",
    LanguageModel: lambda model: f"{model.path} {stamp_files(model.path)}",
    OpenedSpace: stamp_space,
    type(Path()): lambda path: f"{path} {stamp_files(path)}",
    # With the paths: two visitors may have files of the same names, sizes and times.
    Corpus: lambda corpus: (
        f"{[*map(str, corpus.files)]} {compute_seen_stamp(corpus.files)} {corpus.settings}"
        f" {corpus.counted_by}"
    ),
}


def model_stamp(name: str) -> str:
    """Return a cache key that changes with the files of a model folder; constant for a hub name.

    Raises InputError for a path that pages may not open, before anything is read from it.
    """
    check_model(name)
    return stamp_files(expand_path(name)) or name


def space_stamp(name: str) -> str:
    """Return a cache key that changes with the files of a space."""
    check_model(name)
    return f"{name} {_stamp_folder(expand_path(name))}"


def cached(
    find_key: Callable[..., Any], max_entries: int, spinner: str | bool
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache the results of a function by a key of its arguments, such as a stamp of their files.

    The key is found outside the cache, so that its errors are raised as they are.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        def compute(key: Any, _function: Callable[[], R]) -> R:
            return _function()

        compute.__qualname__ = f"{function.__module__}.{function.__qualname__}"  # of its cache
        options: Any = {"max_entries": max_entries, "show_spinner": spinner}
        kept = st.cache_resource(**options, hash_funcs=STAMPS)(compute)
        return wraps(function)(
            lambda *given, **named: kept(
                find_key(*given, **named), partial(function, *given, **named)
            )
        )

    return decorate


@cached(lambda name: (name, model_stamp(name)), 8, "Reading the model's wordpieces …")
def model_of(name: str) -> LanguageModel:
    """Return a model that is on this machine; raise InputError if it is not. Never downloads."""
    return open_model(name, offline=True)


@cached(lambda name: (name, space_stamp(name)), 6, "Reading the space …")
def open_named_space(name: str) -> OpenedSpace:
    """Return a space by its name: a folder of word vectors, or a model on this machine.

    Raises InputError if the name is neither.
    """
    return open_space(name, offline=True)


@st.cache_resource(max_entries=4, show_spinner="Reading the word vectors …", hash_funcs=STAMPS)
def space_of(artifact: Artifact) -> EmbeddingSpace:
    """Return the word vectors of an artifact."""
    return load_space(artifact.folder)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=STAMPS)
def evaluation_of(artifact: Artifact) -> AlignmentEvaluation:
    """Return the held-out results of an alignment artifact."""
    return load_evaluation(artifact.folder)


# By the spaces themselves: those that pages search are kept by other caches, and are immutable.
RandomCosines = WeakKeyDictionary[EmbeddingSpace, float | None]
_RANDOM_COSINES: WeakKeyDictionary[EmbeddingSpace, RandomCosines] = WeakKeyDictionary()


def random_cosine_of(space: EmbeddingSpace, other: EmbeddingSpace | None = None) -> float | None:
    """Return the mean cosine of two random tokens of a space, or of one of each of two spaces,
    which bars of cosines mark.
    """
    found = _RANDOM_COSINES.setdefault(space, WeakKeyDictionary())
    key = space if other is None else other
    if key not in found:
        found[key] = compute_mean_cosine(space, other)
    return found[key]


@st.cache_data(max_entries=8, show_spinner="Comparing with human judgment …", hash_funcs=STAMPS)
def pair_scores(vectors: Artifact) -> dict[str, PairScore]:
    """Return the agreement of the vectors with human judgment on the bundled word pairs."""
    words = space_of(vectors)
    splitter = detect_casing(words)
    return {pairs.name: score_pairs(words, pairs, splitter) for pairs in load_bundled_pairs()}


# Few: with its mapped words and prepared wordpieces, one takes several times its vectors.
@st.cache_resource(max_entries=2, show_spinner="Fitting the alignment …", hash_funcs=STAMPS)
def cross_space_of(
    vectors: Artifact,
    model: LanguageModel,
    settings: AlignmentSettings,
    saved: Artifact | None = None,
) -> CrossSpace:
    """Return word vectors and wordpieces with their alignment, which is read from `saved` or else
    fitted now.
    """
    words = space_of(vectors)
    pieces = model.word_space
    alignment = Alignment.load(saved.folder) if saved else fit_alignment(words, pieces, settings)
    return CrossSpace(words, pieces, alignment)


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=STAMPS)
def anchors_of(vectors: Artifact, model: LanguageModel) -> int:
    """Return the number of anchors of the vectors and the model, without special tokens.

    Raises InputError if there is none.
    """
    return len(find_anchors(space_of(vectors), model.word_space))


# Opening a text reads the beginning of each of its files: not at each rerun, but a change is
# noticed after a minute.
@st.cache_data(max_entries=8, show_spinner=False, ttl=60, hash_funcs=STAMPS)
def training_text_of(vectors: Artifact) -> Corpus | None:
    """Return the text that word vectors were trained on; None if it is unknown or has changed."""
    return find_training_text(vectors.folder)


@st.cache_data(max_entries=8, show_spinner=False, ttl=60)
def corpus_behind(run: str) -> Corpus | None:
    """Return the text that the added words of a run's model come from; None if it is unavailable or
    has changed.
    """
    return runs.find_corpus(Path(run))


@st.cache_data(max_entries=64, show_spinner="Searching the text …", hash_funcs=STAMPS)
def context_of(
    corpus: Corpus, word: str, model: LanguageModel, settings: ContextSettings, root: Path
) -> KeywordContext:
    """Return the lines of a text that contain a word or wordpiece; raise InputError if it is
    neither.
    """
    return look_up(corpus, word, model.splitter, model.vocabulary, settings, root=root)


@cached(
    lambda path, fold=0: (str(path), compute_seen_stamp(list_task_files(path)), fold),
    4,
    "Reading the task …",
)
def task_of(path: Path, fold: int = 0) -> Task:
    """Return the examples of a task folder or .toml; for a k-fold task, those of one fold.

    Raises InputError if it is not a task.
    """
    return read_task(path, fold)


def load_runs(workspace: Workspace, task: str = "") -> list[runs.RunSet]:
    """Return the fine-tuned runs of a workspace, of one task or all, newest first; predictions are
    read lazily.
    """
    return runs.list_runs(workspace, task, _open_runs)


def runs_and_unreadable(workspace: Workspace) -> tuple[list[runs.RunSet], dict[str, str]]:
    """Return all runs, and the reason for each unreadable one by its name."""
    return runs.list_runs_and_errors(workspace, _open_runs)


@st.cache_resource(max_entries=4, show_spinner="Comparing the predictions …")
def run_pair(spec: PairSpec, stamps: tuple[str, ...]) -> RunPair:
    """Return two sets of predictions for error analysis; `stamps` are those of their artifacts."""
    return open_pair(spec)


def run_stamp(folder: str) -> str:
    """Return a cache key that changes with the record or the weights of a run."""
    return f"{model_stamp(folder)} {model_stamp(str(Path(folder) / RUN))}"


@cached(lambda folder: (folder, run_stamp(folder)), 2, False)
def run_of(folder: str) -> SavedRun:
    """Return the run of a folder, without its network; raise InputError unless it has exactly one."""
    return load_run(Path(folder))


@cached(lambda folder: (folder, run_stamp(folder)), 2, "Loading the network …")
def network_of(folder: str) -> SavedRun:
    """Return the run of a folder with its network loaded; raise InputError as `run_of` does."""
    run = run_of(folder)
    preload.wait()
    _ = run.network  # load it now, while the spinner is shown
    return run


@st.cache_resource(
    max_entries=64,
    show_spinner="Running the model with each tokenization …",
    hash_funcs={SavedRun: lambda run: run_stamp(str(run.folder))},
)
def predict_cached(run: SavedRun, example: Example) -> ExamplePrediction:
    """Return the predictions of a run for one example."""
    return predict_example(run, example)


# A set of runs holds its records, some kilobytes; it reads predictions when they are needed.
@st.cache_resource(max_entries=2000, show_spinner=False, hash_funcs=STAMPS)
def _open_runs(artifact: Artifact) -> runs.RunSet:
    return runs.open_runs(artifact.folder)
