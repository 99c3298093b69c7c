"""Cached word counts, tokenization figures and plans of a text and a model, hashed as in `cache`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import build_counts_path, read_corpus
from vocadapt.lab.reports.advice import AdviceReport, advise_on, list_count_paths
from vocadapt.lab.reports.growth_curves import GrowthCurves, load_or_measure_growth_curves
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.language_model import LanguageModel
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.recipe import Recipe
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.ui.state.cache import STAMPS, cached, model_of, model_stamp, space_of
from vocadapt.vocabulary.growth.growth import ExtensionCurve, Reducer, measure_extension_curve
from vocadapt.vocabulary.growth.plan_cost import PlanCost, measure_plan_cost, measure_savings
from vocadapt.vocabulary.growth.word_tokenizations import SplitWord
from vocadapt.vocabulary.lens import (
    Change,
    Counts,
    TokenizationFigures,
    WordTokenizer,
    find_finest_splitter,
    list_changes,
    list_worst_split_words,
    recount_words,
    refines,
)
from vocadapt.vocabulary.overlap import Profile, profile
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.reduction import ReductionSettings, select_removed_tokens

MAX_SPLIT_WORDS = 40  # length of the list of words split worst


@cached(
    lambda recipe, model, vectors, target, corpus, root: (
        recipe,
        model_of(model),
        vectors,
        model_of(target) if target else None,
        # A text that is used only for training does not change the plan.
        corpus if "counts" in recipe.needs else None,
    ),
    4,
    "Planning the vocabulary …",
)
def plan_of(
    recipe: Recipe,
    model: str,
    vectors: Artifact | None,
    target: str | None,
    corpus: Artifact | None,
    root: Path,
) -> VocabularyPlan:
    """Return the vocabulary plan of a recipe for a model.

    Raises InputError if the plan needs word counts and the words of the text are not counted yet.
    """
    opened = model_of(model)
    sources = Sources(target=model_of(target) if target else None)
    if corpus and "counts" in recipe.needs:
        counts = words_of(corpus, opened.splitter, root)
        if counts is None:
            raise InputError(
                f"{corpus.name} has no word counts for {model} yet.",
                "Choose this text and this model on the page Your text, and count the words.",
            )
        sources = replace(sources, counts=counts.in_sample, held_out=counts.held_out)
    return plan_adaptation(recipe, opened, sources, space_of(vectors) if vectors else None)


@cached(
    lambda recipe, model, corpus, root: (recipe, model_of(model), corpus),
    8,
    "Tokenizing the text at each size …",
)
def extension_of(recipe: Recipe, model: str, corpus: Artifact, root: Path) -> ExtensionCurve:
    """Return the effect of a growing extension on a text, up to the size of the recipe."""
    plan = plan_of(recipe, model, None, None, corpus, root)
    counts = words_of(corpus, model_of(model).splitter, root)
    assert counts is not None  # checked by `plan_of`
    return measure_extension_curve(plan, counts.in_sample, held_out=counts.held_out)


@cached(
    lambda recipe, model, vectors, target, corpus, root: (
        recipe,
        vectors,
        model_of(target) if target else None,
        _find_counted_key(corpus, model, root),
    ),
    8,
    "Tokenizing the text with the new vocabulary …",
)
def cost_of(
    recipe: Recipe,
    model: str,
    vectors: Artifact | None,
    target: str | None,
    corpus: Artifact,
    root: Path,
) -> PlanCost | None:
    """Return what the plan of a recipe costs a text, or saves; None without word counts.

    Raises what `plan_of` raises.
    """
    counts = words_of(corpus, model_of(model).splitter, root)
    if counts is None:
        return None
    plan = plan_of(recipe, model, vectors, target, corpus, root)
    return measure_plan_cost(plan, counts)


@cached(
    lambda recipe, model, vectors, text, plan, counts: (recipe.vocabulary, model, vectors, text),
    8,
    "Tokenizing the text with the new words …",
)
def savings_of(
    recipe: Recipe,
    model: LanguageModel,
    vectors: Artifact,
    text: Artifact,
    plan: VocabularyPlan,
    counts: WordCounts,
) -> PlanCost:
    """Return what the added words of word vectors save in the text of these vectors."""
    return measure_savings(plan, model.splitter, counts)


def counts_of(corpus: Artifact, model: str, root: Path) -> WordCounts | None:
    """Return the saved word counts of a corpus for a model's word splitter; None if there are none."""
    return _read_saved_counts(corpus, model_of(model).splitter, root)


