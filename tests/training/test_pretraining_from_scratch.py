import os
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.pretraining import SMALL, write_meals
from tests.material.stated_numbers import find_numbers
from vocadapt.errors import Canceled, InputError
from vocadapt.models.language_model import open_model
from vocadapt.progress import silent
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.training import training_text as material_module
from vocadapt.training.callbacks import find_checkpoint
from vocadapt.training.masked import trainer as trainer_module
from vocadapt.training.masked import validation
from vocadapt.training.masked.blocks import Blocks, MaskedBlockDataset, pack_blocks
from vocadapt.training.masked.from_scratch import (
    ScratchSettings,
    build_network,
    pretrain_from_scratch,
)
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.trainer import measure_step_seconds, train_masked
from vocadapt.training.masked.validation import read_curve
from vocadapt.training.training_text import read_pretoken_lines, write_training_text
from vocadapt.vocabulary.families import vocabulary_of
from vocadapt.vocabulary.families.wordpiece import build_tokenizer
from vocadapt.vocabulary.families.wordpiece_training import train_wordpiece

UNCASED = Splitter.bert()
SHORT = replace(SMALL.training, tokens=16 * 8)


@pytest.fixture
def text(tmp_path):
    return write_meals(tmp_path / "text.txt")


def test_a_small_bert_from_nothing_beats_counting_and_its_untrained_self(text, tmp_path):
    seen = []
    made = pretrain_from_scratch(
        open_corpus([text]), SMALL, lambda fraction, message="": seen.append((fraction, message))
    )
    report = made.report
    loss = report.loss_per_character
    assert loss["after"] < loss["unigram"] < loss["before"]
    assert (report.tokens, report.steps, report.frozen) == (16 * 8 * 60, 60, 0)
    assert report.trainable == sum(value.numel() for value in made.network.parameters())
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and fractions[0] >= 0 and fractions[-1] < 1
    assert any("wordpieces/s" in message for _, message in seen)

    folder = tmp_path / "model"
    folder.mkdir()
    made.save(folder, half=True)
    model = open_model(folder)
    assert model.vocabulary.tokens == made.tokens
    assert model.vocabulary.tokenize("unknownword") != ()
    assert type(model.network).__name__ == "BertForMaskedLM"
    assert str(model.network.dtype) == "torch.float16"
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    _, loaded = AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
    assert not loaded["missing_keys"] and not loaded["unexpected_keys"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer("Red apples").input_ids == model.fast_tokenizer.encode("Red apples").ids
    assert not {name for name in os.listdir(folder) if name.endswith((".bin", ".pt"))}


def blocks_of(text, tmp_path):
    material = write_training_text(open_corpus([text]), UNCASED, tmp_path)
    return pack_blocks(material.sentences, vocabulary_for(material), SMALL.training.length)


def vocabulary_for(material):
    counts = Counter(chain.from_iterable(read_pretoken_lines(material.sentences)))
    return vocabulary_of(build_tokenizer(train_wordpiece(counts, 90)))


def fresh(blocks):
    return build_network(blocks.vocabulary, SMALL)


def weights(network):
    return {name: value.detach().numpy().copy() for name, value in network.named_parameters()}


def test_a_training_that_was_stopped_twice_ends_as_one_that_was_not(text, tmp_path):
    import torch

    blocks = blocks_of(text, tmp_path)
    settings = MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 10, save_minutes=1e-6)
    whole = fresh(blocks)
    (tmp_path / "whole").mkdir()
    train_masked(whole, blocks, settings, tmp_path / "whole")

    folder = tmp_path / "stopped"
    folder.mkdir()
    for stop in (4, 8, None):
        torch.manual_seed(stop or 99)  # what happens elsewhere must not matter
        np.random.seed(stop or 99)  # noqa: NPY002

        def progress(fraction, message="", stop=stop):
            if stop is not None and f"step {stop} " in message:
                raise Canceled

        network = fresh(blocks)
        try:
            trained = train_masked(network, blocks, settings, folder, progress)
        except Canceled:
            assert find_checkpoint(folder)
    assert trained.steps == 10 and trained.tokens == 10 * 128
    expected = weights(whole)
    for name, value in weights(network).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_what_is_frozen_does_not_move(text, tmp_path):
    blocks = blocks_of(text, tmp_path)
    network = fresh(blocks)
    for name, value in network.named_parameters():
        value.requires_grad = "encoder" not in name
    before = weights(network)
    trained = train_masked(network, blocks, SMALL.training, tmp_path)
    moved = {
        name for name, value in weights(network).items() if not np.array_equal(value, before[name])
    }
    assert moved and not any("encoder" in name for name in moved)
    assert trained.frozen == sum(value.size for name, value in before.items() if "encoder" in name)


