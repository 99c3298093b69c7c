"""The tokenizer modes exact-word and insertion, and how often they deviate from the rule."""

from collections import Counter
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families import FAMILIES, read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import read_tokens
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer, measure_departures

WORDPIECE = FAMILIES["wordpiece"]

ADDED = ["placebos", "tachycardia", "hypertension"]


def tokens(tokenizer: object, text: str) -> list[str]:
    return tokenizer.encode(text, add_special_tokens=False).tokens  # type: ignore[attr-defined, no-any-return]


def add_words(
    old: object, words: list[str], mode: str, order: tuple[str, ...] | None = None
) -> object:
    vocabulary = vocabulary_of(old)  # type: ignore[arg-type]
    plan = VocabularyPlan(vocabulary, tuple(AddedWord(word, ()) for word in words), order=order)
    return adapt_tokenizer(old, plan, mode)  # type: ignore[arg-type]


def test_exact_word_matches_whole_words_only(tiny_bert: Path) -> None:
    old = read_tokenizer(tiny_bert)
    new = WORDPIECE.add_exact_words(old, ADDED)
    assert tokens(new, "Placebos, (TACHYCARDIA)-placebos") == [
        "placebos",
        ",",
        "(",
        "tachycardia",
        ")",
        "-",
        "placebos",
    ]
    assert tokens(new, "placeboss hypertensions") == tokens(old, "placeboss hypertensions")
    assert new.token_to_id("placebos") == len(vocabulary_of(old))


def test_insertion_also_matches_beginnings_of_words(tiny_bert: Path) -> None:
    new = WORDPIECE.insert_tokens(read_tokenizer(tiny_bert), ADDED)
    assert tokens(new, "tachycardias") == ["tachycardia", "##s"]
    assert (
        tokens(WORDPIECE.add_exact_words(read_tokenizer(tiny_bert), ADDED), "tachycardias")[0]
        == "tachy"
    )


@pytest.mark.parametrize("mode", ["exact-word", "insertion"])
def test_new_ids_follow_the_old_ones_even_where_an_id_has_no_token(mode: str) -> None:
    """The tokenizers library takes the number of tokens for the next free id, which a hole makes
    too small.
    """
    old = build_tokenizer(("[PAD]", "[UNK]", "heart", "blood", "heart"))
    new = add_words(old, ["placebo", "trial"], mode)
    assert [new.token_to_id(word) for word in ("blood", "heart", "placebo", "trial")] == [
        3,
        4,
        5,
        6,
    ]
    assert vocabulary_of(new).tokens[5:] == ("placebo", "trial")


def test_the_original_tokenizer_is_not_changed(tiny_bert: Path) -> None:
    old = read_tokenizer(tiny_bert)
    text = old.to_str()
    add_words(old, ADDED, "exact-word")
    add_words(old, ADDED, "insertion")
    assert old.to_str() == text


def test_unknown_mode() -> None:
    with raises_input_error("unknown-choice", "exact-word, insertion"):
        add_words(build_tokenizer(("[UNK]",)), ["x"], "suffix")


@pytest.mark.slow
@pytest.mark.parametrize("casing", ["uncased", "cased"])
def test_exact_word_follows_the_rule_on_real_text(shared: Path, casing: str) -> None:
    """On all distinct pieces of 8.7 MB of real abstracts, departures stay under .5 % of the added
    words' occurrences.

    experiments/departures.py counts them on all of the shared text.
    """
    import gzip

    with gzip.open(
        shared / "data/text/biomedical-abstracts.txt.gz", "rt", encoding="utf-8"
    ) as file:
        pieces = Counter(file.read().split())
    old = build_tokenizer(read_tokens(shared / f"data/vocab/bert-base-{casing}.txt"))
    splitter, vocabulary = Splitter.bert(lowercase=casing == "uncased"), vocabulary_of(old)
    words = Counter(word for piece in pieces for word in splitter.words(piece))
    added = [word for word in words if word not in vocabulary and splitter.leaves_unchanged(word)]
    found = measure_departures(vocabulary, WORDPIECE.add_exact_words(old, added), splitter, pieces)
    assert found.added_words > 10_000
    assert found.share < 0.005
