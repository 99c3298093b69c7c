"""What a tokenizer never produces is no anchor, and a listed word that it never produces is left out
with its reason, although the vocabulary has it.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import TINY_TOKENS
from tests.material.architectures import build_tiny_model
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.alignment.cross_validation import cross_validate
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.vocabulary import ERASED, NEVER_PRODUCED, TOO_LONG, Vocabulary
from vocadapt.vocabulary.families.wordpiece import WordPieceFamily, build_tokenizer
from vocadapt.vocabulary.initializers.initialize import Materials
from vocadapt.vocabulary.plan.plan import VocabularyPlan
from vocadapt.vocabulary.plan.planning import plan_from_words, split_addable_words

TOKENS = (*TINY_TOKENS, "covid-19", "Aspirin", "[unused7]")
NEVER = ("covid-19", "Aspirin", "[unused7]")
SHARED = ("the", "blood", "heart")


def build_model() -> tuple[Vocabulary, Splitter]:
    tokenizer = build_tokenizer(TOKENS, lowercase=True)
    return vocabulary_of(tokenizer), WordPieceFamily().make_splitter(tokenizer)


def build_space(words: tuple[str, ...]) -> EmbeddingSpace:
    vectors = np.random.default_rng(1).normal(size=(len(words), 2)).astype(np.float32)
    return EmbeddingSpace(words, vectors)


def build_pieces() -> EmbeddingSpace:
    vocabulary, splitter = build_model()
    pieces = build_space(vocabulary.tokens)
    kinds = vocabulary.find_kinds(vocabulary.tokens, vocabulary.tokens, splitter)
    return EmbeddingSpace(pieces.words, pieces.matrix, kinds=kinds)


def test_words_that_the_tokenizer_never_produces_are_no_anchors() -> None:
    words = build_space((*SHARED, *NEVER, "tachycardia"))
    anchors = find_anchors(words, build_pieces())
    assert anchors.words == SHARED
    assert anchors.never_produced == ("covid-19", "Aspirin")  # [unused7] is a placeholder
    judged = cross_validate(words, build_pieces(), folds=3)
    assert judged.as_json()["never_produced"] == 2
    # Without a tokenizer, nothing is known.
    assert find_anchors(words, build_space(TOKENS)).words == (*SHARED, *NEVER)


def test_nor_do_they_give_their_embedding_to_others() -> None:
    vocabulary, _ = build_model()
    words = build_space((*SHARED, *NEVER, "tachycardia"))
    materials = Materials(VocabularyPlan(vocabulary, ()), build_pieces(), target=words)
    assert set(materials.donors) == set(SHARED)


def test_a_listed_word_that_stands_in_the_vocabulary_is_counted_as_left_out() -> None:
    vocabulary, splitter = build_model()
    reachable, refused = split_addable_words(
        vocabulary, splitter, ("blood", "covid-19", "tachycardia", "[CLS]", "##e")
    )
    assert reachable == ("tachycardia",)
    assert refused[NEVER_PRODUCED] == ("covid-19",)
    plan = plan_from_words(vocabulary, splitter, build_space(("blood", "covid-19", "tachycardia")))
    assert plan.added_tokens == ("tachycardia",)
    assert plan.summary()["left_out"] == {NEVER_PRODUCED: 1}


@pytest.mark.parametrize("name", ["roberta", "xlm-roberta", "llama"])
def test_every_word_of_a_model_that_stands_alone_is_produced(tmp_path: Path, name: str) -> None:
    model = open_model(build_tiny_model(name, tmp_path / "model"))
    words = [word for word in ("the", "patients", "blood") if model.vocabulary.has_word(word)]
    assert words
    space = build_space(tuple(words))
    assert find_anchors(space, model.word_space).words == tuple(words)


def test_words_that_are_erased_or_too_long_are_refused_with_the_reason() -> None:
    """Neither reaches the tokenizers library: one has no text, the other is the unknown token."""
    vocabulary, splitter = build_model()
    long = "acgt" * 26
    words = ("tachycardia", "\u200c", "\u200b\u200d", long)
    for exact in (True, False):
        reachable, refused = split_addable_words(vocabulary, splitter, words, exact)
        assert reachable == ("tachycardia",)
        assert refused == {ERASED: ("\u200c", "\u200b\u200d"), TOO_LONG: (long,)}
    assert vocabulary.tokenize(long) == ("[UNK]",)
