"""Cached word counts, tokenization figures and plans of a text and a model, keyed as in `cache`."""

from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.lab.artifacts.corpora import counts_path, read_corpus
from vocadapt.lab.reports.advice import AdviceReport, advise_on, list_count_paths
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.language_model import LanguageModel
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.recipe import Recipe
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.ui.frame.cache import model_of, model_stamp, space_of
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.growth.extension_size import ExtensionCurve, measure_extension_curve
from vocadapt.vocabulary.growth.growth import Reducer
from vocadapt.vocabulary.lens import (
    Change,
    Counts,
    TokenizationFigures,
    WordTokenizer,
    find_finest_splitter,
    list_changes,
    recount_words,
    refines,
)
from vocadapt.vocabulary.overlap import Profile, profile
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.reduction import ReductionSettings, select_removed_tokens


def plan_of(
    recipe: Recipe,
    model: str,
    vectors: Artifact | None,
    target: str | None,
    corpus: Artifact | None,
    root: Path,
) -> VocabularyPlan:
    """Return the vocabulary plan of a recipe for a model.

    Raises InputError where the plan looks at counts and the words of the text are not counted yet;
    a text that is only trained on afterwards need not be.
    """
    corpus = corpus if "counts" in recipe.needs else None
    counts = counts_of(corpus, model, root) if corpus else None
    if corpus and counts is None:
        raise InputError(
            f"The words of {corpus.name} have no counts for {model} yet.",
            "Import the text with this model on the page Word vectors.",
        )
    named = [f"{one.folder} {one.stamp}" for one in (vectors, corpus) if one]
    key = (*named, *(f"{name} {model_stamp(name)}" for name in (model, target) if name))
    sources = Sources(
        None, None, model_of(target) if target else None, counts.counts if counts else None
    )
    return _plan(key, recipe, model_of(model), sources, space_of(vectors) if vectors else None)


def extension_of(recipe: Recipe, model: str, corpus: Artifact, root: Path) -> ExtensionCurve:
    """Return the effect of a growing extension on a text, up to the size of the recipe."""
    plan, counts = plan_of(recipe, model, None, None, corpus, root), counts_of(corpus, model, root)
    return _extension(
        str(corpus.folder),
        corpus.stamp,
        model,
        model_stamp(model),
        recipe,
        plan,
        counts.counts if counts else {},
    )


def counts_of(corpus: Artifact, model: str, root: Path) -> WordCounts | None:
    """Return the saved word counts of a corpus for a model's word splitter; None if there are none."""
    return _kept(corpus, model_of(model).splitter, root)


def word_tokenizer_of(model: str, name: str) -> WordTokenizer:
    """Return the tokenizer of a model under a display name; raise InputError if it has no
    vocabulary.
    """
    found = model_of(model)
    return WordTokenizer(name, found.vocabulary, found.splitter)


def words_of(corpus: Artifact, splitter: Splitter, root: Path) -> Counts | None:
    """Return the word counts of a corpus for a splitter, saved or derived from those of BERT's
    cased splitter.
    """
    if kept := _kept(corpus, splitter, root):
        return kept.counts
    cased = Splitter.bert(lowercase=False)
    finer = _kept(corpus, cased, root) if refines(cased, splitter) else None
    return _recounted(str(corpus.folder), corpus.stamp, splitter, finer.counts) if finer else None


def figures_of(
    corpus: Artifact, word_tokenizer: WordTokenizer, model: str, root: Path
) -> TokenizationFigures | None:
    """Return the tokenization figures of a model on a corpus; None without matching word counts."""
    counts = words_of(corpus, word_tokenizer.splitter, root)
    return (
        _figures(
            str(corpus.folder),
            corpus.stamp,
            model,
            model_stamp(model),
            word_tokenizer.name,
            word_tokenizer,
            counts,
        )
        if counts
        else None
    )


def reducer_of(corpus: Artifact, model: str, root: Path) -> Reducer | None:
    """Return the reducer of a model's vocabulary on a corpus; None without matching word counts."""
    found = model_of(model)
    counts = words_of(corpus, found.splitter, root)
    return (
        _reducer(
            str(corpus.folder), corpus.stamp, model, model_stamp(model), found.vocabulary, counts
        )
        if counts
        else None
    )


def profile_of(model: str) -> Profile:
    """Return statistics of a model's vocabulary."""
    found = model_of(model)
    return _profile(model, model_stamp(model), found.vocabulary, found.splitter)


