"""Encoding and the mixture of tokenizers: labels on word-initial tokens, complete examples,
sampling by the seed only."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers.utils import ModelOutput

from tests.material.finetuning import sentences
from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.models.heads import SEQUENCE
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import get_preset
from vocadapt.training.encoding.encoding import (
    DIVIDED,
    IN_SEVERAL_PARTS,
    LONG_WORDS,
    NO_WORDPIECES,
    TRUNCATED,
    EncodingSettings,
    View,
)
from vocadapt.training.encoding.model_tokenizers import load_tokenizers
from vocadapt.training.examples.examples import Question, Sentence, Text
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.predict import compute_logits, join_logits
from vocadapt.training.finetune.tokenizations import (
    FinetuningDataset,
    build_batch,
    check_tokenization,
    pool_logits,
)
from vocadapt.training.tasks.kinds import TASK_KINDS

EMPTY = Text("", "", None)
NER = Outputs(TASK_KINDS["ner"], ("O", "B", "I"))
encode, encode_texts = TASK_KINDS["ner"].encode, TASK_KINDS["classification"].encode


def tokens(adapted, view):
    return [adapted.vocabulary.tokens[i] for i in view.ids]


def test_labels_stand_on_word_initial_pieces_only(adapted, tokenizers):
    encoded = encode(
        [Sentence(("Tachycardias", "of", "tachycardia"), ("B", "O", "B"))],
        tokenizers,
        EncodingSettings(),
    )
    base, own = (encoded.views[name][0] for name in ("base", "adapted"))
    tachycardia = ["tachy", "##card", "##i", "##a"]
    begin = ["[CLS]", *tachycardia, "##s", "of"]
    assert tokens(adapted, base) == [*begin, *tachycardia, "[SEP]"]
    assert tokens(adapted, own) == [*begin, "tachycardia", "[SEP]"]
    batch = build_batch([base, own], 0, [NER.kind.build_targets(("B", "O", "B"), NER.index)] * 2)
    x = -100
    assert batch["labels"].tolist() == [
        [x, 1, x, x, x, x, 0, 1, x, x, x, x],
        [x, 1, x, x, x, x, 0, 1, x, x, x, x],
    ]
    assert batch["attention_mask"].sum(dim=1).tolist() == [12, 9]
    assert batch["input_ids"][1, 9:].tolist() == [0, 0, 0]


def test_cutting_is_what_the_tokenizer_does(adapted, tokenizers):
    examples = sentences(20)
    encoded = encode(examples, tokenizers, EncodingSettings())
    for example, view in zip(examples, encoded.views["adapted"], strict=True):
        whole = adapted.tokenizer(list(example.words), is_split_into_words=True)
        assert view.ids.tolist() == whole["input_ids"]
        words = whole.word_ids()
        assert view.places.tolist() == [words.index(place) for place in range(len(example.words))]


def test_a_sentence_of_5000_words_is_read_whole(adapted, tokenizers):
    words, tags = ("heart", "tachycardia") * 2500, ("O", "B") * 2500
    for settings in (EncodingSettings(64, 30), EncodingSettings(64, 0), EncodingSettings(8, 0)):
        encoded = encode([Sentence(words, tags)], tokenizers, settings)
        assert encoded.sizes == (5000,)
        assert all(
            np.concatenate([view.rows for view in own]).tolist() == [*range(5000)]
            for own in encoded.views.values()
        )
        assert (
            max(len(view.ids) for views in encoded.views.values() for view in views)
            <= settings.length
        )
        assert encoded.notes == {DIVIDED: 1}


def test_chunks_cut_no_entity_where_that_can_be(tokenizers):
    tags = ("O",) * 5 + ("B", *("I",) * 5) + ("O",) * 3
    encoded = encode(
        [Sentence(("a",) * 14, tags)], tokenizers, EncodingSettings(10, 0)
    )  # 8 words fit
    assert all(not 5 < view.rows[0] < 11 for view in encoded.chunks)
    one = encode(
        [Sentence(("a",) * 14, ("B", *("I",) * 13))], tokenizers, EncodingSettings(10, 0)
    )  # an entity longer than the window
    assert [view.rows.tolist() for view in one.chunks] == [[*range(7)], [*range(7, 14)]]


def test_words_without_pieces_and_words_longer_than_the_window(adapted, tokenizers):
    long = "a-" * 40
    encoded = encode(
        [Sentence(("heart", "\u200b\u00ad", long, "cells"), ("O", "B", "B", "O"))],
        tokenizers,
        EncodingSettings(20, 30),
    )
    assert encoded.notes == {
        NO_WORDPIECES: 2,
        LONG_WORDS: 2,
        DIVIDED: 1,
    }  # one of each under either cut
    assert max(len(view.ids) for view in encoded.views["base"]) == 20
    assert sum(len(view.places) for view in encoded.views["base"]) == 4
    assert "[UNK]" in tokens(adapted, encoded.views["base"][0])


def test_texts_and_pairs(adapted, tokenizers):
    texts = [
        Text("1", "Heart disease", ("a",)),
        Text("2", "", ("a",)),
        Text("3", "heart", ("a",), "the cell"),
    ]
    views = encode_texts(texts, tokenizers, EncodingSettings()).views["base"]
    assert tokens(adapted, views[0]) == ["[CLS]", "heart", "disease", "[SEP]"]
    assert views[0].second == 0
    assert tokens(adapted, views[1]) == ["[CLS]", "[SEP]"]
    assert tokens(adapted, views[2]) == ["[CLS]", "heart", "[SEP]", "the", "cell", "[SEP]"]
    batch = build_batch(views, 0, [np.array([1])] * 3, SEQUENCE)
    assert batch["token_type_ids"].tolist()[2] == [0, 0, 0, 1, 1, 1]
    assert batch["labels"].tolist() == [1, 1, 1]
    own = adapted.tokenizer("heart", "the cell")
    assert views[2].ids.tolist() == own["input_ids"]
    assert batch["token_type_ids"][2].tolist() == own["token_type_ids"]


def test_pairs_longer_than_the_window_are_counted(tokenizers):
    texts = [Text("2", "heart", None, "cell " * 50), Text("3", "a " * 30, None, "b " * 30)]
    encoded = encode_texts([*texts, Text("4", "heart", None)], tokenizers, EncodingSettings(21))
    assert encoded.notes == {TRUNCATED: 2}
    assert [len(view.ids) for view in encoded.views["base"]] == [21, 21, 3]
    assert [view.second for view in encoded.views["base"]] == [3, 11, 0]


def test_a_text_longer_than_the_window_is_read_in_parts_alike_under_every_tokenization(
    adapted, tokenizers
):
    # 40 words: 160 pieces of the base cut, 40 of the adapted one, which fits 58; parts must serve
    # both
    texts = [
        Text("1", "heart", None),
        Text("2", " ".join(["tachycardia"] * 40), None),
        Text("3", "the cell", None),
    ]
    encoded = encode_texts(texts, tokenizers, EncodingSettings(60))
    assert encoded.notes == {IN_SEVERAL_PARTS: 1} and encoded.sizes == (1, 1, 1)
    assert [view.owner for view in encoded.chunks] == [
        0,
        1,
        1,
        1,
        1,
        2,
    ]  # halved twice: 10 words, 40 pieces each
    assert [len(view.ids) for view in encoded.views["base"]] == [3, 42, 42, 42, 42, 4]
    assert [len(view.ids) for view in encoded.views["adapted"]] == [3, 12, 12, 12, 12, 4]
    for name, views in encoded.views.items():
        whole = np.concatenate([view.ids[1:-1] for view in views if view.owner == 1])
        assert whole.tolist() == tokenizers[name].ids([texts[1].text])[texts[1].text].tolist()


def test_the_outputs_of_parts_are_averaged_and_those_of_a_words_pieces_are_not():
    views = [
        View(0, np.zeros(3, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
        for _ in range(3)
    ]
    found = [np.array([[value, -value]], dtype=np.float32) for value in (1, 2, 6)]
    assert join_logits(found, views, (1,), mean=True)[0].tolist() == [[3, -3]]
    assert join_logits(found, views, (1,))[0].tolist() == [[6, -1]]


def test_a_word_longer_than_the_window_in_a_long_text_is_reported(tokenizers):
    encoded = encode_texts(
        [Text("1", "heart " * 30 + "a-" * 40, None)], tokenizers, EncodingSettings(20)
    )
    assert encoded.notes == {IN_SEVERAL_PARTS: 1, LONG_WORDS: 2}  # under either cut
    assert all(len(view.ids) <= 20 for views in encoded.views.values() for view in views)


def test_what_cannot_be_encoded_is_refused(tokenizers):
    with raises_input_error("mixed-examples"):
        TASK_KINDS["qa"].encode(
            [Question("1", "who?", "he", None), Text("1", "he", None)],
            tokenizers,
            EncodingSettings(),
        )
    with raises_input_error("mixed-examples"):
        TASK_KINDS["ner"].encode([], tokenizers, EncodingSettings())


def test_outputs_and_targets():
    ner = Outputs.of(TASK_KINDS["ner"], sentences(5))
    assert ner.names == ("O", "B-Disease", "I-Disease")
    assert ner.kind.build_targets(("O", "I-Disease"), ner.index).tolist() == [0, 2]
    assert Outputs.of(TASK_KINDS["ner"], [Sentence(("a",), ("B",))]).names == ("O", "B", "I")
    assert ner.predict(np.array([[0, 1, 0], [3, 1, 2]], dtype=np.float32), EMPTY) == (
        "B-Disease",
        "O",
    )
    many = Outputs(TASK_KINDS["multilabel"], ("a", "b", "c"))
    assert many.kind.build_targets(("c", "a"), many.index).tolist() == [[1, 0, 1]]
    assert many.predict(np.array([[-1, 0.5, 2]], dtype=np.float32), EMPTY) == ("b", "c")
    assert many.predict(np.array([[-1, -1, -1]], dtype=np.float32), EMPTY) == ()


def test_pooling_by_hand():
    base, own = (
        np.array([[1, 4], [0, 2]], dtype=np.float32),
        np.array([[5, 0], [1, 1]], dtype=np.float32),
    )
    found = pool_logits({"base": [base], "adapted": [own]})
    assert found["pooled"][0].tolist() == [
        [3, 2],
        [0.5, 1.5],
    ]  # base said the second, adapted the first: the sum decides
    assert list(pool_logits({"base": [base]})) == ["base"]


def test_logits_are_taken_at_word_initial_pieces(adapted, tokenizers):
    class Echo(torch.nn.Module):
        """Says the id it reads, and where."""

        device = torch.device("cpu")

        def forward(self, input_ids, **rest):
            self.read = getattr(self, "read", 0) + len(input_ids)
            places = torch.arange(input_ids.shape[1]).expand_as(input_ids)
            return ModelOutput(logits=torch.stack([input_ids, places], dim=2))

    words = ("tachycardia", "heart", "tachycardia", "of")
    examples = [Sentence(words, None), Sentence((), None), Sentence(("heart",) * 40, None)]
    echo = Echo()
    logits = compute_logits(echo, encode(examples, tokenizers, EncodingSettings(64, 30)), 0)
    ids = adapted.vocabulary.ids
    assert logits["base"][0].tolist() == [
        [ids["tachy"], 1],
        [ids["heart"], 5],
        [ids["tachy"], 6],
        [ids["of"], 10],
    ]
    assert logits["adapted"][0][:, 0].tolist() == [
        ids["tachycardia"],
        ids["heart"],
        ids["tachycardia"],
        ids["of"],
    ]
    assert logits["base"][1].shape == (0, 2)
    assert logits["base"][2][:, 1].tolist() == [*range(1, 31), *range(1, 11)]
    assert (
        echo.read == 5
    )  # two chunks of the first, the empty one, two of the last: what both cuts have alike is read once


def test_draws_depend_on_the_seed_the_epoch_and_the_example_alone(tokenizers):
    encoded = encode(sentences(200), tokenizers, EncodingSettings())
    targets = [NER.kind.build_targets(("O",) * 8, NER.index)] * 200

    def draws(seed, epoch, disturb):
        random.seed(disturb)
        np.random.seed(disturb)  # noqa: NPY002
        torch.manual_seed(disturb)
        reading = FinetuningDataset(encoded, targets, "mixed", 0, 16, 3, seed, NER.kind)
        return [item.tokenization for item in reading.draw_items(epoch)], reading.epoch(epoch)

    first, batches = draws(1, 0, 5)
    assert draws(1, 0, 99) == (first, batches)
    assert 70 < first.count("adapted") < 130
    again, other = draws(1, 1, 5)[0], draws(2, 0, 5)[0]
    assert 60 < sum(a != b for a, b in zip(first, again, strict=True)) < 140  # redrawn every epoch
    assert 60 < sum(a != b for a, b in zip(first, other, strict=True)) < 140
    assert sorted(item.chunk for batch in batches for item in batch) == list(range(200))


def test_both_reads_every_example_in_both_cuts(tokenizers):
    encoded = encode(sentences(10), tokenizers, EncodingSettings())
    reading = FinetuningDataset(
        encoded, [NER.kind.build_targets(("O",) * 8, NER.index)] * 10, "both", 0, 8, 2, 1, NER.kind
    )
    items = [item for batch in reading.epoch(1) for item in batch]
    assert sorted(items) == sorted(
        (chunk, tokenization) for chunk in range(10) for tokenization in ("base", "adapted")
    )
    assert reading.steps == 3 and len(reading) == 6
    with pytest.raises(IndexError):
        reading[6]


def test_grouping_by_length_saves_padding_and_loses_nothing(tokenizers):
    rng = np.random.default_rng(0)
    examples = [
        Sentence(("heart",) * int(size), ("O",) * int(size))
        for size in rng.integers(1, 30, size=300)
    ]
    encoded = encode(examples, tokenizers, EncodingSettings())
    targets = [NER.kind.build_targets(("O",) * size, NER.index) for size in encoded.sizes]
    real = sum(len(view.ids) for view in encoded.views["base"])

    def padded(grouped):
        reading = FinetuningDataset(encoded, targets, "base", 0, 8, 1, 1, NER.kind, grouped)
        batches = [reading[step] for step in range(len(reading))]
        assert sum(int(batch["attention_mask"].sum()) for batch in batches) == real
        return sum(batch["input_ids"].numel() for batch in batches)

    assert padded(True) < 1.1 * real < 1.4 * real < padded(False)


@pytest.mark.parametrize(
    ("asked", "there", "found"), [("", ["base"], "base"), ("", ["base", "adapted"], "mixed")]
)
def test_the_usual_tokenization(asked, there, found):
    assert check_tokenization(asked, there) == found


@pytest.mark.parametrize("asked", ["mixed", "both", "base"])
def test_a_vocabulary_that_lost_tokens_has_no_base_cut(asked, make_bert, tmp_path):
    model = open_model(
        make_bert("big", tokens=[*TINY_TOKENS, *(f"word{place}" for place in range(300))])
    )
    folder = adapt(get_preset("reduced-longest-25"), model, Sources()).save(tmp_path / "reduced")
    there = list(load_tokenizers(open_model(folder)))
    assert there == ["adapted"]
    with raises_input_error("no-tokenization", "base"):
        check_tokenization(asked, there)


def test_moved_rows_are_found_by_their_tokens(adapted, tokenizers, tmp_path):
    """A base tokenizer whose ids are others than the network's reads the rows of its tokens."""
    moved = replace(
        tokenizers["base"],
        network_ids=np.arange(len(tokenizers["base"].network_ids), dtype=np.int32)[::-1],
    )
    plain = tokenizers["base"].ids(["heart"])["heart"]
    assert moved.ids(["heart"])["heart"].tolist() == [
        len(tokenizers["base"].network_ids) - 1 - int(plain[0])
    ]


@pytest.mark.parametrize("name", ["exbert-no-vocabulary", "reinit-normal"])
def test_a_model_with_the_vocabulary_it_had_has_one_cut(name, tiny_bert, tmp_path):
    adapt(get_preset(name), open_model(tiny_bert), Sources()).save(tmp_path / "same")
    assert list(load_tokenizers(open_model(tmp_path / "same"))) == ["base"]
    with raises_input_error("no-tokenization", "adapted"):
        check_tokenization("adapted", ["base"])