def select_counted(corpora: Sequence[Artifact], model: str, root: Path) -> list[Artifact]:
    """Return the corpora whose words were counted for a model's word splitter; no counts are read."""
    splitter = model_of(model).splitter
    return [one for one in corpora if _counts_path(one, splitter, str(root)).is_file()]


def words_of(corpus: Artifact, splitter: Splitter, root: Path) -> WordCounts | None:
    """Return the word counts of a corpus for a splitter, saved or derived from those of BERT's
    cased splitter.
    """
    saved = _read_saved_counts(corpus, splitter, root)
    if saved is not None:
        return saved
    # Without counts for this splitter, derive them from those of BERT's cased one, if it is finer.
    cased = Splitter.bert(lowercase=False)
    finer = _read_saved_counts(corpus, cased, root) if refines(cased, splitter) else None
    return _recount(corpus, splitter, finer) if finer else None


def _read_saved_counts(corpus: Artifact, splitter: Splitter, root: Path) -> WordCounts | None:
    """Return the saved counts; not cached, because a job may have created them since."""
    path = _counts_path(corpus, splitter, str(root))
    return _read_counts(str(path)) if path.is_file() else None


# A path is small, but the text is read to find it: keep those of all texts.
@st.cache_resource(max_entries=2000, show_spinner=False, hash_funcs=STAMPS)
def _counts_path(corpus: Artifact, splitter: Splitter, root: str) -> Path:
    return build_counts_path(Path(root), read_corpus([corpus.folder]), splitter)


@st.cache_resource(max_entries=4, show_spinner="Reading the word counts …")
def _read_counts(path: str) -> WordCounts:
    return WordCounts.read(Path(path))


@st.cache_resource(max_entries=4, show_spinner="Reading the word counts …", hash_funcs=STAMPS)
def _recount(corpus: Artifact, splitter: Splitter, _finer: WordCounts) -> WordCounts:
    counts, held_out = (recount_words(one, splitter) for one in (_finer.counts, _finer.held_out))
    return replace(_finer, counts=counts, held_out=held_out)


def _find_counted_key(corpus: Artifact, model: str, root: Path) -> tuple[Any, ...]:
    """Return a cache key of a corpus and a model that changes when the words have been counted."""
    opened = model_of(model)
    return corpus, opened, words_of(corpus, opened.splitter, root) is None


@cached(
    lambda corpus, model, name, root: (_find_counted_key(corpus, model, root), name),
    32,
    "Tokenizing the text …",
)
def figures_of(corpus: Artifact, model: str, name: str, root: Path) -> TokenizationFigures | None:
    """Return the tokenization figures of a model on a corpus; None without matching word counts.

    name: display name of the model in the figures. Raises InputError if the model has no
    vocabulary.
    """
    opened = model_of(model)
    counts = words_of(corpus, opened.splitter, root)
    if not counts:
        return None
    return WordTokenizer(name, opened.vocabulary, opened.splitter).measure(counts.counts)


@cached(_find_counted_key, 16, "Tokenizing the text …")
def worst_split_of(corpus: Artifact, model: str, root: Path) -> list[SplitWord]:
    """Return the words of a corpus that a model splits worst; [] without matching word counts."""
    opened = model_of(model)
    counts = words_of(corpus, opened.splitter, root)
    if not counts:
        return []
    tokenizer = WordTokenizer("", opened.vocabulary, opened.splitter)
    return list_worst_split_words(counts.counts, opened.splitter, tokenizer, MAX_SPLIT_WORDS)


