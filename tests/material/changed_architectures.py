"""Models of any architecture, with words added or removed."""

import numpy as np

from tests.material.adapted import planned
from vocadapt.models.adapted_model import AdaptedModel, apply_plan
from vocadapt.models.language_model import LanguageModel
from vocadapt.vocabulary.initializers.initialize import NewEmbeddings
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan

WORDS = ("heart", "blood", "tachycardia", "euthymia", "myocarditis")


def add_words(model: LanguageModel, words: tuple[str, ...] = WORDS) -> AdaptedModel:
    return apply_plan(model, *planned(model, words=words))


def remove_tokens(model: LanguageModel, n: int) -> AdaptedModel:
    """Remove the last n tokens that are not special."""
    vocabulary = model.vocabulary
    gone = [token for token in vocabulary.tokens if token not in vocabulary.special][-n:]
    order = tuple(token for token in vocabulary.tokens if token not in gone)
    plan = VocabularyPlan(vocabulary, (), settings=PlanSettings("reduce"), order=order)
    none = NewEmbeddings((), np.empty((0, model.dim), np.float32), ())
    return apply_plan(model, plan, none, "replacement")
