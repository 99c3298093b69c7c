"""Exact words where the merges alone do not guarantee that other words keep their tokens: what
counts is the text, checked and counted.
"""

from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models

from tests.material.byte_level import build_tiny
from tests.material.input_errors import raises_input_error
from tests.material.sentencepiece_bpe import WHOLE_TEXT, M, build, tokens_of
from tests.material.stated_numbers import list_numbers
from vocadapt.text.corpus import Corpus, open_corpus
from vocadapt.vocabulary.families import family_of, vocabulary_of
from vocadapt.vocabulary.plan.exact_words import check_exact_words, count_lines_with_other_tokens
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_vocabulary
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

TEXT = "hypotension of a heart\nheart, ten sion\n\nhypotension\n"
CROSSED = "ss a heart\n"  # s + ▁ is a merge


def build_crossing(reserved: bool = False) -> Tokenizer:
    """Build a tokenizer with a merge across a space, as Gemma 3 has one, and reserved tokens."""
    tokenizer = build(merges=WHOLE_TEXT, more=["<unused0>", "<unused1>"] * reserved)
    if reserved:
        tokens = [AddedToken(f"<unused{i}>", normalized=False) for i in range(2)]
        tokenizer.add_tokens(tokens)
    return tokenizer


def plan_word(tokenizer: Tokenizer, mode: str) -> VocabularyPlan:
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    sources = PlanSources(counts={f"{M}hypotension": 3}, mode=mode)
    settings = PlanSettings("extend", add_by="words")
    return plan_vocabulary(vocabulary_of(tokenizer), splitter, sources, settings)


def write_text(folder: Path, text: str) -> Corpus:
    path = folder / "text.txt"
    path.write_text(text, encoding="utf-8")
    return open_corpus([path])


@pytest.mark.parametrize("reserved", [False, True])
def test_a_text_that_no_merge_crosses_gets_exact_words(tmp_path: Path, reserved: bool) -> None:
    tokenizer = build_crossing(reserved)
    plan = plan_word(tokenizer, "exact-word")
    with raises_input_error("merges-across-spaces", "1"):
        adapt_tokenizer(tokenizer, plan, "exact-word")
    checked = check_exact_words(plan, tokenizer, write_text(tmp_path, TEXT))
    assert checked.checked_lines == checked.summary().checked_lines == 3
    assert list_numbers(checked.note)[-1] == "3"
    adapted = adapt_tokenizer(tokenizer, checked, "exact-word")
    assert tokens_of(adapted, "a hypotension")[-1] == f"{M}hypotension"
    for line in ("heart, ten sion", "a hypotensiona of a heart"):
        assert tokens_of(adapted, line) == tokens_of(tokenizer, line)
    assert vocabulary_of(adapted).ids[f"{M}hypotension"] == plan.after.ids[f"{M}hypotension"]


def test_a_text_that_changes_is_refused_with_its_lines(tmp_path: Path) -> None:
    tokenizer = build_crossing()
    plan = plan_word(tokenizer, "exact-word")
    with raises_input_error("merges-across-spaces") as refused:
        check_exact_words(plan, tokenizer, write_text(tmp_path, TEXT + CROSSED))
    assert list_numbers(refused.value.problem)[-2:] == ["1", "4"]
    with raises_input_error("merges-across-spaces", "text", "insertion"):
        check_exact_words(plan, tokenizer, None)


@pytest.mark.parametrize("reserved", [False, True])
def test_the_remedy_that_the_refusal_names_works(reserved: bool) -> None:
    tokenizer = build_crossing(reserved)
    plan = plan_word(tokenizer, "exact-word")
    with raises_input_error("merges-across-spaces", "insertion"):
        adapt_tokenizer(tokenizer, plan, "exact-word")
    inserted = adapt_tokenizer(tokenizer, plan_word(tokenizer, "insertion"), "insertion")
    assert tokens_of(inserted, "a hypotension")[-1] == f"{M}hypotension"
    # The text is still merged as a whole.
    assert tokens_of(inserted, "ss a") == tokens_of(tokenizer, "ss a")


def test_an_entry_that_merges_never_make_is_no_obstacle_if_no_text_has_it(tmp_path: Path) -> None:
    tokenizer = build_tiny(entries=["\u0120heart"])
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    sources = PlanSources(counts={"\u0120cough": 3}, mode="exact-word")
    settings = PlanSettings("extend", add_by="words")
    plan = plan_vocabulary(vocabulary_of(tokenizer), splitter, sources, settings)
    with raises_input_error("unmerged-tokens", "Ġheart"):
        check_exact_words(plan, tokenizer, write_text(tmp_path, "a heart and a cough\n"))
    checked = check_exact_words(plan, tokenizer, write_text(tmp_path, "a cough\n"))
    adapted = adapt_tokenizer(tokenizer, checked, "exact-word")
    assert tokens_of(adapted, "a cough")[-1] == "\u0120cough"


def test_ids_with_gaps_are_compared(tmp_path: Path) -> None:
    model = models.BPE(vocab={"a": 0, "b": 1, "c": 5, "ab": 3}, merges=[("a", "b")])
    tokenizer = Tokenizer(model)
    found = count_lines_with_other_tokens(write_text(tmp_path, "ab c\nc\n"), tokenizer, tokenizer)
    assert (found.changed, found.lines) == (0, 2)
