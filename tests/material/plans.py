"""A plan by hand."""

import numpy as np

from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import plan_from_words

VOCABULARY = WordPieceVocabulary(
    tuple(TINY_TOKENS), frozenset({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
)
WORDS = (
    "the",
    "tachycardia",
    "heart",
    "x-ray",
    "hypertension",
    "Aspirin",
    "与",
    "euthymia",
    "[MASK]",
)


def plan(settings: PlanSettings | None = None, words: tuple[str, ...] = WORDS) -> VocabularyPlan:
    counts = np.arange(len(words), 0, -1)
    space = EmbeddingSpace(words, np.ones((len(words), 2), np.float32), counts)
    return plan_from_words(VOCABULARY, Splitter.bert(), space, settings or PlanSettings())
