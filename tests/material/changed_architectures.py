"""Models of any architecture, with words added or removed."""

import numpy as np

from vocadapt.models.adapted_model import AdaptedModel, apply_plan
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.initializers.initialize import (
    InitializerSettings,
    Materials,
    NewEmbeddings,
    initialize,
)
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import plan_from_words

WORDS = ("heart", "blood", "tachycardia", "euthymia", "myocarditis")


def plan_words(
    model: LanguageModel, words: tuple[str, ...] = WORDS
) -> tuple[VocabularyPlan, NewEmbeddings]:
    vectors = np.random.default_rng(1).normal(size=(len(words), model.dim)).astype(np.float32)
    domain = EmbeddingSpace(words, vectors)
    plan = plan_from_words(model.vocabulary, model.splitter, domain, PlanSettings("append"))
    return plan, initialize(Materials(plan, model.space, domain), InitializerSettings("identity"))


def add_words(model: LanguageModel, words: tuple[str, ...] = WORDS) -> AdaptedModel:
    return apply_plan(model, *plan_words(model, words))


def remove_tokens(model: LanguageModel, n: int) -> AdaptedModel:
    """Remove the last n tokens that are not special."""
    vocabulary = model.vocabulary
    gone = [token for token in vocabulary.tokens if token not in vocabulary.special][-n:]
    order = tuple(token for token in vocabulary.tokens if token not in gone)
    plan = VocabularyPlan(vocabulary, (), settings=PlanSettings("reduce"), order=order)
    none = NewEmbeddings((), np.empty((0, model.dim), np.float32), ())
    return apply_plan(model, plan, none, "replacement")
