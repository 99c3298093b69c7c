"""A step is refused before it starts if the disk has too little space; the message reports
required and free space."""

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.convert import ConvertStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.disk_space import FLOOR, measure_files, reserve_space
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def disk(monkeypatch):
    """Set how many bytes of the disk are free; gives the folders that were asked about."""
    asked = []

    def fill(free: int) -> list[Path]:
        monkeypatch.setattr(
            shutil,
            "disk_usage",
            lambda folder: (asked.append(Path(folder)), Usage(10**12, 0, free))[1],
        )
        return asked

    return fill


def test_measured_are_files_at_any_depth_and_nothing_else(tmp_path):
    (tmp_path / "a" / "deep" / ".hidden").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"1" * 10)
    (tmp_path / "a" / "deep" / ".hidden" / "two").write_bytes(b"2" * 200)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "one")
    (tmp_path / "a" / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "a" / "pipe")
    assert measure_files([str(tmp_path / "a")]) == 220
    assert measure_files([str(tmp_path / "a" / "one"), str(tmp_path / "gone")]) == 10


def test_what_a_step_writes(tiny_bert, tmp_path):
    text = tmp_path / "text"
    (text / "more").mkdir(parents=True)
    (text / "a.txt").write_bytes(b"a" * 1_000)
    (text / "more" / "b.txt").write_bytes(b"b" * 500)
    weights = (tiny_bert / "model.safetensors").stat().st_size
    given = {"text": str(text), "model": str(tiny_bert)}
    assert Spec(CorpusStep(copy=True), {"text": str(text)}).estimate_bytes() == 1_500
    assert Spec(CorpusStep(), {"text": str(text)}).estimate_bytes() == 0
    assert Spec(ConvertStep(), {"model": str(tiny_bert)}).estimate_bytes() == weights
    assert Spec(AdaptStep(), {"model": "a/hub-name"}).estimate_bytes() == 0
    runs = Spec(FinetuneStep(seeds=(1, 2, 3)), {"model": str(tiny_bert), "task": "t"})
    assert runs.estimate_bytes() == 3 * weights
    vectors = Spec(VectorsStep(word2vec=Word2VecSettings(dim=10)), given)
    assert vectors.estimate_bytes() == int(30 * (1_500 / 6) ** 0.5) * 10 * 4
    assert Spec(ImportVectorsStep(), {"file": str(text / "a.txt")}).estimate_bytes() == 1_000
    assert Spec(ProjectionStep(), {"space": "x"}).estimate_bytes() == 0


def test_the_nearest_folder_that_exists_is_asked(disk, tmp_path):
    asked = disk(FLOOR)
    with reserve_space(tmp_path / "not" / "there", FLOOR):
        pass
    assert asked == [tmp_path]
    with raises_input_error("no-space", "3.0 GB", "52 MB"):
        reserve_space(tmp_path / "not" / "there", 3_000_000_000).__enter__()


def test_no_step_and_no_job_starts_without_room(disk, workspace, tmp_path):
    disk(FLOOR - 1)
    (tmp_path / "text.txt").write_text("the drug\n")
    spec = Spec(CorpusStep(), {"text": str(tmp_path / "text.txt")})
    for start in (
        lambda: run_step(spec, workspace.folder("corpora", "c")),
        lambda: queue.start(workspace, spec, "c"),
    ):
        with raises_input_error("no-space"):
            start()
    assert not workspace.root.exists()


def test_a_command_ends_with_a_sentence(disk, tmp_path, capsys, tiny_bert):
    disk(1_000)
    (tmp_path / "text.txt").write_text("the drug\n")
    out = tmp_path / "v"
    code = run_line(f"vectors train {tmp_path}/text.txt --model {tiny_bert} --out {out}")
    assert code == 2 and "free" in capsys.readouterr().err and not out.exists()
