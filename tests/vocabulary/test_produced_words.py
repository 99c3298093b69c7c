"""What a tokenizer never produces is no anchor, and a listed word that it never produces is left out
with its reason, although the vocabulary has it.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.material.architectures import build_tiny_model
from tests.material.packs import adapt_words
from tests.material.stated_numbers import list_numbers
from tests.material.tiny_bert import TINY_TOKENS, build_tiny_bert
from vocadapt.models.certificate.certificate import certify
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.apply import apply_pack
from vocadapt.models.packs.make import make_pack
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.alignment.cross_validation import cross_validate, tabulate_alignments
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode
from vocadapt.training.encoding.model_tokenizers import load_tokenizers
from vocadapt.training.trained_parameters import find_activated_ids
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import WordPieceFamily, build_tokenizer
from vocadapt.vocabulary.initializers.initialize import InitializerSettings, Materials
from vocadapt.vocabulary.initializers.outputs import initialize_output_rows
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import TOO_RARE, plan_from_words, split_addable_words
from vocadapt.vocabulary.plan.tokenizer import measure_departures
from vocadapt.vocabulary.vocabulary import ERASED, NEVER_PRODUCED, TOO_LONG, Vocabulary

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
    (judged,) = tabulate_alignments([cross_validate(words, build_pieces(), folds=3)])
    assert judged.never_produced == 2
    # Without a tokenizer, nothing is known.
    assert find_anchors(words, build_space(TOKENS)).words == (*SHARED, *NEVER)


def test_nor_do_they_give_their_embedding_to_others() -> None:
    vocabulary, _ = build_model()
    words = build_space((*SHARED, *NEVER, "tachycardia"))
    materials = Materials(VocabularyPlan(vocabulary, ()), build_pieces(), target=words)
    assert set(materials.donors) == set(SHARED)
    # Nor their rows of an output layer.
    plan = VocabularyPlan(vocabulary, (AddedWord("tachycardia", ("[UNK]",)),))
    materials = Materials(plan, build_pieces(), target=words)
    output = np.array([[token in NEVER, 1] for token in vocabulary.tokens], np.float32)
    settings = InitializerSettings("common-mean")
    rows = initialize_output_rows(materials, settings, EmbeddingSpace(vocabulary.tokens, output))
    assert rows.tolist() == [[0, 1]]


def test_a_listed_word_that_stands_in_the_vocabulary_is_counted_as_left_out() -> None:
    vocabulary, splitter = build_model()
    reachable, refused = split_addable_words(
        vocabulary, splitter, ("blood", "covid-19", "tachycardia", "[CLS]", "##e")
    )
    assert reachable == ("tachycardia",)
    assert refused[NEVER_PRODUCED] == ("covid-19",)
    words = build_space(("blood", "covid-19", "tachycardia"))
    plan = plan_from_words(vocabulary, splitter, words, exact=False)
    assert plan.added_tokens == ("tachycardia",)
    assert plan.summary().left_out == {NEVER_PRODUCED: 1}


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


EXACT = (*SHARED, "covid-19", "Aspirin", "[unused7]", "##e", "covid", "tachycardia")


def test_exact_words_make_such_a_word_reachable_with_its_row_and_id(tmp_path: Path) -> None:
    """The normalizer of an uncased model never writes Aspirin; nothing else keeps covid-19 away."""
    folder = build_tiny_bert(tmp_path / "before", tokens=list(TOKENS))
    before = open_model(folder)
    after = open_model(adapt_words(folder, EXACT, tmp_path / "after"))
    i = TOKENS.index("covid-19")
    assert after.vocabulary.ids["covid-19"] == before.vocabulary.ids["covid-19"] == i
    assert np.array_equal(after.space.matrix[i], before.space.matrix[i])
    assert after.vocabulary.tokens[len(TOKENS) :] == ("covid", "tachycardia")
    encoded = encode(after.fast_tokenizer, "The COVID-19, covid heart", add_special_tokens=False)
    assert encoded.tokens == ["the", "covid-19", ",", "covid", "heart"]

    # The plan, the certificate and the counts of departures know it.
    record = json.loads((after.path / "vocadapt.json").read_text("utf-8"))["plan"]
    assert record["activated"] == 1 and "covid-19" in record["note"]
    assert record["left_out"] == {NEVER_PRODUCED: 2}
    certificate = certify(before, after)
    assert certificate.passed
    reachable = next(one for one in certificate.checks if one.name == "added tokens reachable")
    assert list_numbers(reachable.detail)[2:4] == ["1", "1"]  # old tokens that are exact words now
    pieces = {"covid-19": 3, "(covid-19)": 1, "covid": 2, "heart": 4}
    found = measure_departures(before.vocabulary, after.fast_tokenizer, before.splitter, pieces)
    assert (found.added_words, found.total) == (10, 0)
    assert find_anchors(build_space(("covid-19",)), after.word_space).words == ("covid-19",)


def test_it_can_be_the_only_word_and_is_kept_by_packs_and_by_every_removal(tmp_path: Path) -> None:
    folder = build_tiny_bert(tmp_path / "before", tokens=list(TOKENS))
    before, only = open_model(folder), ("the", "covid-19")
    alone = open_model(adapt_words(folder, only, tmp_path / "alone"))
    assert alone.vocabulary.tokens == before.vocabulary.tokens and certify(before, alone).passed
    card = (alone.path / "README.md").read_text("utf-8")
    assert "1 more" in card and "exact words: 1." in card
    after = open_model(adapt_words(folder, EXACT, tmp_path / "after"))
    apply_pack(before, make_pack(before, after, "medicine"), tmp_path / "packed")
    packed = open_model(tmp_path / "packed")
    assert packed.fast_tokenizer.to_str() == after.fast_tokenizer.to_str()
    assert "covid-19" in after.vocabulary.fixed_tokens
    # Without exact words, nothing changes.
    plan = plan_from_words(before.vocabulary, before.splitter, build_space(EXACT), exact=False)
    assert plan.activated == () and set(plan.left_out[NEVER_PRODUCED]) == set(NEVER)


def test_a_second_adaptation_departs_from_no_rule(tmp_path: Path) -> None:
    folder = build_tiny_bert(tmp_path / "before", tokens=list(TOKENS))
    first = open_model(adapt_words(folder, EXACT, tmp_path / "first"))
    second = open_model(adapt_words(first.path, ("euthymia",), tmp_path / "second"))
    pieces = {"covid-19": 5, "(covid-19)": 1, "euthymia": 2}
    found = measure_departures(first.vocabulary, second.fast_tokenizer, first.splitter, pieces)
    assert (found.added_words, found.total) == (2, 0)


def test_a_rare_word_does_not_become_reachable() -> None:
    vocabulary, splitter = build_model()
    words = ("heart", "covid-19", "tachycardia")
    for count, activated in ((50, ("covid-19",)), (1, ())):
        vectors = np.ones((3, 2), np.float32)
        space = EmbeddingSpace(words, vectors, counts=np.array([90, count, 50]))
        plan = plan_from_words(vocabulary, splitter, space, PlanSettings(min_count=10))
        assert plan.activated == activated and plan.added_tokens == ("tachycardia",)
        assert plan.left_out.get(TOO_RARE, ()) == (() if activated else ("covid-19",))


def test_a_model_whose_only_new_word_is_an_old_token_has_both_tokenizations(tmp_path: Path) -> None:
    folder = build_tiny_bert(tmp_path / "before", tokens=list(TOKENS))
    model = open_model(adapt_words(folder, ("the", "covid-19"), tmp_path / "after"))
    tokenizers = load_tokenizers(model)
    found = {name: tokenizers[name].ids(["covid-19"])["covid-19"] for name in tokenizers}
    assert found["adapted"].tolist() == [TOKENS.index("covid-19")]
    assert len(found["base"]) > 1
    assert find_activated_ids(model) == [TOKENS.index("covid-19")]
