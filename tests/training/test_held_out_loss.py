"""The held-out loss: its interval, its verdict, and equality with the loss of the saved model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.material.pretraining import QUICK, trained
from vocadapt.models.contextual.masked_loss import (
    MaskedLoss,
    WindowSettings,
    build_loss_windows,
    compute_masked_loss,
    compute_unigram_loss,
)
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked.validation import (
    HIGHER,
    LOWER,
    MIN_WORDS,
    NO_DIFFERENCE,
    TOO_FEW,
    Losses,
    estimate_ratio,
)
from vocadapt.training.rounding import copy_weights, round_weights
from vocadapt.training.training_text import write_training_text

pytestmark = pytest.mark.usefixtures("one_thread")


def loss_of(nats, words=1000):
    """A loss of windows of ten characters each."""
    each = np.array([nats, [10.0] * len(nats)]).T
    return MaskedLoss(float(sum(nats)), words, 10 * len(nats), len(nats), each=each)


def test_the_interval_of_a_ratio_is_the_known_one():
    # residuals −1 and 1: √(2 · 2) / 2 = 1
    expected = 3.0, (3 - 1.96, 3 + 1.96)
    assert estimate_ratio(np.array([2.0, 4.0]), np.array([1.0, 1.0])) == expected
    assert estimate_ratio(np.array([2.0]), np.array([4.0])) == (0.5, None)


def test_the_interval_holds_the_true_ratio_as_often_as_it_says():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        characters = rng.integers(5, 60, 80).astype(float)
        nats = characters * 1.5 + rng.normal(0, 12, 80)
        _, (low, high) = estimate_ratio(nats, characters)
        held += low <= 1.5 <= high
    assert 0.91 < held / 400 < 0.98


@pytest.mark.parametrize(
    ("shift", "words", "verdict"),
    [
        (-2.0, 1000, LOWER),
        (2.0, 1000, HIGHER),
        (0.0, 1000, NO_DIFFERENCE),
        (-2.0, MIN_WORDS - 1, TOO_FEW),
    ],
)
def test_a_difference_is_called_where_there_are_words_enough(shift, words, verdict):
    rng = np.random.default_rng(2)
    before = rng.normal(20, 5, 60)
    after = before + shift + rng.normal(0, 1, 60)
    losses = Losses(loss_of(before), loss_of(before, words), loss_of(after, words))
    assert losses.change.verdict == verdict
    assert losses.change.describe(words).code == verdict.replace(" ", "_")


def test_two_windows_are_too_few_however_many_words_they_hold():
    losses = Losses(loss_of([9, 9]), loss_of([9, 9]), loss_of([1, 1]))
    assert losses.change.verdict == TOO_FEW


def test_windows_sum_up_to_the_loss(tiny_bert, long_text):
    model = open_model(tiny_bert)
    lines = long_text.read_text().splitlines()[:40]
    asked = tuple(
        build_loss_windows(lines, model.splitter, model.vocabulary, WindowSettings().within(16))
    )
    for loss in (
        compute_masked_loss(model.network, model.vocabulary, asked),
        compute_unigram_loss(np.ones(len(model.vocabulary)), asked),
    ):
        assert loss.each.shape == (sum(window.hidden.any() for window in asked), 2)
        np.testing.assert_allclose(loss.each.sum(axis=0), (loss.nats, loss.characters), rtol=1e-6)
    alone = compute_masked_loss(
        model.network, model.vocabulary, [one for one in asked if one.hidden.any()][:1]
    )
    np.testing.assert_allclose(
        alone.each[0],
        compute_masked_loss(model.network, model.vocabulary, asked).each[0],
        rtol=1e-5,
    )


@pytest.fixture(scope="module")
def half_model(tmp_path_factory, tiny_bert):
    import shutil

    source = tmp_path_factory.mktemp("half") / "half"
    shutil.copytree(tiny_bert, source)
    open_model(source).network.half().save_pretrained(source)
    return source


def test_the_loss_is_that_of_the_float16_model_that_is_saved(half_model, long_text, tmp_path):
    """Small updates vanish in rounding: the float32 network that was trained has another loss."""
    training = replace(QUICK, lr=2e-5)
    done = trained(half_model, long_text, tmp_path / "m", "continued", training=training)
    report = done.report
    saved = open_model(tmp_path / "m")
    assert saved.network.dtype == torch.float16
    (tmp_path / "again").mkdir()
    material = write_training_text(
        open_corpus([long_text]), saved.splitter, tmp_path / "again", training.seed
    )
    drawn = WindowSettings().within(training.length)
    asked = tuple(build_loss_windows(material.held_out, saved.splitter, saved.vocabulary, drawn))
    measured = compute_masked_loss(saved.network.float(), saved.vocabulary, asked)
    assert report.loss_per_character["after"] == measured.per_character
    assert report.stored_as == "float16"
    assert 0.05 < report.updates_lost_to_rounding < 1
    assert [one.code for one in report.list_findings()][1] == "rounding"


def test_a_float32_model_reports_no_rounding(tiny_bert, long_text, tmp_path):
    report = trained(tiny_bert, long_text, tmp_path / "m", "continued").report
    assert report.stored_as is None and len(report.list_findings()) == 1


def test_lost_updates_are_counted():
    network = torch.nn.Linear(4, 1, bias=False)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.0, 1.0, 1.0, 1.0]]))
        before = copy_weights(network, torch.float16)
        network.weight += torch.tensor([[0.0, 1e-5, 1e-4, 0.5]])  # float16 has steps of 1e-3 there
    found = round_weights(network, torch.float16, before)
    assert (found.changed, found.lost) == (3, 2)
    assert network.weight.tolist() == [[1.0, 1.0, 1.0, 1.5]]


@pytest.mark.slow
def test_a_stopped_training_of_a_float16_model_goes_on_in_float32(half_model, long_text, tmp_path):
    from vocadapt.errors import Canceled
    from vocadapt.training.masked.continued import ContinuedSettings, continue_pretraining

    settings = ContinuedSettings("continued", training=replace(QUICK, lr=2e-5, save_minutes=1e-6))
    corpus = open_corpus([long_text])

    def stop(fraction, message=""):
        if "step 7 " in message:
            raise Canceled

    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    expected = continue_pretraining(open_model(half_model), corpus, settings, tmp_path / "whole")
    with pytest.raises(Canceled):
        continue_pretraining(open_model(half_model), corpus, settings, tmp_path / "stopped", stop)
    done = continue_pretraining(open_model(half_model), corpus, settings, tmp_path / "stopped")
    for key, value in done.loaded.network.state_dict().items():
        assert torch.equal(value, expected.loaded.network.state_dict()[key]), key
    assert done.figures == expected.figures


def test_the_command_answers_with_the_interval_and_the_verdict(
    tiny_bert, long_text, tmp_path, ask, show
):
    line = (
        f"pretrain --model {tiny_bert} --stage continued --corpus {long_text} --length 16"
        " --tokens 512 --batch-size 8"
    )
    answer = ask(f"{line} --out {tmp_path}/a")
    low, high = answer["loss_interval"]["after"]
    assert low < answer["loss_per_character"]["after"] < high
    assert answer["loss_change"]["verdict"] in (TOO_FEW, LOWER, HIGHER, NO_DIFFERENCE)
    shown = show(f"{line} --out {tmp_path}/b")
    assert "95% interval" in shown
