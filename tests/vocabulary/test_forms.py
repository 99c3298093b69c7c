"""The forms in which a word occurs, and how a plan adds them."""

import numpy as np
import pytest

from tests.material.architectures import build_xlm_roberta
from tests.material.byte_level import LLAMA_3, build_tiny, split_as
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.plan.augmentation import PART_OF_WORDS
from vocadapt.vocabulary.plan.forms import group_word_forms
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_from_words, plan_vocabulary

TINY = build_tiny()
FAMILY = family_of(TINY)
VOCABULARY, SPLITTER = FAMILY.read_vocabulary(TINY), FAMILY.make_splitter(TINY)
FEVER = {"Ġfever": 90, "Fever": 8, "ĠFEVER": 2, "Ġcough": 99, "Ġ(": 70, "?!": 9, "Ġ": 7}


def test_forms_by_hand() -> None:
    words = group_word_forms(VOCABULARY, SPLITTER, FEVER)
    assert [word.word for word in words] == ["fever", "cough", "("]  # 100, 99, 70
    fever = words[0]
    assert fever.forms == (("Ġfever", 90), ("Fever", 8), ("ĠFEVER", 2))
    assert (fever.main, fever.count) == ("Ġfever", 100)


def test_forms_do_not_depend_on_the_order_of_the_counts() -> None:
    counts = {"ĠB": 2, "b": 2, "Ġa": 2, "A": 2, "Ġc": 1}
    expected = group_word_forms(VOCABULARY, SPLITTER, counts)
    assert expected[0].word == "A" and expected[0].forms == (("A", 2), ("Ġa", 2))
    reversed_counts = dict(reversed(counts.items()))
    assert group_word_forms(VOCABULARY, SPLITTER, reversed_counts) == expected


def test_a_word_of_wordpiece_has_one_form() -> None:
    vocabulary = WordPieceVocabulary(("[PAD]", "[UNK]", "a"), frozenset({"[PAD]", "[UNK]"}))
    words = group_word_forms(vocabulary, Splitter.bert(lowercase=False), {"Fever": 3, "fever": 2})
    assert [word.forms for word in words] == [(("Fever", 3),), (("fever", 2),)]


def test_a_symbol_glued_to_a_word_is_no_form_of_it() -> None:
    tokenizer = split_as(build_tiny(), LLAMA_3)
    splitter = FAMILY.make_splitter(tokenizer)
    words = group_word_forms(VOCABULARY, splitter, {"-fever": 9, "fever": 1, "/Fever": 2})
    assert [word.forms for word in words] == [(("fever", 1),)]


def test_all_forms_share_one_embedding_and_count_as_one_word() -> None:
    settings = PlanSettings(kind="extend", add_by="words", max_added=2)
    sources = PlanSources(counts=FEVER, mode="exact-word")
    plan = plan_vocabulary(VOCABULARY, SPLITTER, sources, settings)
    assert plan.added_tokens == ("Ġfever", "Fever", "ĠFEVER", "Ġcough")
    assert plan.forms == {"Fever": "Ġfever", "ĠFEVER": "Ġfever"}
    assert plan.new_embeddings == ("Ġfever", "Ġcough")
    assert plan.summary().forms == 2
    assert [word.count for word in plan.added] == [90, 8, 2, 99]


def test_a_form_that_is_a_token_already_stays() -> None:
    counts = {"Ġtension": 9, "tension": 3, "Tension": 1, "Ġhyper": 9, "Hyper": 3}
    settings = PlanSettings(kind="extend", add_by="words", max_added=5)
    sources = PlanSources(counts=counts, mode="exact-word")
    plan = plan_vocabulary(VOCABULARY, SPLITTER, sources, settings)
    assert plan.added_tokens == ("Ġtension", "Tension")  # Ġhyper, the main form, is a token


def test_words_of_vectors_bring_their_forms_in_a_text() -> None:
    space = EmbeddingSpace(("fever", "Fever", "cough"), np.eye(3, dtype=np.float32))
    plan = plan_from_words(VOCABULARY, SPLITTER, space, PlanSettings(max_added=1), counts=FEVER)
    assert plan.added_tokens[0] == "Ġfever"
    assert set(plan.added_tokens) == {"Ġfever", "ĠFever", "Fever", "ĠFEVER"}
    assert set(plan.forms.values()) == {"Ġfever"}


@pytest.mark.parametrize("word", ["two words", "a-b", "e\u0301"])
def test_words_of_vectors_that_are_no_pretoken_are_left_out(word: str) -> None:
    space = EmbeddingSpace((word, "cough"), np.eye(2, dtype=np.float32))
    plan = plan_from_words(VOCABULARY, SPLITTER, space, counts=FEVER)
    assert plan.added_tokens == ("Ġcough",)
    assert [words for words in plan.left_out.values()] == [(word,)]


def test_a_symbol_that_is_a_token_needs_none_after_a_space() -> None:
    """Of RoBERTa's own words, "," is a token and "Ġ," is not."""
    assert "," in VOCABULARY and "Ġ," not in VOCABULARY
    space = EmbeddingSpace((",", "fever", "8"), np.eye(3, dtype=np.float32))
    plan = plan_from_words(VOCABULARY, SPLITTER, space)
    assert plan.added_tokens == ("Ġfever", "Ġ8")
    assert [VOCABULARY.lacks_word(word) for word in (",", "fever", "!?")] == [False, True, True]


def test_a_unigram_word_that_rarely_stands_alone_is_not_added() -> None:
    """Its token would match at the start of longer words: ▁re in ▁recovery."""
    tokenizer = build_xlm_roberta().tokenizer
    family = family_of(tokenizer)
    vocabulary, splitter = family.read_vocabulary(tokenizer), family.make_splitter(tokenizer)
    counts = {
        "▁re-use": 5,
        "▁re": 2,
        "▁t-test,": 3,
        "▁cough,": 4,
        "▁(cough)": 1,
        "▁on": 2,
        "▁on-": 2,
    }
    words = {word.word: word for word in group_word_forms(vocabulary, splitter, counts)}
    assert {word: (one.count, one.joined) for word, one in words.items()} == {
        "re": (7, 5),
        "t": (3, 3),
        "cough": (4, 0),
        "on": (4, 0),
    }
    left_out = {PART_OF_WORDS: 2}
    for refill in ("words", "savings"):
        settings = PlanSettings("extend", add_by=refill, max_added=9)
        plan = plan_vocabulary(vocabulary, splitter, PlanSources(counts=counts), settings)
        assert {token for token in plan.added_tokens if len(token) > 2} == {"▁cough", "▁on"}
        assert plan.summary().left_out == left_out
    vectors = EmbeddingSpace(("re", "t", "cough", "on"), np.ones((4, 2), np.float32))
    plan = plan_from_words(vocabulary, splitter, vectors, counts=counts)
    assert plan.added_tokens == ("▁cough", "▁on")
    assert plan.summary().left_out == left_out
