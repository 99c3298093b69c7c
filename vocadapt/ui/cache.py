"""Readers whose results are kept between reruns, each keyed by the stamp of what it read, never by a matrix.

Streamlit hashes only a sample of a large array: a matrix as a key could give another model's neighbours.
"""

import os
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from vocadapt.analysis.trying import Tried, try_out
from vocadapt.errors import InputError
from vocadapt.lab.advice import Asked, advise_on, places_of_counts
from vocadapt.lab.alignments import Judged, load_judged
from vocadapt.lab.comparing import Compared, load_compared
from vocadapt.lab.corpora import counts_path, read_corpus, text_behind
from vocadapt.lab.ledgers import PairSpec, RunPair, open_pair
from vocadapt.lab.lookup import look_up
from vocadapt.lab.manifest import MANIFEST, seen_stamp, stamp_of
from vocadapt.lab.opening import Opened, open_space
from vocadapt.lab.run_sources import corpus_of
from vocadapt.lab.runs import RunSet, open_runs, runs_of
from vocadapt.lab.workspace import Artefact, Workspace, changed
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.pipeline import Sources, plan_for
from vocadapt.recipe import Recipe
from vocadapt.spaces.alignment import Alignment, AlignmentSettings, fit_alignment
from vocadapt.spaces.anchors import find_anchors
from vocadapt.spaces.change import ChangeSettings, NeighbourhoodChange
from vocadapt.spaces.change_null import Null, Pair, change_with_null
from vocadapt.spaces.diagnostics import mean_cosine
from vocadapt.spaces.evaluation import PairScore, casing, score_pairs
from vocadapt.spaces.files import VECTORS, WORDS, load_space
from vocadapt.spaces.neighbours import CrossSpace
from vocadapt.spaces.pairs import bundled_pairs
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.context import Context, ContextSettings
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.training.run_files import RUN, SavedRun, load_run
from vocadapt.training.tasks.base import Example, Task
from vocadapt.training.tasks.own import files_of_task, read_task
from vocadapt.vocabulary.growth import Reducer
from vocadapt.vocabulary.lens import Change, Counts, CutFigures, Cutter, changes, finest, recount, refines
from vocadapt.vocabulary.overlap import Profile, profile
from vocadapt.vocabulary.plan import VocabularyPlan
from vocadapt.vocabulary.reduction import ReductionSettings, dropped
from vocadapt.vocabulary.wordpiece import Vocabulary

FILES = (
    "config.json", "tokenizer.json", "vocab.txt", "model.safetensors", "model.safetensors.index.json", VECTORS, WORDS,
)  # fmt: skip


def space_of(artefact: Artefact) -> EmbeddingSpace:
    """The word vectors of an artefact."""
    return _space(str(artefact.folder), artefact.stamp)


def model_of(name: str) -> LanguageModel:
    """A model that is on this machine; raises InputError for one that is not, and never downloads."""
    return _model(name, model_stamp(name))


def opened(name: str) -> Opened:
    """A space by its name: a folder of word vectors, or a model on this machine; raises InputError for what is neither."""
    return _opened(name, space_stamp(name))


def space_stamp(name: str) -> str:
    """Changes when the files behind a space do: the first part of any key for what is computed from it."""
    folder = Path(name).expanduser()
    return f"{name} {stamp_of(folder) if os.path.isfile(folder / MANIFEST) else model_stamp(name)}"


def change_of(
    before: str, after: str, settings: ChangeSettings, null: tuple[Artefact, Artefact] | None = None, about: str = ""
) -> tuple[NeighbourhoodChange, Null | None]:
    """What became of the neighbours of the words that two spaces share, held against a null of two word vectors."""
    stamps = (space_stamp(before), space_stamp(after), *(f"{one.folder} {one.stamp}" for one in null or ()), about)
    pair = Pair(about, *(space_of(one) for one in null)) if null else None
    return _change(stamps, settings, opened(before), opened(after), pair)


