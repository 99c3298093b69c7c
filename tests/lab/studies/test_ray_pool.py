"""A study on a real Ray cluster of three nodes on this machine, one of which is killed in mid-cell."""

import json
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.ray_nodes import find_raylet, needs_ray
from tests.material.studies import find_begun_cell, read_results, wait_for
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.pools import LocalPool
from vocadapt.lab.experiments.studies.runner import run_grid
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.experiments.studies.table import build_table
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words

LONG = 900.0  # seconds, on a busy machine
PART = 0.2  # of a cell that is done when its node dies
pytestmark = [pytest.mark.slow, needs_ray]
STUDY = """
name = "s"
seeds = [1, 2, 3]
retries = 1
[settings]
num_epochs = 60
batch_size = 4
learning_rate = 1e-3
[[variants]]
name = "tiny"
model = "bert"
[[tasks]]
name = "spans"
kind = "ner"
train = "train.txt"
test = "train.txt"
"""


@pytest.fixture
def study_file(tmp_path):
    write_conll(tmp_path / "train.txt", sentences(60))
    build_tiny_bert(tmp_path / "bert")
    (tmp_path / "s.toml").write_text(STUDY)
    return tmp_path / "s.toml"


def open_grid(file, out):
    """The grid of the study, with a checkpoint every few steps."""
    out.mkdir(exist_ok=True)
    grid = expand(read_study(file), out)
    cells = []
    for cell in grid.cells:
        settings = cell.step.spec.settings
        settings = replace(settings, finetune=replace(settings.finetune, save_minutes=1e-4))
        spec = replace(cell.step.spec, settings=settings)
        cells.append(replace(cell, step=replace(cell.step, spec=spec)))
    return replace(grid, cells=tuple(cells))


def run_on_ray(file, out):
    """What the process of the study does."""
    from vocadapt.lab.experiments.studies.ray_pool import Demand, RayPool

    grid = open_grid(Path(file), Path(out))
    outcome = run_grid(grid, Path(out), RayPool("ray", Path(out), Demand()))
    sys.stdout.write(json.dumps(outcome.to_dict()))


def start_study(file, out):
    code = f"import sys; from {__name__} import run_on_ray; run_on_ray(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, str(file), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_node_killed_in_mid_cell(study_file, cluster, tmp_path):
    # 1. Without any cluster, and without any loss.
    plain = tmp_path / "plain"
    whole = open_grid(study_file, plain)
    assert run_grid(whole, plain, LocalPool(1)).done == 3

    # 2. On the cluster: a node dies while it computes a cell, after its first checkpoint.
    out = tmp_path / "out"
    process = start_study(study_file, out)
    victim = cluster.list_all_nodes()[-1]
    job = wait_for(lambda: find_begun_cell(out, PART, find_raylet(victim)), process)
    pid = job.status().pid
    cluster.remove_node(victim, allow_graceful=False)
    wait_for(lambda: not psutil.pid_exists(pid))
    answer, log = process.communicate(timeout=LONG)
    assert process.returncode == 0, log
    assert json.loads(answer.splitlines()[-1])["done"] == 3
    assert [state for state, _ in job.status().past] == ["interrupted"]
    assert job.status().first >= PART / 2  # the first fraction that the second task reported

    # 3. Equal bits, threads kept.
    assert read_results(out) == read_results(plain)
    assert len(read_results(out)) >= 3
    assert build_table(open_grid(study_file, out), out) == build_table(whole, plain)
    for manifest in out.glob("runs/*/manifest.json"):
        assert json.loads(manifest.read_text())["threads"] == 1


def test_cells_end_with_a_study_that_is_killed(study_file, cluster, tmp_path):
    process = start_study(study_file, tmp_path / "out")
    nodes = cluster.list_all_nodes()
    jobs = wait_for(
        lambda: [
            job
            for raylet in map(find_raylet, nodes)
            if (job := find_begun_cell(tmp_path / "out", PART, raylet))
        ],
        process,
    )
    pids = [job.status().pid for job in jobs]
    process.kill()
    process.communicate()
    start = time.monotonic()
    wait_for(lambda: not any(map(psutil.pid_exists, pids)))
    assert time.monotonic() - start < 5
    again = start_study(study_file, tmp_path / "out")
    answer, log = again.communicate(timeout=LONG)
    assert again.returncode == 0, log
    assert json.loads(answer.splitlines()[-1])["failed"] == 0


def test_cells_that_no_node_takes_are_given_up(study_file, cluster, tmp_path):
    from vocadapt.lab.experiments.studies.ray_pool import Demand, RayPool

    out = tmp_path / "out"
    grid = open_grid(study_file, out)
    with pytest.raises(InputError, match="No node of the Ray cluster can run a cell"):
        RayPool("ray", out, Demand(threads=2))
    pool = RayPool("ray", out, Demand(), workers=3, max_pending=3.0)
    # More than any node offers: the tasks wait for a node that never comes.
    pool.demand = Demand(gpus=1)
    outcome = run_grid(grid, out, pool)
    assert outcome.failed == 3
    assert all("No node of the Ray cluster took" in one.problem for one in outcome.failures)


def test_a_node_without_the_folder_is_named(cluster, tmp_path, monkeypatch):
    from vocadapt.lab.experiments.studies import ray_pool

    monkeypatch.setattr(ray_pool.ray_cluster, "hold_lock", nullcontext)
    with pytest.raises(InputError, match="does not see the locks of the folder of the study"):
        ray_pool.RayPool("ray", tmp_path, ray_pool.Demand())
    assert not list(tmp_path.glob(".probe-*"))


def test_words_are_counted_on_the_nodes(cluster, tmp_path):
    from vocadapt.lab.cluster.ray_counts import count_words_on_ray

    lines = [f"acid base-{number % 7} naïve" for number in range(2000)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    corpus, splitter = open_corpus([tmp_path / "a.txt"]), Splitter.bert()
    expected = count_words(corpus, splitter)
    found = count_words_on_ray(corpus, splitter, "ray", smallest=1)
    assert list(found.counts.items()) == list(expected.counts.items())
    assert (found.lines, found.bytes) == (expected.lines, expected.bytes) == (2000, found.bytes)
    assert found.counts["acid"] == 2000


def test_pairs_are_counted_on_the_nodes_exactly(cluster, tmp_path):
    from vocadapt.lab.cluster.ray_counts import count_pairs_on_ray
    from vocadapt.progress import silent
    from vocadapt.spaces.word2vec.counted_trainer import count_pairs
    from vocadapt.text.words import write_sentences

    lines = [f"acid base-{number % 7} naïve salt {number % 3}" for number in range(2000)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    corpus, splitter = open_corpus([tmp_path / "a.txt"]), Splitter.bert()
    counts = write_sentences(corpus, splitter, tmp_path / "sentences.txt")
    words = dict(counts.counts)
    expected = count_pairs(tmp_path / "sentences.txt", words, 3, silent)
    found = count_pairs_on_ray(corpus, splitter, "ray", words, 3, smallest=1)
    assert (found != expected).nnz == 0 and found.sum() > 0
