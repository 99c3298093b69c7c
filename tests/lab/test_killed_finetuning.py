"""A fine-tuning job that was killed by `kill -9` resumes from its latest complete checkpoint,
with byte-equal predictions."""

import random
import time
from pathlib import Path

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.killed_jobs import LONG, kill
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.jobs.queue import resume, start
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.step import Spec
from vocadapt.training.callbacks import find_checkpoint
from vocadapt.training.finetune.settings import FinetuneSettings


@pytest.fixture
def workspace(make_workspace, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return make_workspace("w")


@pytest.mark.slow
def test_three_kills_one_inside_a_checkpoint(workspace, tmp_path):
    task, model = (
        write_conll(tmp_path / "train.txt", sentences(60)),
        build_tiny_bert(tmp_path / "bert"),
    )
    settings = FinetuneStep(
        FinetuneSettings(epochs=60, batch=4, lr=1e-3, save_minutes=1e-4), kind="ner"
    )  # 900 steps
    spec = Spec(settings, {"model": model, "train": task, "test": task})
    whole = start(workspace, spec, "whole")
    assert whole.wait(4 * LONG).state == "done", whole.log()
    job, rng = start(workspace, spec, "killed"), random.Random(3)
    folder, seen = job.folder / "checkpoint" / "seed-1", ""
    for moment in ("any", "checkpoint", "any"):
        end = time.monotonic() + 2 * LONG
        while (find_checkpoint(folder) or "") == seen:
            assert time.monotonic() < end and job.status().alive, job.log()
            time.sleep(0.01)
        if moment == "checkpoint":
            while all(
                (path / "trainer_state.json").is_file() for path in folder.glob("checkpoint-*")
            ):
                assert time.monotonic() < end and job.status().alive, job.log()
        else:
            time.sleep(rng.random())
        kill(job)
        seen = find_checkpoint(folder) or ""
        resume(workspace, job)
    assert job.wait(4 * LONG).state == "done", job.log()
    assert [state for state, _ in job.status().past] == ["interrupted"] * 3
    for name in ("predictions.jsonl", "logits.safetensors"):
        written = [
            (workspace.folder("runs", run) / name).read_bytes() for run in ("whole", "killed")
        ]
        assert written[0] == written[1], name
