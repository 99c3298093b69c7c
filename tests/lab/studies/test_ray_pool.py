"""A study and counts on a real Ray cluster of three nodes on this machine; see also the tests of
studies that survive.
"""

import time
from contextlib import nullcontext

import psutil
import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.ray_nodes import find_raylet, needs_ray
from tests.material.studies import find_begun_cell, finish_study, start_study, wait_for
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.runner import run_grid
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import count_words

PART = 0.2  # of a cell that is done when its study is killed
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


def test_cells_end_with_a_study_that_is_killed(study_file, cluster, tmp_path):
    process = start_study(study_file, tmp_path / "out", "--on", "ray")
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
    again = finish_study(start_study(study_file, tmp_path / "out", "--on", "ray"))
    assert again["failed"] == 0


def test_cells_that_no_node_can_run_are_refused(cluster, tmp_path):
    from vocadapt.lab.experiments.studies.ray_pool import Demand, RayPool

    with raises_input_error("no-node"):
        RayPool("ray", tmp_path, Demand(threads=2))


def test_cells_that_no_node_takes_are_given_up(study_file, cluster, tmp_path):
    from vocadapt.lab.experiments.studies.ray_pool import Demand, RayPool

    out = tmp_path / "out"
    out.mkdir()
    grid = expand(read_study(study_file), out)
    pool = RayPool("ray", out, Demand(), workers=3, max_pending=3.0)
    # More than any node offers: the tasks wait for a node that never comes.
    pool.demand = Demand(gpus=1)
    outcome = run_grid(grid, out, pool)
    assert outcome.failed == 3
    assert all("No node of the Ray cluster took" in one.problem for one in outcome.failures)


def test_a_node_without_the_folder_is_named(cluster, tmp_path, monkeypatch):
    from vocadapt.lab.experiments.studies import ray_pool

    monkeypatch.setattr(ray_pool.ray_cluster, "hold_lock", nullcontext)
    with raises_input_error("unusable-node", "locks"):
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
