"""The append and replace plans."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.plans import VOCABULARY, WORDS, plan
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary, build_tokenizer
from vocadapt.vocabulary.plan.plan import PlanKind, PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import OVER_LIMIT, TOO_RARE, PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer
from vocadapt.vocabulary.vocabulary import NEVER_ONE_WORD, SPACED, TOO_LONG


def test_append_adds_what_the_model_lacks_and_what_can_be_produced() -> None:
    made = plan()
    assert made.added_tokens == ("tachycardia", "hypertension", "euthymia")
    assert made.left_out[NEVER_ONE_WORD] == ("x-ray", "Aspirin")
    assert made.left_out[SPACED] == ("与",)
    assert made.tokens[: len(VOCABULARY)] == VOCABULARY.tokens
    assert made.tokens[len(VOCABULARY) :] == made.added_tokens
    assert made.replaced == ()
    assert made.added[1].pieces == ("hyper", "##tension")
    assert made.added[1].count == 5


@pytest.mark.parametrize(
    "settings",
    [PlanSettings("append"), PlanSettings("replace"), PlanSettings("extend", add_by="words")],
    ids=lambda settings: settings.kind,
)
def test_a_cjk_character_is_added_where_new_tokens_are_wordpiece_entries(
    settings: PlanSettings,
) -> None:
    """BERT's normalizer puts spaces around it: a WordPiece entry is produced, an exact-word token
    never is.
    """
    counts = np.arange(len(WORDS), 0, -1)
    space = EmbeddingSpace(WORDS, np.ones((len(WORDS), 2), np.float32), counts)

    def added(mode: str) -> VocabularyPlan:
        sources = PlanSources(space, None, dict(zip(WORDS, counts.tolist(), strict=True)), mode)
        return plan_vocabulary(VOCABULARY, Splitter.bert(), sources, settings)

    entries, exact = added("insertion"), added("exact-word")
    assert entries.added_tokens == ("tachycardia", "hypertension", "与", "euthymia")
    assert exact.added_tokens == ("tachycardia", "hypertension", "euthymia")
    assert exact.left_out[SPACED] == ("与",)
    assert added("").added_tokens == (entries if settings.kind == "extend" else exact).added_tokens
    tokenizer = adapt_tokenizer(build_tokenizer(VOCABULARY.tokens), entries, "insertion")
    assert tokenizer.encode("the与heart", add_special_tokens=False).tokens == ["the", "与", "heart"]


def test_a_word_too_long_for_the_tokenizer_is_left_out() -> None:
    made = plan(words=("tachycardia", "acgt" * 26))
    assert made.added_tokens == ("tachycardia",)
    assert made.left_out[TOO_LONG] == ("acgt" * 26,)


def test_the_cap_keeps_the_most_frequent_and_says_what_it_left_out() -> None:
    made = plan(PlanSettings(max_added=1))
    assert made.added_tokens == ("tachycardia",)
    assert made.left_out[OVER_LIMIT] == ("hypertension", "euthymia")
    assert made.summary().left_out == {NEVER_ONE_WORD: 2, SPACED: 1, OVER_LIMIT: 2}


def test_rarer_words_than_the_minimum_count_are_left_out() -> None:
    made = plan(PlanSettings(min_count=5))  # tachycardia occurs 8 times, hypertension 5, euthymia 2
    assert made.added_tokens == ("tachycardia", "hypertension")
    assert made.left_out[TOO_RARE] == ("euthymia",) and OVER_LIMIT not in made.left_out
    capped = plan(PlanSettings(min_count=5, max_added=1))
    assert capped.left_out[OVER_LIMIT] == ("hypertension",)


def test_replace_also_renews_the_shared_words_but_no_special_token() -> None:
    made = plan(PlanSettings("replace"))
    assert made.replaced == ("the", "heart")
    assert made.new_embeddings == ("the", "heart", "tachycardia", "hypertension", "euthymia")


def test_settings_are_checked() -> None:
    with raises_input_error("unknown-choice", "append-all"):
        PlanSettings("append-all")
    with raises_input_error("out-of-range", "-1"):
        PlanSettings(max_added=-1)


@pytest.mark.parametrize("kind", ["transfer", "combined", "extend"])
def test_a_target_with_another_continuation_mark_is_refused(kind: PlanKind) -> None:
    target = WordPieceVocabulary(
        (*VOCABULARY.tokens[:5], "heart", "@@ache"), VOCABULARY.special, continuation="@@"
    )
    settings = PlanSettings(kind)
    with raises_input_error("other-notation", "'@@'", "'##'"):
        plan_vocabulary(VOCABULARY, Splitter.bert(), PlanSources(target=target), settings)