def mean_cosine_of(name: str) -> float | None:
    """The mean cosine over all pairs of a space's tokens."""
    return _mean_cosine(name, space_stamp(name), opened(name).space)


def pair_scores(vectors: Artefact) -> dict[str, PairScore]:
    """How the vectors agree with people on the bundled word pairs."""
    return _pair_scores(str(vectors.folder), vectors.stamp, space_of(vectors))


def judged_of(artefact: Artefact) -> Judged:
    """The held-out results of an alignment artefact."""
    return _judged(str(artefact.folder), artefact.stamp)


def compared_of(artefact: Artefact) -> Compared:
    """The leaderboard of initialisers that an artefact keeps."""
    return _compared(str(artefact.folder), artefact.stamp)


def task_of(path: Path, fold: int = 0) -> Task:
    """The examples of a task's folder or .toml; of a k-fold task, one fold. Raises InputError for what is none."""
    return _task(str(path), fold, seen_stamp(files_of_task(path)))


def runs_in(workspace: Workspace, task: str = "") -> list[RunSet]:
    """The fine-tuned runs of a workspace, of one task or of all, newest first; predictions are read when asked for."""
    return runs_of(workspace, task, lambda artefact: _runs(str(artefact.folder), artefact.stamp))


def run_pair(first: Path, first_cut: str, second: Path, second_cut: str, stamps: tuple[str, ...]) -> RunPair:
    """Two runs under a cut each, opened for their errors; `stamps` are those of their artefacts."""
    return _run_pair(stamps, PairSpec(str(first), str(second), (first_cut, second_cut)))


def corpus_behind(run: Path) -> Corpus | None:
    """The text that the words of a run's model came from, where that is there, unchanged."""
    return _corpus_behind(str(run), seen_stamp([run / MANIFEST]) if (run / MANIFEST).is_file() else "")


def network_of(folder: str) -> SavedRun:
    """A run with its network, read once; raises InputError for a folder that holds none, or several."""
    return _network(folder, run_stamp(folder))


def tried(folder: str, example: Example) -> Tried:
    """One example tried on a run; what was tried before is kept."""
    return _tried(folder, run_stamp(folder), example, network_of(folder))


def run_stamp(folder: str) -> str:
    """Changes when the record or the weights of a run do."""
    return f"{model_stamp(folder)} {model_stamp(str(Path(folder) / RUN))}"


def crossing(vectors: Artefact, model: str, settings: AlignmentSettings, kept: Artefact | None = None) -> CrossSpace:
    """Word vectors and a model's wordpieces, with the map between them: the one an alignment kept, else fitted here."""
    key = (str(vectors.folder), vectors.stamp, model, model_stamp(model))
    saved = (str(kept.folder), kept.stamp) if kept else None
    return _crossing(key, settings, saved, space_of(vectors), model_of(model))


def anchors_of(vectors: Artefact, model: str) -> int:
    """How many words the vectors share with the model, its special tokens aside; raises InputError where there is none."""
    return _anchors((str(vectors.folder), vectors.stamp, model, model_stamp(model)), space_of(vectors), model_of(model))


def plan_of(
    recipe: Recipe, model: str, vectors: Artefact | None, target: str | None, corpus: Artefact | None, root: Path
) -> VocabularyPlan:
    """The plan that a recipe gives for this model; raises InputError where the words of its text are not counted yet."""
    counts = counts_of(corpus, model, root) if corpus else None
    if corpus and counts is None:
        raise InputError(
            f"The words of {corpus.name} are not counted for {model} yet.", "Count them: on Word vectors, or by words count."
        )
    named = [f"{one.folder} {one.stamp}" for one in (vectors, corpus) if one]
    key = (*named, *(f"{name} {model_stamp(name)}" for name in (model, target) if name))
    sources = Sources(None, None, model_of(target) if target else None, counts.counts if counts else None)
    return _plan(key, recipe, model_of(model), sources, space_of(vectors) if vectors else None)


