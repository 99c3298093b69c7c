"""The held-out loss during training: when it is computed, what is saved, and what a resumed
training restores."""

import json
from dataclasses import replace

import numpy as np
import pytest

from vocadapt.errors import Canceled
from vocadapt.models.contextual.masked_loss import MaskedWindow, compute_masked_loss
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked import validation
from vocadapt.training.masked.continued import ContinuedSettings, continue_pretraining
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.validation import (
    HeldOutCurve,
    HeldOutValidator,
    Point,
    read_curve,
    select_evenly,
)

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 12)


def train(model, long_text, folder, **options):
    folder.mkdir(exist_ok=True)
    settings = ContinuedSettings(
        "continued", training=replace(QUICK, **options.pop("training", {}))
    )
    return continue_pretraining(
        open_model(model), open_corpus([long_text]), settings, folder, **options
    )


def test_the_ends_are_always_evaluated_and_few_points_between_in_a_short_training(
    tiny_bert, long_text, tmp_path
):
    done = train(tiny_bert, long_text, tmp_path / "w")
    curve = done.curve
    assert [point.step for point in curve.points] == [0, 12]
    assert [point.tokens for point in curve.points] == [0, 1536]
    assert curve.steps == 12
    assert curve.step == 12
    assert curve.tokens == 1536
    assert curve.n_evaluated == curve.n_held_out  # few windows: all are asked
    assert curve.points[0].loss == pytest.approx(done.losses.before.per_character)
    assert curve.points[-1].loss == pytest.approx(done.losses.after.per_character, rel=1e-5)
    assert (
        read_curve(tmp_path / "w")
        == curve
        == HeldOutCurve.from_dict(json.loads(json.dumps(done.report.held_out_curve)))
    )
    assert done.trained.seconds == curve.seconds > 0
    assert curve.tokens_per_second == pytest.approx(1536 / curve.seconds)


def test_evaluating_does_not_change_the_training(tiny_bert, long_text, tmp_path, monkeypatch):
    dropping = {
        "dropout": 0.3,
        "tokens": 16 * 8 * 4,
    }  # draws from the random state that asking must leave alone
    seldom = train(tiny_bert, long_text, tmp_path / "a", training=dropping)
    monkeypatch.setattr(validation, "TOKENS_BETWEEN", 1)
    often = train(tiny_bert, long_text, tmp_path / "b", training=dropping)
    assert [point.step for point in often.curve.points] == list(range(5))
    assert often.losses.after == seldom.losses.after


@pytest.mark.slow
def test_a_resumed_training_restores_its_curve(tiny_bert, long_text, tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "TOKENS_BETWEEN", 1)
    saving = {"save_minutes": 1e-6}
    whole = train(tiny_bert, long_text, tmp_path / "whole", training=saving)

    def stop(fraction, message=""):
        if "step 7 " in message:
            raise Canceled

    with pytest.raises(Canceled):
        train(tiny_bert, long_text, tmp_path / "stopped", training=saving, progress=stop)
    before = read_curve(tmp_path / "stopped")
    after = train(tiny_bert, long_text, tmp_path / "stopped", training=saving).curve
    assert [point.step for point in after.points] == list(range(13))
    assert [point.loss for point in after.points] == [point.loss for point in whole.curve.points]
    seconds = [point.seconds for point in after.points]
    assert seconds == sorted(seconds)
    assert after.points[:6] == before.points[:6]
    assert after.seconds > before.seconds


def test_at_most_twenty_points_lie_between_and_never_nearer_than_set(tiny_bert, tmp_path):
    model = open_model(tiny_bert)
    ids = np.array(model.fast_tokenizer.encode("the drug").ids)
    asked = [MaskedWindow(ids, np.array([False, True, False, False]), 1, 3)]
    for steps, a_step, every in (
        (100, 1 << 20, 5),
        (1000, 2048, 50),
        (100, 2048, 32),
        (3, 2048, 32),
    ):
        folder = tmp_path / f"{steps}-{a_step}"
        folder.mkdir()
        heard = HeldOutValidator(
            model.network, model.vocabulary, asked, folder, a_step, lambda steps=steps: steps
        )
        for step in range(1, steps + 1):
            heard(step)
        expected = sorted({0, steps, *range(0, steps, every)})
        assert [point.step for point in heard.points] == expected
        assert {point.loss for point in heard.points} == {
            compute_masked_loss(model.network, model.vocabulary, asked).per_character
        }


def test_windows_are_taken_evenly_and_one_that_hides_a_word_is_among_them():
    windows = [MaskedWindow(None, None, 1 if place == 3 else 0, 1) for place in range(10)]
    assert select_evenly(windows, 10) == tuple(windows) == select_evenly(windows, 3)
    full = [MaskedWindow(None, None, 1, 1) for _ in range(10)]
    assert [full.index(one) for one in select_evenly(full, 4)] == [0, 3, 6, 9]


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"points": [[1]]}', '{"points": []}'])
def test_what_cannot_be_read_is_an_empty_curve(content, tmp_path):
    if content is not None:
        (tmp_path / validation.CURVE).write_text(content)
    assert read_curve(tmp_path) == HeldOutCurve() and HeldOutCurve().tokens_per_second == 0


def test_a_curve_becomes_json_and_back():
    curve = HeldOutCurve(
        (Point(0, 0, 0.0, 2.5), Point(10, 1280, 3.5, 2.0)), 10, 256, 900, 10, 1280, 3.5
    )
    assert HeldOutCurve.from_dict(json.loads(json.dumps(curve.to_dict()))) == curve
