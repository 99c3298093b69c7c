"""Added tokens stay in every removal, whether they are marked as special or not."""

from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.material.architectures import (
    TinyTokenizer,
    build_gpt2,
    build_wordpiece,
    build_xlm_roberta,
)
from tests.material.input_errors import raises_input_error
from tests.material.sentencepiece_bpe import build as build_sentencepiece
from vocadapt.vocabulary.families import family_of, vocabulary_of
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import compute_min_keep_fraction, group_protected_tokens
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer
from vocadapt.vocabulary.vocabulary import FIXED

THINK, CALL, WORD = "<think>", "<tool_call>", "tachycardia"
TEXT = {"the": 5, "patients": 3}


def build_with_added(build: Callable[[], TinyTokenizer]) -> Tokenizer:
    """Return a tokenizer with two added tokens that are not special, as Qwen 3 has them."""
    tokenizer = build().tokenizer
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in (THINK, CALL)])
    return tokenizer


def build_llama() -> TinyTokenizer:
    return TinyTokenizer(build_sentencepiece(), {}, "")


@pytest.mark.parametrize("build", [build_wordpiece, build_gpt2, build_xlm_roberta, build_llama])
def test_no_removal_takes_an_added_token(build: Callable[[], TinyTokenizer]) -> None:
    tokenizer = build_with_added(build)
    vocabulary, splitter = vocabulary_of(tokenizer), family_of(tokenizer).make_splitter(tokenizer)
    assert {THINK, CALL, *vocabulary.special} <= vocabulary.fixed_tokens
    assert {THINK, CALL} <= set(group_protected_tokens(vocabulary)[FIXED])
    fraction = 1 - compute_min_keep_fraction(vocabulary)
    counts = {vocabulary.spell(word): count for word, count in TEXT.items()}
    for settings in (
        PlanSettings("reduce", removed=fraction),
        PlanSettings("combined", removed=fraction, add_by="words"),
        PlanSettings("trim", cover=0.5),
    ):
        plan = plan_vocabulary(vocabulary, splitter, PlanSources(counts=counts), settings)
        assert plan.removed_tokens
        assert {THINK, CALL} <= set(plan.tokens), settings.kind
        changed = adapt_tokenizer(tokenizer, plan, "replacement")
        tokens = changed.encode(f"{THINK} a{CALL}", add_special_tokens=False).tokens
        assert {THINK, CALL} <= set(tokens)
        kept = {token.content for token in changed.get_added_tokens_decoder().values()}
        assert {THINK, CALL} <= kept


def test_a_vocabulary_without_the_added_tokens_is_refused() -> None:
    tokenizer = build_with_added(build_wordpiece)
    vocabulary, splitter = vocabulary_of(tokenizer), family_of(tokenizer).make_splitter(tokenizer)
    sources = PlanSources(target=vocabulary_of(build_wordpiece().tokenizer))
    with raises_input_error("missing-special-tokens", f"{THINK}, {CALL}"):
        plan_vocabulary(vocabulary, splitter, sources, PlanSettings("transfer"))


def test_exact_words_are_no_fixed_tokens() -> None:
    tokenizer = family_of(build_wordpiece().tokenizer).add_exact_words(
        build_wordpiece().tokenizer, [WORD]
    )
    vocabulary = vocabulary_of(tokenizer)
    assert WORD in vocabulary.whole and WORD not in vocabulary.fixed_tokens
    # An added token that is no word of the splitter is matched before a text is split: it stays.
    tokenizer.add_tokens([AddedToken("covid-19", single_word=True)])
    assert "covid-19" in vocabulary_of(tokenizer).fixed_tokens