def longest_half(model: str) -> NDArray[np.bool_]:
    """Return a mask by id of the tokens that `longest` removes at 50 %; all False if so many cannot
    be removed.
    """
    return _longest_half(model, model_stamp(model), model_of(model).vocabulary)


def changes_of(
    corpus: Artifact,
    before: WordTokenizer,
    after: WordTokenizer,
    models: tuple[str, str],
    root: Path,
) -> list[Change] | None:
    """Return the words of a corpus that two models tokenize differently; None without matching word
    counts.
    """
    splitter = find_finest_splitter([before.splitter, after.splitter])
    counts, stamps = words_of(corpus, splitter, root), " ".join(map(model_stamp, models))
    return (
        _changes(str(corpus.folder), corpus.stamp, models, stamps, splitter, before, after, counts)
        if counts
        else None
    )


def advice_of(corpus: Artifact, model: str, root: Path, task: Path | None) -> AdviceReport | None:
    """Return the advice on a corpus; None without word counts for the model. Never counts."""
    key = (str(corpus.folder), corpus.stamp, model, model_stamp(model))
    if not any(path.is_file() for path in _places(key, str(root), model_of(model))):
        return None
    return _advice(
        key,
        str(root),
        str(task) if task else "",
        model_stamp(str(task)) if task else "",
        model_of(model),
    )


@st.cache_resource(max_entries=4, show_spinner="Planning the vocabulary …")
def _plan(
    key: tuple[str, ...],
    recipe: Recipe,
    _model: LanguageModel,
    _sources: Sources,
    _words: EmbeddingSpace | None,
) -> VocabularyPlan:
    return plan_adaptation(recipe, _model, _sources, _words)


@st.cache_resource(max_entries=8, show_spinner="Tokenizing the text at each size …")
def _extension(
    folder: str,
    stamp: str,
    model: str,
    model_stamp: str,
    recipe: Recipe,
    _plan: VocabularyPlan,
    _counts: Counts,
) -> ExtensionCurve:
    return measure_extension_curve(_plan, _counts)


def _kept(corpus: Artifact, splitter: Splitter, root: Path) -> WordCounts | None:
    """Return the saved counts; looked up each time, because a job may have counted since."""
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
    return recount_words(_finer, splitter)


@st.cache_resource(max_entries=32, show_spinner="Tokenizing the text …")
def _figures(
    folder: str,
    stamp: str,
    model: str,
    model_stamp: str,
    name: str,
    _word_tokenizer: WordTokenizer,
    _counts: Counts,
) -> TokenizationFigures:
    return _word_tokenizer.figures(_counts)


@st.cache_resource(max_entries=4, show_spinner="Preparing the words of the text …")
def _reducer(
    folder: str, stamp: str, model: str, model_stamp: str, _vocabulary: Vocabulary, _counts: Counts
) -> Reducer:
    reducer = Reducer(_vocabulary, _counts)
    _ = reducer.tokens  # laid out and tokenized now, under the spinner
    return reducer


@st.cache_resource(max_entries=16, show_spinner="Measuring the vocabulary …")
def _profile(model: str, model_stamp: str, _vocabulary: Vocabulary, _splitter: Splitter) -> Profile:
    return profile(_vocabulary, _splitter)


@st.cache_resource(max_entries=16, show_spinner=False)
def _longest_half(model: str, model_stamp: str, _vocabulary: Vocabulary) -> NDArray[np.bool_]:
    try:
        gone = frozenset(select_removed_tokens(_vocabulary, ReductionSettings("longest", 0.5)))
    except InputError:
        gone = frozenset()
    return np.array([token in gone for token in _vocabulary.tokens])


@st.cache_resource(max_entries=8, show_spinner="Comparing the tokenizations …")
def _changes(
    folder: str,
    stamp: str,
    models: tuple[str, str],
    model_stamps: str,
    splitter: Splitter,
    _before: WordTokenizer,
    _after: WordTokenizer,
    _counts: Counts,
) -> list[Change]:
    return list_changes(_counts, splitter, _before, _after)


@st.cache_data(max_entries=16, show_spinner="Looking up the word counts …")
def _places(key: tuple[str, ...], root: str, _model: LanguageModel) -> tuple[Path, ...]:
    return list_count_paths(Path(root), read_corpus([key[0]]), _model.splitter)


@st.cache_resource(max_entries=8, show_spinner="Tokenizing the words of the text …")
def _advice(
    key: tuple[str, ...], root: str, task: str, task_stamp: str, _model: LanguageModel
) -> AdviceReport:
    return advise_on(read_corpus([key[0]]), _model, Path(root), Path(task) if task else None)