def test_an_hours_budget_becomes_steps_that_are_written_down(text, tmp_path):
    blocks = blocks_of(text, tmp_path)
    settings = MaskedSettings(length=16, batch=8, hours=0.0005)
    first = train_masked(fresh(blocks), blocks, settings, tmp_path)
    assert first.steps >= 1 and (tmp_path / "steps.txt").read_text() == str(first.steps)
    (tmp_path / "steps.txt").write_text("2")
    assert train_masked(fresh(blocks), blocks, settings, tmp_path).steps == 2


def test_a_speed_is_reported_after_some_seconds(text, tmp_path, monkeypatch):
    """A step of many parts on a large network is not waited for: some of its parts tell."""
    blocks, settings = blocks_of(text, tmp_path), MaskedSettings(length=16, batch=8, parts=4)
    seen = []
    assert (
        measure_step_seconds(
            fresh(blocks), blocks, settings, lambda fraction, message="": seen.append(message)
        )
        > 0
    )
    assert len(seen) == 15 * 4  # nothing is believed too early where it is quick
    monkeypatch.setattr(trainer_module, "MEASURE_SECONDS", 0.0)
    seen.clear()
    assert (
        measure_step_seconds(
            fresh(blocks), blocks, settings, lambda fraction, message="": seen.append(message)
        )
        > 0
    )
    assert [find_numbers(message) for message in seen] == [[part, 60] for part in range(1, 5)]


def test_the_pace_of_a_training_that_went_on_is_that_of_all_of_it(text, tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "WRITE_SECONDS", 0.0)
    settings = replace(
        SMALL, training=replace(SMALL.training, tokens=16 * 8 * 12, save_minutes=1e-6)
    )

    def progress(fraction, message=""):
        if "step 10 " in message:
            raise Canceled

    (tmp_path / "kept").mkdir()
    with pytest.raises(Canceled):
        pretrain_from_scratch(open_corpus([text]), settings, progress, tmp_path / "kept")
    heard = read_curve(tmp_path / "kept")
    report = pretrain_from_scratch(open_corpus([text]), settings, silent, tmp_path / "kept").report
    assert report.tokens == 16 * 8 * 12 and report.seconds > 0.9 * heard.seconds > 0


def test_a_network_without_a_head_is_refused(text, tmp_path, make_bert):
    network = open_model(make_bert(head="BertModel")).network
    with raises_input_error("no-masked-head"):
        train_masked(network, blocks_of(text, tmp_path), SMALL.training, tmp_path)


def test_lines_are_held_out_by_the_seed_and_never_trained_on(text, tmp_path):
    corpus = open_corpus([text])
    material = write_training_text(corpus, UNCASED, tmp_path, seed=2)
    assert 1 <= len(material.held_out) <= 30
    assert material.lines + len(material.held_out) == 900
    again = write_training_text(corpus, UNCASED, tmp_path, seed=2)
    assert (
        again.held_out
        == material.held_out
        != write_training_text(corpus, UNCASED, tmp_path, seed=3).held_out
    )


def test_only_a_newline_ends_a_line_of_the_text(tmp_path):
    """A line with U+2028, a vertical tab, a form feed or U+0085 is held out or trained on whole."""
    path = tmp_path / "separators.txt"
    lines = [
        f"a{number} b{number}\u2028c{number}\x0bd{number}\x0ce{number}\x85f{number}\n"
        for number in range(400)
    ]
    path.write_text("".join(lines), encoding="utf-8", newline="")
    found = write_training_text(open_corpus([path]), UNCASED, tmp_path)
    assert found.held_out
    assert set(found.held_out) <= set(lines)
    assert found.lines + len(found.held_out) == len(lines)
    with found.sentences.open(encoding="utf-8", newline="\n") as file:
        trained = [line.split() for line in file]
    held_out = [list(UNCASED.words(line)) for line in found.held_out]
    assert sorted(trained + held_out) == sorted(list(UNCASED.words(line)) for line in lines)


@pytest.mark.parametrize("gap", ["", "\n"])
def test_of_a_long_text_lines_are_held_out_from_all_of_it(gap, tmp_path, monkeypatch):
    monkeypatch.setattr(material_module, "MAX_HELD_OUT", 20)
    path, hits = tmp_path / "long.txt", np.zeros(4)
    path.write_text(
        "".join(f"line {number}\n{gap}" for number in range(8000)).rstrip("\n"), encoding="utf-8"
    )
    for seed in range(10):
        found = write_training_text(
            open_corpus([path]), UNCASED, tmp_path, seed, documents=bool(gap)
        )
        assert len(found.held_out) == 20
        places = [int(line.split()[1]) for line in found.held_out]
        assert places == sorted(places)
        hits += np.histogram(places, bins=4, range=(0, 8000))[0]
        written = [line for line in found.sentences.read_text().splitlines() if line]
        assert sorted(written) == sorted(
            {f"line {number}" for number in range(8000)} - {f"line {place}" for place in places}
        )
        lines = found.sentences.read_text().splitlines()
        assert not gap or not any(
            one and then for one, then in pairwise(lines)
        )  # each stays a document of its own
    assert hits.min() > 25  # 50 in each quarter, by chance ± 6