def counts_of(corpus: Artefact, model: str, root: Path) -> WordCounts | None:
    """The word counts that the workspace keeps of a corpus under a model's splitter; None where it was not counted."""
    return _kept(corpus, model_of(model).splitter, root)


def cutter_of(model: str, name: str) -> Cutter:
    """What of a model cuts words, under the name that a page shows; raises InputError where it has no vocabulary."""
    found = model_of(model)
    return Cutter(name, found.vocabulary, found.splitter)


def words_of(corpus: Artefact, splitter: Splitter, root: Path) -> Counts | None:
    """The words of a corpus and their counts, kept under this splitter or following from those kept under BERT's cased one."""
    if kept := _kept(corpus, splitter, root):
        return kept.counts
    cased = Splitter.bert(lowercase=False)
    finer = _kept(corpus, cased, root) if refines(cased, splitter) else None
    return _recounted(str(corpus.folder), corpus.stamp, splitter, finer.counts) if finer else None


def figures_of(corpus: Artefact, cutter: Cutter, model: str, root: Path) -> CutFigures | None:
    """How a model cuts a corpus; None where the corpus was not counted in such words."""
    counts = words_of(corpus, cutter.splitter, root)
    return _figures(str(corpus.folder), corpus.stamp, model, model_stamp(model), cutter.name, cutter, counts) if counts else None


def reducer_of(corpus: Artefact, model: str, root: Path) -> Reducer | None:
    """A model's vocabulary with the words of a corpus, ready to be reduced; None where they were not counted in such words."""
    found = model_of(model)
    counts = words_of(corpus, found.splitter, root)
    return _reducer(str(corpus.folder), corpus.stamp, model, model_stamp(model), found.vocabulary, counts) if counts else None


def profile_of(model: str) -> Profile:
    """A model's vocabulary in figures."""
    found = model_of(model)
    return _profile(model, model_stamp(model), found.vocabulary, found.splitter)


def longest_half(model: str) -> NDArray[np.bool_]:
    """Which tokens of a model, by id, leave by `longest` when half of them stay; none where so many cannot go."""
    return _longest_half(model, model_stamp(model), model_of(model).vocabulary)


def changes_of(corpus: Artefact, before: Cutter, after: Cutter, models: tuple[str, str], root: Path) -> list[Change] | None:
    """The words of a corpus that two models cut otherwise; None where the corpus was not counted in such words."""
    splitter = finest([before.splitter, after.splitter])
    counts, stamps = words_of(corpus, splitter, root), " ".join(map(model_stamp, models))
    return _changes(str(corpus.folder), corpus.stamp, models, stamps, splitter, before, after, counts) if counts else None


def text_of(vectors: Artefact, workspace: Workspace) -> Corpus | None:
    """The text that word vectors were trained on; None where it is not known any more, or was changed since."""
    given = vectors.manifest.inputs.get("text")
    return None if given is None or changed(given, workspace) else _text(str(vectors.folder), vectors.stamp, given.stamp)


def context_of(corpus: Corpus, asked: str, model: str, settings: ContextSettings, root: Path) -> Context:
    """The lines of a word or wordpiece in a text; raises InputError for what is neither."""
    key = (seen_stamp(corpus.files), str(corpus.settings), model, model_stamp(model), asked)
    return _context(key, settings, corpus, model_of(model), str(root))


@st.cache_resource(max_entries=4, show_spinner=False)
def _text(folder: str, stamp: str, text_stamp: str) -> Corpus | None:
    return text_behind(Path(folder))


@st.cache_data(max_entries=64, show_spinner="Looking through the text …")
def _context(key: tuple[str, ...], settings: ContextSettings, _corpus: Corpus, _model: LanguageModel, _root: str) -> Context:
    return look_up(_corpus, key[-1], _model.splitter, _model.vocabulary, settings, root=Path(_root))


