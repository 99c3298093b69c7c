"""Contextual vectors against a plain loop over the transformers model; which occurrences are
sampled, left out and refused."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import Canceled
from vocadapt.models.contextual.occurrences import (
    ContextualSettings,
    draw_occurrences,
    find_targets,
    iterate_windows,
)
from vocadapt.models.contextual.word_vectors import (
    compute_contextual_vectors,
    count_max_tokens,
    measure_contextual,
)
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences

LINES = [
    "The patient has heart pain, and the tachycardia is high.",
    "a heart",
    "Treatment of hypertension with drugs in the trial group: placebo, placebo!",
    "",
    "pain",
]


@pytest.fixture(scope="module")
def model(tiny_bert):
    return open_model(tiny_bert)


@pytest.fixture
def read(tmp_path, model):
    """Lines → the words file and the counts of their words."""

    def write(lines=LINES):
        text = tmp_path / "text.txt"
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        sentences = tmp_path / "sentences.txt"
        return sentences, write_sentences(open_corpus([text]), model.splitter, sentences).counts

    return write


def made(model, read, lines=LINES, wanted=None, **settings):
    chosen = ContextualSettings(**{"min_count": 1, "length": 64, **settings})
    sentences, counts = read(lines)
    targets = find_targets(counts, model.vocabulary, chosen, wanted)
    return compute_contextual_vectors(sentences, targets, model, chosen)


def by_hand(model, word, layer, lines=LINES):
    """The mean over all occurrences of a word of the mean of its pieces' hidden states, one line at
    a time.
    """
    import torch

    found = []
    for line in lines:
        encoded = model.tokenizer(line, return_tensors="pt")
        words = model.splitter.words(line)
        with torch.no_grad():
            states = model.network.base_model(**encoded, output_hidden_states=True).hidden_states[
                layer
            ][0]
        for number, other in enumerate(words):
            if other == word:
                places = [i for i, at in enumerate(encoded.word_ids()) if at == number]
                found.append(states[places].mean(dim=0).numpy())
    return np.mean(found, axis=0), len(found)


@pytest.mark.parametrize("layer", [0, 1, 2, -1])
def test_the_vectors_are_those_of_a_hand_loop(model, read, layer):
    result = made(model, read, layer=layer, batch=2)
    assert result.layer == (2 if layer == -1 else layer) and result.layers == 2
    for word in ("heart", "tachycardia", "the", "pain", ",", "placebo"):
        vector, times = by_hand(model, word, result.layer)
        assert np.allclose(result.space[word], vector, atol=1e-5), word
        assert result.space.counts[result.space.index[word]] == times
    assert result.windows == 4 and result.occurrences == sum(result.space.counts)


def test_batches_and_their_order_change_nothing(model, read):
    lines = LINES * 9
    one, many = (made(model, read, lines, batch=size).space for size in (1, 64))
    assert one.words == many.words and np.allclose(one.matrix, many.matrix, atol=1e-5)


def test_words_are_tokenized_by_the_model(model, read):
    import torch

    space = made(model, read, ["tachycardia", "hypertension"], unit="tokens", layer=1).space
    assert {"tachy", "##card", "##i", "##a", "hyper", "##tension"} == set(space.words)
    encoded = model.tokenizer("tachycardia", return_tensors="pt")
    with torch.no_grad():
        states = model.network.base_model(**encoded, output_hidden_states=True).hidden_states[1][0]
    assert np.allclose(space["##card"], states[2].numpy(), atol=1e-5)


def test_a_long_line_is_split_between_words_and_nothing_is_lost(model, read):
    line = " ".join(["heart", "tachycardia", "pain"] * 20)
    result = made(model, read, [line], length=10, occurrences=1000)
    assert result.windows > 5 and result.occurrences == 60
    assert dict(zip(result.space.words, result.space.counts, strict=True)) == {
        "heart": 20,
        "pain": 20,
        "tachycardia": 20,
    }
    assert result.tokens == 20 * 6 + 2 * result.windows


def test_occurrences_are_drawn_by_the_seed_and_no_window_is_read_without_one(model, read):
    lines = [f"heart {other}" for other in ["pain", "blood", "cell", "acid", "drug"] * 20]
    settings = ContextualSettings(min_count=50, occurrences=7, length=64)
    sentences, counts = read(lines)
    targets = find_targets(counts, model.vocabulary, settings)
    assert targets.names == ("heart",) and targets.taken(7).tolist() == [7]
    (drawn,) = draw_occurrences(targets, settings)
    assert len(drawn) == 7 and max(drawn) < 100
    found = [
        window for window, _ in iterate_windows(sentences, model.vocabulary, targets, settings)
    ]
    assert len(found) == 7
    first, again, other = (
        made(model, read, lines, min_count=50, occurrences=7, seed=seed).space.matrix
        for seed in (1, 1, 2)
    )
    assert (first == again).all() and not np.allclose(first, other)
    assert draw_occurrences(targets, ContextualSettings(occurrences=100)) == [None]


def test_what_gets_no_vector_is_counted(model, read):
    lines = ["heart ☃ pain", "x" * 60, "heart drug"]
    counts = read(lines)[1]
    targets = find_targets(
        counts, model.vocabulary, ContextualSettings(min_count=1, length=20, first=2)
    )
    assert targets.names == ("heart", "drug")
    # Two cannot be spelled or are too long, one is not among the first two.
    assert list(targets.left_out.values()) == [2, 1]
    asked = find_targets(counts, model.vocabulary, ContextualSettings(), ["drug", "nosuch", "drug"])
    assert asked.names == ("drug",) and sum(asked.left_out.values()) == 1
    result = made(
        model, read, lines, length=20
    )  # the word too long for a window stands in it as [UNK]
    assert result.space.words == ("heart", "drug", "pain")


HOSTILE = ["<script>", "$x$", "<s>", ":red[x]", "\u202eabc", "[CLS]", "##ing", "'; --"]


def test_hostile_text_is_text(model, read):
    space = made(model, read, [*HOSTILE, "\x07\x85", "\u3000", "heart"]).space
    assert {"script", "<", "$", "[", "cl", "heart"} - set(space.words) <= {"cl"}
    assert np.isfinite(space.matrix).all()
    tokens = made(model, read, HOSTILE, unit="tokens").space
    assert not model.vocabulary.special.intersection(tokens.words)


def test_a_half_precision_model_is_read_in_float32(make_bert, read):
    import torch

    half = open_model(make_bert())
    network = half.network.half()
    network.save_pretrained(half.path)
    again = open_model(half.path)
    assert again.network.dtype == torch.float16
    space = made(again, read, layer=2).space
    vector, _ = by_hand_float(again, "heart")
    assert np.allclose(space["heart"], vector, atol=1e-5)


def by_hand_float(model, word):
    model.network.float()
    return by_hand(model, word, 2)


@pytest.mark.parametrize("head", ["BertModel", "BertForTokenClassification"])
def test_any_head_will_do(make_bert, read, head):
    assert len(made(open_model(make_bert(head=head)), read).space) == 23


@pytest.mark.parametrize(
    ("settings", "code", "value"),
    [
        (dict(layer=3), "missing-layer", "2 layers"),
        (dict(layer=-2), "out-of-range", "-1"),
        (dict(length=65), "long-window", "64"),
        (dict(length=3), "out-of-range", "4"),
        (dict(occurrences=0), "out-of-range", "1"),
        (dict(unit="letters"), "unknown-choice", "'letters'"),
        (dict(min_count=1000), "no-targets", "1000"),
        (dict(wanted=["nosuch"]), "no-targets", "1:"),
        (dict(wanted=[]), "no-targets", "none"),
    ],
)
def test_bad_settings(model, read, settings, code, value):
    with raises_input_error(code, value):
        made(model, read, **settings)


def test_bare_vocabularies_and_other_architectures_are_refused(tmp_path, tiny_bert, read):
    from tests.material.tiny_bert import TINY_TOKENS

    (tmp_path / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n")
    with raises_input_error("bare-vocabulary"):
        made(open_model(tmp_path / "vocab.txt"), read)


def test_it_can_be_stopped_and_says_its_cost(model, read):
    def stop(fraction, message=""):
        assert 0 <= fraction <= 1 and "wordpieces" in message
        raise Canceled

    settings = ContextualSettings(min_count=1, length=64)
    sentences, counts = read()
    targets = find_targets(counts, model.vocabulary, settings)
    with pytest.raises(Canceled):
        compute_contextual_vectors(sentences, targets, model, settings, stop)
    most = count_max_tokens(counts, targets, model, settings)
    assert most >= compute_contextual_vectors(sentences, targets, model, settings).tokens - 2 * 4
    assert (
        0
        < measure_contextual(most, model, ContextualSettings(layer=1, length=64)).seconds
        < measure_contextual(most, model, settings).seconds
    )
