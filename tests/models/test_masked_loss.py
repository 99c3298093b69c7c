import math

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.models.contextual.masked_loss import (
    MaskedWindow,
    WindowSettings,
    build_loss_windows,
    compute_masked_loss,
    compute_unigram_loss,
)
from vocadapt.models.language_model import open_model
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WHOLE = vocabulary_of(build_tokenizer((*SPECIAL, "heart", "pain", "pains", "a")))
CUT = vocabulary_of(build_tokenizer((*SPECIAL, "heart", "pain", "##s", "a")))
UNCASED = Splitter.bert()
ALL = WindowSettings(share=1.0)


def test_windows_hold_all_pieces_of_a_hidden_word_and_count_its_characters():
    (window,) = build_loss_windows(["Pains a heart"], UNCASED, CUT, ALL)
    assert window.ids.tolist() == [2, 6, 7, 8, 5, 3]  # [CLS] pain ##s a heart [SEP]
    assert window.hidden.tolist() == [False, True, True, True, True, False]
    assert (window.words, window.characters) == (3, 11)


def test_the_same_words_are_hidden_whatever_the_vocabulary():
    lines = ["pains a heart pain"] * 40
    hidden = []
    for vocabulary in (WHOLE, CUT):
        found = list(
            build_loss_windows(
                lines, UNCASED, vocabulary, WindowSettings(words=3, share=0.5, seed=4)
            )
        )
        assert len(found) == 80  # 4 words, 3 a window
        hidden.append([(window.words, window.characters) for window in found])
    assert hidden[0] == hidden[1]
    assert 40 < sum(words for words, _ in hidden[0]) < 120


def test_a_word_that_cannot_be_tokenized_is_not_masked():
    (window,) = build_loss_windows(["pain ☃ heart"], UNCASED, CUT, ALL)
    assert window.ids.tolist() == [2, 6, 1, 5, 3]
    assert window.hidden.tolist() == [False, True, False, True, False]
    assert (window.words, window.characters) == (2, 9)


def test_the_unigram_loss_by_hand():
    counts = np.zeros(9, dtype=np.int64)
    counts[[5, 6]] = 7, 0  # heart 7 times, pain never; one is added to each of nine
    asked = [MaskedWindow(np.array([2, 5, 6, 3]), np.array([False, True, True, False]), 2, 9)]
    loss = compute_unigram_loss(counts, asked)
    assert loss.nats == pytest.approx(-math.log(8 / 16) - math.log(1 / 16))
    assert loss.per_character == pytest.approx(loss.nats / 9)


def test_a_network_that_knows_nothing_loses_the_log_of_its_vocabulary_on_each_piece(tiny_bert):
    import torch

    model = open_model(tiny_bert)
    network = model.network
    with torch.no_grad():
        for value in (network.cls.predictions.decoder.weight, network.cls.predictions.bias):
            value.zero_()
    text = ["the patient has heart pain", "hypertension"]
    asked = list(build_loss_windows(text, model.splitter, model.vocabulary, ALL))
    pieces = sum(int(window.hidden.sum()) for window in asked)
    loss = compute_masked_loss(network.train(), model.vocabulary, asked)
    assert loss.nats == pytest.approx(pieces * math.log(len(model.vocabulary)), rel=1e-5)
    assert (loss.words, loss.characters, loss.windows) == (6, 34, 2)
    assert network.training  # left as it was


def test_padding_and_batches_change_nothing(tiny_bert):
    model = open_model(tiny_bert)
    lines = [
        "the patient has heart pain",
        "a",
        "treatment of disease with drugs in the trial group",
    ] * 12
    asked = [
        window
        for window in build_loss_windows(
            lines, model.splitter, model.vocabulary, WindowSettings(share=0.4)
        )
        if window.words
    ]
    one_by_one = sum(
        compute_masked_loss(model.network, model.vocabulary, [window]).nats for window in asked
    )
    assert compute_masked_loss(model.network, model.vocabulary, asked).nats == pytest.approx(
        one_by_one, rel=1e-4
    )


def test_windows_longer_than_the_network_are_left_out_and_counted(tiny_bert):
    model = open_model(tiny_bert)  # 64 positions
    lines = ["heart pain", "xylophonist " * 20]
    loss = compute_masked_loss(
        model.network,
        model.vocabulary,
        build_loss_windows(lines, model.splitter, model.vocabulary, ALL),
    )
    assert (loss.windows, loss.too_long, loss.words) == (1, 1, 2)


def test_a_network_without_a_head_and_a_text_without_words_are_refused(make_bert, tiny_bert):
    model = open_model(make_bert(head="BertModel"))
    asked = list(build_loss_windows(["heart pain"], model.splitter, model.vocabulary, ALL))
    with raises_input_error("no-masked-head"):
        compute_masked_loss(model.network, model.vocabulary, asked)
    whole = open_model(tiny_bert)
    with raises_input_error("nothing-masked"):
        compute_masked_loss(
            whole.network,
            whole.vocabulary,
            build_loss_windows(["", " "], whole.splitter, whole.vocabulary),
        )