def advice_of(corpus: Artefact, model: str, root: Path, task: Path | None) -> Asked | None:
    """The advice on a corpus of the workspace; None where it was not counted in the model's words. Never counts."""
    key = (str(corpus.folder), corpus.stamp, model, model_stamp(model))
    if not any(path.is_file() for path in _places(key, str(root), model_of(model))):
        return None
    return _advice(key, str(root), str(task) if task else "", model_stamp(str(task)) if task else "", model_of(model))


@st.cache_resource(max_entries=4, show_spinner="Reading the word vectors …")
def _space(folder: str, stamp: str) -> EmbeddingSpace:
    return load_space(Path(folder))


@st.cache_resource(max_entries=8, show_spinner="Reading the model's wordpieces …")
def _model(name: str, stamp: str) -> LanguageModel:
    return open_model(name, offline=True)


@st.cache_resource(max_entries=6, show_spinner="Reading the space …")
def _opened(name: str, stamp: str) -> Opened:
    return open_space(name, offline=True)


@st.cache_resource(max_entries=8, show_spinner="Comparing the neighbours of every word …")
def _change(
    key: tuple[str, ...], settings: ChangeSettings, _before: Opened, _after: Opened, _pair: Pair | None
) -> tuple[NeighbourhoodChange, Null | None]:
    return change_with_null(_before.space, _after.space, settings, _pair, _before.special | _after.special)


@st.cache_data(max_entries=32, show_spinner=False)
def _mean_cosine(name: str, stamp: str, _space: EmbeddingSpace) -> float | None:
    return mean_cosine(_space)


@st.cache_resource(max_entries=8, show_spinner=False)
def _judged(folder: str, stamp: str) -> Judged:
    return load_judged(Path(folder))


@st.cache_data(max_entries=8, show_spinner="Comparing with human judgement …")
def _pair_scores(folder: str, stamp: str, _words: EmbeddingSpace) -> dict[str, PairScore]:
    splitter = casing(_words)
    return {pairs.name: score_pairs(_words, pairs, splitter) for pairs in bundled_pairs()}


@st.cache_resource(max_entries=8, show_spinner=False)
def _compared(folder: str, stamp: str) -> Compared:
    return load_compared(Path(folder))


@st.cache_resource(max_entries=4, show_spinner="Reading the task …")
def _task(path: str, fold: int, stamp: str) -> Task:
    return read_task(Path(path), fold)


@st.cache_resource(max_entries=64, show_spinner=False)
def _runs(folder: str, stamp: str) -> RunSet:
    return open_runs(Path(folder))


@st.cache_resource(max_entries=4, show_spinner="Comparing the predictions …")
def _run_pair(stamps: tuple[str, ...], asked: PairSpec) -> RunPair:
    return open_pair(asked)


@st.cache_data(max_entries=8, show_spinner=False, ttl=60)
def _corpus_behind(run: str, stamp: str) -> Corpus | None:
    return corpus_of(Path(run))


@st.cache_resource(max_entries=2, show_spinner="Reading the network …")
def _network(folder: str, stamp: str) -> SavedRun:
    run = load_run(Path(folder))
    _ = run.network, run.cuts  # read now, under the spinner
    return run


@st.cache_resource(max_entries=64, show_spinner="Reading the text under each cut …")
def _tried(folder: str, stamp: str, example: Example, _run: SavedRun) -> Tried:
    return try_out(_run, example)


@st.cache_resource(max_entries=4, show_spinner="Fitting the map …")
def _crossing(
    key: tuple[str, ...],
    settings: AlignmentSettings,
    saved: tuple[str, str] | None,
    _words: EmbeddingSpace,
    _model: LanguageModel,
) -> CrossSpace:
    special = _model.vocabulary.special
    alignment = Alignment.load(Path(saved[0])) if saved else fit_alignment(_words, _model.space, settings, special)
    return CrossSpace(_words, _model.space, alignment, special)


@st.cache_data(max_entries=8, show_spinner=False)
def _anchors(key: tuple[str, ...], _words: EmbeddingSpace, _model: LanguageModel) -> int:
    return len(find_anchors(_words, _model.space, exclude=_model.vocabulary.special))


