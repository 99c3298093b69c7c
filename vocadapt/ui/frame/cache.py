"""Cached readers of artifacts, models and spaces, keyed by the stamps of what they read, never by a
matrix.

Streamlit hashes only a sample of a large array: a matrix as a key could give another model's
neighbors.
"""

import os
from pathlib import Path

import streamlit as st

from vocadapt.files import expand_path
from vocadapt.lab.artifacts.alignments import AlignmentEvaluation, load_evaluation
from vocadapt.lab.artifacts.corpora import find_training_text
from vocadapt.lab.artifacts.open_space import OpenedSpace, open_space
from vocadapt.lab.reports.word_lookup import look_up
from vocadapt.lab.steps.compare_initializers import InitializerComparison, load_comparison
from vocadapt.lab.workspace.manifest import MANIFEST, seen_stamp, stamp_of
from vocadapt.lab.workspace.workspace import Artifact, Workspace, changed
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings, fit_alignment
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.diagnostics.evaluation import PairScore, detect_casing, score_pairs
from vocadapt.spaces.diagnostics.mean_cosines import compute_mean_cosine
from vocadapt.spaces.diagnostics.word_pairs import load_bundled_pairs
from vocadapt.spaces.io.storage import VECTORS, WORDS, load_space
from vocadapt.spaces.neighbors.change import ChangeSettings, NeighborhoodChange
from vocadapt.spaces.neighbors.cross_space import CrossSpace
from vocadapt.spaces.neighbors.noise_baseline import (
    BaselinePair,
    NoiseBaseline,
    measure_change_with_baseline,
)
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import Context, ContextSettings
from vocadapt.ui.serving.paths import check_model

FILES = (
    "config.json",
    "tokenizer.json",
    "vocab.txt",
    "model.safetensors",
    "model.safetensors.index.json",
    VECTORS,
    WORDS,
)


def space_of(artifact: Artifact) -> EmbeddingSpace:
    """Return the word vectors of an artifact."""
    return _space(str(artifact.folder), artifact.stamp)


def model_of(name: str) -> LanguageModel:
    """Return a model of this machine; raise InputError if it is not there. Never downloads."""
    return _model(name, model_stamp(name))


def opened(name: str) -> OpenedSpace:
    """Return a space by its name, a folder of word vectors or a model of this machine; raise
    InputError if it is neither.
    """
    return _opened(name, space_stamp(name))


def space_stamp(name: str) -> str:
    """Return a cache key that changes with the files of a space."""
    check_model(name)
    folder = expand_path(name)
    return f"{name} {stamp_of(folder) if os.path.isfile(folder / MANIFEST) else model_stamp(name)}"


def change_of(
    before: str,
    after: str,
    settings: ChangeSettings,
    baseline: tuple[Artifact, Artifact] | None = None,
    about: str = "",
) -> tuple[NeighborhoodChange, NoiseBaseline | None]:
    """Return the neighborhood change between two spaces, and its noise baseline from two word
    vectors.
    """
    stamps = (
        space_stamp(before),
        space_stamp(after),
        *(f"{one.folder} {one.stamp}" for one in baseline or ()),
        about,
    )
    pair = BaselinePair(about, *(space_of(one) for one in baseline)) if baseline else None
    return _change(stamps, settings, opened(before), opened(after), pair)


def mean_cosine_of(name: str) -> float | None:
    """Return the mean cosine over all pairs of a space's tokens."""
    return _mean_cosine(name, space_stamp(name), opened(name).space)


def pair_scores(vectors: Artifact) -> dict[str, PairScore]:
    """Return the agreement of the vectors with human judgment on the bundled word pairs."""
    return _pair_scores(str(vectors.folder), vectors.stamp, space_of(vectors))


def judged_of(artifact: Artifact) -> AlignmentEvaluation:
    """Return the held-out results of an alignment artifact."""
    return _judged(str(artifact.folder), artifact.stamp)


def compared_of(artifact: Artifact) -> InitializerComparison:
    """Return the leaderboard of initializers of an artifact."""
    return _compared(str(artifact.folder), artifact.stamp)


def crossing(
    vectors: Artifact, model: str, settings: AlignmentSettings, kept: Artifact | None = None
) -> CrossSpace:
    """Return word vectors and wordpieces with their alignment: the saved one of `kept`, or one that
    is fitted now.
    """
    key = (str(vectors.folder), vectors.stamp, model, model_stamp(model))
    saved = (str(kept.folder), kept.stamp) if kept else None
    return _crossing(key, settings, saved, space_of(vectors), model_of(model))