@cached(_find_counted_key, 4, "Preparing the words of the text …")
def reducer_of(corpus: Artifact, model: str, root: Path) -> Reducer | None:
    """Return the reducer of a model's vocabulary on a corpus; None without matching word counts."""
    opened = model_of(model)
    counts = words_of(corpus, opened.splitter, root)
    if not counts:
        return None
    reducer = Reducer(opened.vocabulary, counts.in_sample, counts.held_out)
    _ = reducer.tokens  # tokenize the text now, while the spinner is shown
    return reducer


@cached(
    lambda corpus, model, reducer, root: (corpus, model),
    16,
    "Reducing the vocabulary to many sizes …",
)
def growth_curves_of(
    corpus: Artifact, model: LanguageModel, reducer: Reducer, root: Path
) -> GrowthCurves:
    """Return the growth under each heuristic, from the whole vocabulary to the smallest possible."""
    return load_or_measure_growth_curves(root, read_corpus([corpus.folder]), model, reducer)


@st.cache_resource(max_entries=16, show_spinner="Measuring the vocabulary …", hash_funcs=STAMPS)
def profile_of(model: LanguageModel) -> Profile:
    """Return statistics of a model's vocabulary."""
    return profile(model.vocabulary, model.splitter)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=STAMPS)
def longest_half(model: LanguageModel) -> NDArray[np.bool_]:
    """Return a mask by id of the tokens that the heuristic `longest` removes at 50 %.

    All values are False if so many tokens cannot be removed.
    """
    settings = ReductionSettings("longest", 0.5)
    try:
        removed = frozenset(select_removed_tokens(model.vocabulary, settings))
    except InputError:
        removed = frozenset()
    return np.array([token in removed for token in model.vocabulary.tokens])


def changes_of(
    corpus: Artifact, before: LanguageModel, after: LanguageModel, root: Path
) -> list[Change] | None:
    """Return the words of a corpus that two models tokenize differently; None without matching word
    counts.
    """
    splitter = find_finest_splitter([before.splitter, after.splitter])
    counts = words_of(corpus, splitter, root)
    if not counts:
        return None
    return _changes(corpus, (before, after), splitter, counts.counts)


@st.cache_resource(max_entries=8, show_spinner="Comparing the tokenizations …", hash_funcs=STAMPS)
def _changes(
    corpus: Artifact,
    models: tuple[LanguageModel, LanguageModel],
    splitter: Splitter,
    _counts: Counts,
) -> list[Change]:
    tokenizers = [WordTokenizer("", model.vocabulary, model.splitter) for model in models]
    return list_changes(_counts, splitter, *tokenizers)


def advice_of(corpus: Artifact, model: str, root: Path, task: Path | None) -> AdviceReport | None:
    """Return the advice on a corpus; None without word counts, which are not computed here."""
    found = model_of(model)
    if not any(path.is_file() for path in _list_count_paths(corpus, found, str(root))):
        return None
    return _compute_advice(corpus, model, root, task)


@st.cache_data(max_entries=16, show_spinner="Looking up the word counts …", hash_funcs=STAMPS)
def _list_count_paths(corpus: Artifact, model: LanguageModel, root: str) -> tuple[Path, ...]:
    return list_count_paths(Path(root), read_corpus([corpus.folder]), model.splitter)


@cached(
    lambda corpus, model, root, task: (
        corpus,
        model_of(model),
        str(root),
        task and model_stamp(str(task)),
    ),
    8,
    "Tokenizing the words of the text …",
)
def _compute_advice(corpus: Artifact, model: str, root: Path, task: Path | None) -> AdviceReport:
    return advise_on(read_corpus([corpus.folder]), model_of(model), root, task)
