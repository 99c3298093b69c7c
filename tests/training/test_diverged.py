"""A training whose loss is not finite fails as diverged: the message names the step and a
remedy, exit code 2, no output."""

import json
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from tests.material.pretraining import SMALL, write_meals
from vocadapt.cli import main
from vocadapt.lab.jobs import queue as jobs
from vocadapt.lab.jobs import worker
from vocadapt.lab.jobs.job import FLAG
from vocadapt.lab.jobs.status import Status, read_status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.contextual.masked_loss import MaskedLoss
from vocadapt.text.corpus import open_corpus
from vocadapt.training.masked import validation
from vocadapt.training.masked.from_scratch import pretrain_from_scratch

WILD = "--learning-rate 1e20"


@pytest.fixture
def text(tmp_path):
    return write_meals(tmp_path / "text.txt")


@pytest.fixture
def tagged(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("heart\tB-X\nof\tO\n\nthe\tO\ndrug\tB-X\n\n" * 20)
    return path


def assert_diverged(capsys, line, out):
    code = run_line(f"{line} {WILD} --out {out} --json")
    printed, err = capsys.readouterr()
    assert (code, printed) == (2, "")
    assert "diverged" in err and "step" in err and "1e+20" in err
    assert len([line for line in err.splitlines() if not line.startswith("warning: ")]) <= 3
    assert not out.exists()


@pytest.mark.parametrize("tokens", [128, 512])
def test_pretraining_from_scratch(capsys, text, tmp_path, tokens):
    line = f"pretrain --from-scratch --corpus {text} --vocabulary 90 --layers 1 --hidden 64"
    sizes = f"--length 16 --batch-size 8 --tokens {tokens} --random-rows"
    assert_diverged(capsys, f"{line} {sizes}", tmp_path / "out")


def test_fine_tuning_that_diverges_in_its_only_step(capsys, tiny_bert, tagged, tmp_path):
    given = f"--train {tagged} --test {tagged} --dev {tagged}"
    line = f"finetune --model {tiny_bert} --task ner {given} --num-epochs 1 --batch-size 40"
    assert_diverged(capsys, line, tmp_path / "out")


def test_a_loss_that_is_not_finite_on_the_held_out_lines_alone(text, monkeypatch):
    """The report of such a training had no figure to print."""
    lost = MaskedLoss(float("nan"), 5, 20, 2)
    monkeypatch.setattr(validation, "compute_masked_loss", lambda *given: lost)
    settings = replace(SMALL, random_rows=True, training=replace(SMALL.training, tokens=16 * 8 * 2))
    with raises_input_error("diverged", "held-out", "nan", "step 2"):
        pretrain_from_scratch(open_corpus([text]), settings)


def test_word_vectors_that_are_not_finite(tmp_path, monkeypatch):
    from tests.material.sentences import words_file
    from vocadapt.spaces.word2vec import gensim_trainer, trainer

    def ruin(model, *given):
        model.wv.vectors[0, 0] = np.nan

    monkeypatch.setattr(gensim_trainer, "_train_epochs", ruin)
    with raises_input_error("diverged"):
        trainer.train_word2vec(
            *words_file(tmp_path, [["a"] * 9]), trainer.Word2VecSettings(dim=4, trainer="gensim")
        )


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """Start a job whose process is this one: gives the job and how it ended."""
    monkeypatch.setattr(jobs, "_launch", lambda folder, space: write_status(folder, Status()))

    def run(spec, name, canceled=False):
        job = jobs.start(Workspace(tmp_path / "w"), spec, name)
        if canceled:
            (job.folder / FLAG).touch()
        reporter = worker.Reporter(job, threading.Event())
        ending = worker._run_job(job, reporter, False)
        reporter.change(**ending)
        return job, ending

    return run


def test_a_job_that_diverges_is_failed_with_the_error(queue, text, tmp_path):
    training = replace(SMALL.training, lr=1e20)
    settings = PretrainStep(scratch=replace(SMALL, random_rows=True, training=training))
    job, ending = queue(Spec(settings, {"text": str(text)}), "m")
    assert ending["state"] == "failed" and "diverged" in ending["error"]
    assert "learning rate" in ending["remedy"]
    assert read_status(job.folder).state == "failed"
    assert not job.target.exists()


def test_a_job_canceled_before_it_starts_does_not_run(queue, text, monkeypatch):
    """A short step is over before its progress looks at the flag."""
    ran = []

    def run(*given, **more):
        ran.append(given)
        return SimpleNamespace(manifest=SimpleNamespace(numbers={}))

    monkeypatch.setattr(worker, "run_step", run)
    job, ending = queue(Spec(CorpusStep(), {"text": str(text)}), "c", canceled=True)
    assert ending == {"state": "canceled"}
    assert not ran and not job.target.exists()
    _, ending = queue(Spec(CorpusStep(), {"text": str(text)}), "d")
    assert ending["state"] == "done" and len(ran) == 1


def test_the_answer_of_a_training_holds_no_missing_figure(capsys, text, tmp_path):
    """What a finite training answers is finite throughout."""
    command = (
        f"pretrain --from-scratch --corpus {text} --vocabulary 90 --layers 1 --hidden 64".split()
    )
    sizes = ["--length", "16", "--batch-size", "8", "--tokens", "512", "--random-rows"]
    assert main([*command, *sizes, "--out", str(tmp_path / "m"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert None not in answer["loss_per_character"].values()