@st.cache_resource(max_entries=4, show_spinner="Planning the vocabulary …")
def _plan(
    key: tuple[str, ...], recipe: Recipe, _model: LanguageModel, _sources: Sources, _words: EmbeddingSpace | None
) -> VocabularyPlan:
    return plan_for(recipe, _model, _sources, _words)


def _kept(corpus: Artefact, splitter: Splitter, root: Path) -> WordCounts | None:
    """The counts that the workspace keeps; whether they are there is looked up each time: a job may have counted since."""
    path = _counts_file(str(corpus.folder), corpus.stamp, splitter, str(root))
    return _counts(str(path)) if path.is_file() else None


@st.cache_data(max_entries=32, show_spinner="Looking up the word counts …")
def _counts_file(folder: str, stamp: str, splitter: Splitter, root: str) -> Path:
    return counts_path(Path(root), read_corpus([folder]), splitter)


@st.cache_resource(max_entries=4, show_spinner="Reading the word counts …")
def _counts(path: str) -> WordCounts:
    return WordCounts.read(Path(path))


@st.cache_resource(max_entries=4, show_spinner="Reading the word counts …")
def _recounted(folder: str, stamp: str, splitter: Splitter, _finer: Counts) -> Counts:
    return recount(_finer, splitter)


@st.cache_resource(max_entries=32, show_spinner="Cutting the words of the text …")
def _figures(folder: str, stamp: str, model: str, model_stamp: str, name: str, _cutter: Cutter, _counts: Counts) -> CutFigures:
    return _cutter.figures(_counts)


@st.cache_resource(max_entries=4, show_spinner="Laying out the words of the text …")
def _reducer(folder: str, stamp: str, model: str, model_stamp: str, _vocabulary: Vocabulary, _counts: Counts) -> Reducer:
    reducer = Reducer(_vocabulary, _counts)
    _ = reducer.tokens  # laid out and cut now, under the spinner
    return reducer


@st.cache_resource(max_entries=16, show_spinner="Measuring the vocabulary …")
def _profile(model: str, model_stamp: str, _vocabulary: Vocabulary, _splitter: Splitter) -> Profile:
    return profile(_vocabulary, _splitter)


@st.cache_resource(max_entries=16, show_spinner=False)
def _longest_half(model: str, model_stamp: str, _vocabulary: Vocabulary) -> NDArray[np.bool_]:
    try:
        gone = frozenset(dropped(_vocabulary, ReductionSettings("longest", 0.5)))
    except InputError:
        gone = frozenset()
    return np.array([token in gone for token in _vocabulary.tokens])


@st.cache_resource(max_entries=8, show_spinner="Looking for words that are cut otherwise …")
def _changes(
    folder: str, stamp: str, models: tuple[str, str], model_stamps: str, splitter: Splitter,
    _before: Cutter, _after: Cutter, _counts: Counts,
) -> list[Change]:  # fmt: skip
    return changes(_counts, splitter, _before, _after)


@st.cache_data(max_entries=16, show_spinner="Looking up the word counts …")
def _places(key: tuple[str, ...], root: str, _model: LanguageModel) -> tuple[Path, ...]:
    return places_of_counts(Path(root), read_corpus([key[0]]), _model.splitter)


@st.cache_resource(max_entries=8, show_spinner="Looking at how its words are cut …")
def _advice(key: tuple[str, ...], root: str, task: str, task_stamp: str, _model: LanguageModel) -> Asked:
    return advise_on(read_corpus([key[0]]), _model, Path(root), Path(task) if task else None)


def model_stamp(name: str) -> str:
    """Changes when the files of a model folder do; a hub name stays what it is."""
    folder = Path(name).expanduser()
    files = [folder / file for file in FILES] if os.path.isdir(folder) else [folder]  # unlike Path, false for a name too long
    return " ".join(f"{file.stat().st_size}-{file.stat().st_mtime_ns}" for file in files if os.path.isfile(file)) or name