def test_too_little_text_is_reported(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("one line only\n", encoding="utf-8")
    with raises_input_error("little-text") as caught:
        pretrain_from_scratch(open_corpus([path]), SMALL)
    assert "break" in caught.value.remedy  # a text of one line may have many words


@pytest.mark.parametrize(
    "wrong",
    [
        {"length": 4},
        {"batch": 0},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"epochs": -1.0},
        {"tokens": -5},
        {"share": 1.0},
        {"warm_up": 2.0},
    ],
)
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(InputError):
        MaskedSettings(**wrong)


def test_sizes_that_cannot_be_built_are_refused():
    for wrong, said in (
        ({"layers": 0}, "Layers"),
        ({"hidden": 1}, "Hidden size"),
        ({"hidden": 200}, "cannot be divided"),
    ):
        with pytest.raises(InputError, match=said):
            ScratchSettings(**wrong)


def test_the_vocabulary_is_trained_by_the_chosen_trainer(text):
    with raises_input_error("unknown-choice"):
        ScratchSettings(trainer="best")
    made = {
        trainer: (
            pretrain_from_scratch(
                open_corpus([text]), replace(SMALL, vocabulary=60, trainer=trainer, training=SHORT)
            ).tokens
        )
        for trainer in ("bpe-merges", "wordpiece-score")
    }
    assert len(set(made.values())) == 2 and all(len(tokens) <= 60 for tokens in made.values())


def test_the_schedule_never_goes_below_zero(tiny_bert, tmp_path):
    """Published exBERT's does, from its second pass on."""
    from vocadapt.training.masked.masked_trainer import MaskedTokenTrainer

    network, settings = open_model(tiny_bert).network, MaskedSettings(length=8, batch=2, lr=1e-3)
    blocks = Blocks(np.full((4, 8), 9, dtype=np.int32), open_model(tiny_bert).vocabulary)
    trainer = MaskedTokenTrainer(
        network, MaskedBlockDataset(blocks, 20, 0.15, 1), settings, 10, tmp_path, silent
    )
    trainer.create_optimizer_and_scheduler(10)
    assert trainer.optimizer.defaults["betas"] == (0.9, 0.999)
    rates = []
    for _ in range(30):
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
        rates.append(trainer.lr_scheduler.get_last_lr()[0])
    assert min(rates) == 0.0 == rates[9] == rates[29] and max(rates) <= 1e-3


@pytest.mark.slow
def test_the_default_first_embeddings_give_the_same_weights_stopped_or_not(text, tmp_path):
    """Word vectors that several threads trained gave other weights at every run."""
    settings = replace(
        SMALL, training=replace(SMALL.training, tokens=16 * 8 * 12, save_minutes=1e-6)
    )
    assert not settings.random_rows

    def stop_at(message_part):
        def progress(fraction, message=""):
            if message_part in message:
                raise Canceled

        return progress

    for name in ("first", "second", "stopped"):
        (tmp_path / name).mkdir()
    first = pretrain_from_scratch(open_corpus([text]), settings, silent, tmp_path / "first")
    second = pretrain_from_scratch(open_corpus([text]), settings, silent, tmp_path / "second")
    for part in ("step 1 ", "step 6 "):
        with pytest.raises(Canceled):
            pretrain_from_scratch(
                open_corpus([text]), settings, stop_at(part), tmp_path / "stopped"
            )
    resumed = pretrain_from_scratch(open_corpus([text]), settings, silent, tmp_path / "stopped")
    expected = weights(first.network)
    for other in (second, resumed):
        for name, value in weights(other.network).items():
            np.testing.assert_array_equal(value, expected[name], err_msg=name)
        assert other.losses.per_character == first.losses.per_character


def test_a_model_saved_in_half_reports_the_loss_of_what_is_saved(text, tmp_path):
    made = pretrain_from_scratch(open_corpus([text]), replace(SMALL, training=SHORT), half=True)
    before = {name: value.copy() for name, value in weights(made.network).items()}
    made.save(tmp_path, half=True)
    for name, value in weights(open_model(tmp_path).network.float()).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