def anchors_of(vectors: Artifact, model: str) -> int:
    """Return the number of anchors of the vectors and the model, without special tokens; raise
    InputError if there is none.
    """
    return _anchors(
        (str(vectors.folder), vectors.stamp, model, model_stamp(model)),
        space_of(vectors),
        model_of(model),
    )


def text_of(vectors: Artifact, workspace: Workspace) -> Corpus | None:
    """Return the text that word vectors were trained on; None if it is unknown or has changed."""
    given = vectors.manifest.inputs.get("text")
    return (
        None
        if given is None or changed(given, workspace)
        else _text(str(vectors.folder), vectors.stamp, given.stamp)
    )


def context_of(
    corpus: Corpus, asked: str, model: str, settings: ContextSettings, root: Path
) -> Context:
    """Return the lines of a word or wordpiece in a text; raise InputError if it is neither."""
    key = (seen_stamp(corpus.files), str(corpus.settings), model, model_stamp(model), asked)
    return _context(key, settings, corpus, model_of(model), str(root))


@st.cache_resource(max_entries=4, show_spinner=False)
def _text(folder: str, stamp: str, text_stamp: str) -> Corpus | None:
    return find_training_text(Path(folder))


@st.cache_data(max_entries=64, show_spinner="Looking through the text …")
def _context(
    key: tuple[str, ...],
    settings: ContextSettings,
    _corpus: Corpus,
    _model: LanguageModel,
    _root: str,
) -> Context:
    return look_up(_corpus, key[-1], _model.splitter, _model.vocabulary, settings, root=Path(_root))


@st.cache_resource(max_entries=4, show_spinner="Reading the word vectors …")
def _space(folder: str, stamp: str) -> EmbeddingSpace:
    return load_space(Path(folder))


@st.cache_resource(max_entries=8, show_spinner="Reading the model's wordpieces …")
def _model(name: str, stamp: str) -> LanguageModel:
    return open_model(name, offline=True)


@st.cache_resource(max_entries=6, show_spinner="Reading the space …")
def _opened(name: str, stamp: str) -> OpenedSpace:
    return open_space(name, offline=True)


@st.cache_resource(max_entries=8, show_spinner="Comparing the neighbors of every word …")
def _change(
    key: tuple[str, ...],
    settings: ChangeSettings,
    _before: OpenedSpace,
    _after: OpenedSpace,
    _pair: BaselinePair | None,
) -> tuple[NeighborhoodChange, NoiseBaseline | None]:
    return measure_change_with_baseline(_before.space, _after.space, settings, _pair)


@st.cache_data(max_entries=32, show_spinner=False)
def _mean_cosine(name: str, stamp: str, _space: EmbeddingSpace) -> float | None:
    return compute_mean_cosine(_space)


@st.cache_resource(max_entries=8, show_spinner=False)
def _judged(folder: str, stamp: str) -> AlignmentEvaluation:
    return load_evaluation(Path(folder))


@st.cache_data(max_entries=8, show_spinner="Comparing with human judgment …")
def _pair_scores(folder: str, stamp: str, _words: EmbeddingSpace) -> dict[str, PairScore]:
    splitter = detect_casing(_words)
    return {pairs.name: score_pairs(_words, pairs, splitter) for pairs in load_bundled_pairs()}


@st.cache_resource(max_entries=8, show_spinner=False)
def _compared(folder: str, stamp: str) -> InitializerComparison:
    return load_comparison(Path(folder))


@st.cache_resource(max_entries=4, show_spinner="Fitting the alignment …")
def _crossing(
    key: tuple[str, ...],
    settings: AlignmentSettings,
    saved: tuple[str, str] | None,
    _words: EmbeddingSpace,
    _model: LanguageModel,
) -> CrossSpace:
    pieces = _model.word_space
    alignment = Alignment.load(Path(saved[0])) if saved else fit_alignment(_words, pieces, settings)
    return CrossSpace(_words, pieces, alignment)


@st.cache_data(max_entries=8, show_spinner=False)
def _anchors(key: tuple[str, ...], _words: EmbeddingSpace, _model: LanguageModel) -> int:
    return len(find_anchors(_words, _model.word_space))


def model_stamp(name: str) -> str:
    """Return a cache key that changes with the files of a model folder; constant for a hub name.

    Raises InputError for a path that pages may not open, before anything is read from it.
    """
    check_model(name)
    folder = expand_path(name)
    files = (
        [folder / file for file in FILES] if os.path.isdir(folder) else [folder]
    )  # unlike Path, false for a name too long
    return (
        " ".join(
            f"{file.stat().st_size}-{file.stat().st_mtime_ns}"
            for file in files
            if os.path.isfile(file)
        )
        or name
    )
