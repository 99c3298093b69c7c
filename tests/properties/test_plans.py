"""Properties of vocabulary plans and of adapted tokenizers, for every family."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tests.material import byte_level, unigram
from tests.material import sentencepiece_bpe as sentencepiece
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.errors import InputError
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.families import family_of, vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.reduction import REDUCTIONS
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

TOKENIZERS = {
    "wordpiece": build_tokenizer(tuple(TINY_TOKENS)),
    "byte-level-bpe": byte_level.build_tiny(),
    "unigram": unigram.build_tiny(
        {**unigram.PIECES, **{c: -9.0 for c in "defghijklmnopqrtuvwxyz"}}
    ),
    "sentencepiece-bpe": sentencepiece.build("split"),
}
families = pytest.mark.parametrize("name", TOKENIZERS)
lowercase = st.text("abcdehiknoprstxy", min_size=1, max_size=9)
words = st.lists(lowercase, min_size=1, max_size=8, unique=True)
text = st.lists(lowercase, min_size=1, max_size=8).map(" ".join)


def encode(tokenizer: Tokenizer, line: str) -> list[str]:
    return tokenizer.encode(line, add_special_tokens=False).tokens


def plan_for(
    tokenizer: Tokenizer, settings: PlanSettings, found: list[str], mode: str = ""
) -> VocabularyPlan:
    """Return a plan with some words; an example whose plan is refused is not counted, and hypothesis
    fails if nearly all are.
    """
    space = EmbeddingSpace(tuple(found), np.ones((len(found), 2), np.float32))
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    pretokens = [pretoken for word in found for pretoken in splitter.pretokens(word)]
    counts = {pretoken: len(pretokens) - i for i, pretoken in enumerate(dict.fromkeys(pretokens))}
    sources = PlanSources(space, None, counts, mode)
    try:
        return plan_vocabulary(vocabulary_of(tokenizer), splitter, sources, settings)
    except InputError as error:
        assert error.problem
        reject()


def check_plan(plan: VocabularyPlan) -> None:
    tokens, base = plan.tokens, plan.base
    assert len(set(tokens)) == len(tokens)
    assert base.special <= set(tokens)
    assert not set(plan.added_tokens) & set(base.tokens)
    assert set(plan.added_tokens) <= set(tokens)
    assert set(tokens) == (set(base.tokens) - set(plan.removed_tokens)) | set(plan.added_tokens)
    assert len(tokens) == len(base) - len(plan.removed_tokens) + len(plan.added)
    new, old = plan.moves
    assert [tokens[i] for i in new] == [base.tokens[i] for i in old]
    assert plan.after.tokens == tokens
    summary = plan.summary()
    assert (summary.tokens_before, summary.tokens_after) == (len(base), len(tokens))


@families
@given(words)
def test_added_words_are_whole_and_other_words_unchanged(name: str, found) -> None:
    tokenizer = TOKENIZERS[name]
    plan = plan_for(tokenizer, PlanSettings(fill_reserved=False), found)
    check_plan(plan)
    base = plan.base
    assert plan.tokens[: len(base)] == base.tokens
    adapted = adapt_tokenizer(tokenizer, plan)
    assert vocabulary_of(adapted).tokens == plan.tokens
    bodies = {base.body(token) for token in plan.added_tokens}
    if name != "unigram":  # there, a token of higher score may be preferred in a text
        for token in plan.added_tokens:  # byte-level BPE has a form after a space, and one without
            body = base.body(token)
            assert token in (encode(adapted, f"x {body}")[-1], *encode(adapted, body))
            assert len(encode(adapted, f"x {body}")) == len(encode(adapted, "x")) + 1
    for word in ["heart", "hypertension", "abc", "cab", *(f"{one}s" for one in found)]:
        # Unigram has no exact words: an added one may begin a longer word (`Departures.within`).
        begins = name == "unigram" and word.startswith(tuple(bodies))
        if word not in bodies and not begins:
            assert encode(adapted, word) == encode(tokenizer, word)


@families
@given(words, text)
def test_insertion_decodes_to_the_same_text_and_survives_saving(name: str, found, line) -> None:
    tokenizer = TOKENIZERS[name]
    plan = plan_for(tokenizer, PlanSettings("append", fill_reserved=False), found, "insertion")
    check_plan(plan)
    adapted = adapt_tokenizer(tokenizer, plan, "insertion")
    again = Tokenizer.from_str(adapted.to_str())
    assert again.encode(line).ids == adapted.encode(line).ids
    ids = [one.encode(line, add_special_tokens=False).ids for one in (tokenizer, adapted)]
    if name == "byte-level-bpe":
        assert adapted.decode(ids[1]) == tokenizer.decode(ids[0]) == line


@families
@given(st.sampled_from(sorted(REDUCTIONS)), st.floats(0, 0.9), st.integers(1, 5), words)
def test_a_reduction_keeps_order_special_tokens_and_size(
    name: str, heuristic: str, removed: float, seed: int, found
) -> None:
    tokenizer = TOKENIZERS[name]
    settings = PlanSettings("reduce", remove_by=heuristic, removed=removed, seed=seed)
    plan = plan_for(tokenizer, settings, found)
    check_plan(plan)
    assert not plan.added
    assert len(plan.tokens) == round(round(1 - removed, 12) * len(plan.base))
    kept = set(plan.tokens)
    assert plan.tokens == tuple(token for token in plan.base.tokens if token in kept)
    adapted = adapt_tokenizer(tokenizer, plan, "replacement")
    assert vocabulary_of(adapted).tokens == plan.tokens


@families
@given(st.floats(0, 0.4), words)
def test_a_combination_keeps_the_size_or_says_why_not(name: str, removed: float, found) -> None:
    settings = PlanSettings("combined", removed=removed, add_by="words")
    plan = plan_for(TOKENIZERS[name], settings, found)
    check_plan(plan)
    assert len(plan.tokens) <= len(plan.base)


@families
@given(st.floats(0.01, 1), words)
def test_a_trim_covers_the_fraction_that_was_asked_for(name: str, cover: float, found) -> None:
    plan = plan_for(TOKENIZERS[name], PlanSettings("trim", cover=cover), found)
    check_plan(plan)
    if cover == 1:
        adapted = adapt_tokenizer(TOKENIZERS[name], plan, "replacement")
        for word in found:
            assert encode(adapted, word) == encode(TOKENIZERS[name], word)


@families
@given(text)
def test_our_tokenization_of_a_word_is_that_of_the_library(name: str, line) -> None:
    tokenizer = TOKENIZERS[name]
    vocabulary = vocabulary_of(tokenizer)
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    ours = [
        token for pretoken in splitter.pretokens(line) for token in vocabulary.tokenize(pretoken)
    ]
    assert ours == encode(tokenizer, line)


@families
def test_a_saved_tokenizer_equals_the_one_in_memory(name: str, tmp_path: Path) -> None:
    TOKENIZERS[name].save(str(tmp_path / "a.json"))
    again = Tokenizer.from_file(str(tmp_path / "a.json"))
    assert again.to_str() == TOKENIZERS[name].to_str()
