"""The study of 24 cells, lost at a third and run again, equals an uninterrupted one byte for byte."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.material.ray_nodes import find_raylet, needs_ray
from tests.material.studies import (
    CELLS,
    STEPS,
    find_begun_cell,
    find_first_step,
    finish_study,
    list_finished,
    read_results,
    read_table,
    run_study,
    start_study,
    wait_for,
    write_study,
)
from vocadapt.lab.workspace.manifest import Manifest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def whole(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study, run without any loss by one worker."""
    out = tmp_path_factory.mktemp("whole") / "out"
    answer = run_study(file, out, "--workers", "1")
    assert (answer["cells"], answer["done"], answer["failed"]) == (CELLS, CELLS, 0)
    for run in list_finished(out):
        record = json.loads((run / "run.json").read_text())
        assert record["curve"][-1][0] >= STEPS
    return out


def check_equal(file: Path, out: Path, whole: Path) -> None:
    """Check that two studies have the same table and files, byte for byte."""
    assert read_table(file, out) == read_table(file, whole)
    found, expected = read_results(out), read_results(whole)
    assert len([name for name in expected if name.endswith("predictions.jsonl")]) == CELLS
    assert found == expected
    assert {Manifest.load(run).threads for run in list_finished(out)} == {1}


def test_a_study_killed_at_a_third(file, whole, tmp_path):
    out = tmp_path / "out"
    study = start_study(file, out, "--workers", "2")

    # 1. Kill it at a third, while a cell is begun. Its workers end within 5 s.
    wait_for(lambda: len(list_finished(out)) >= CELLS // 3, study)
    lost = wait_for(lambda: find_begun_cell(out), study)
    there = len(list_finished(out))
    workers = psutil.Process(study.pid).children(recursive=True)
    os.kill(study.pid, signal.SIGKILL)
    study.communicate()
    assert not psutil.wait_procs(workers, timeout=5)[1]
    assert there < CELLS // 2

    # 2. Run it again: what is there is skipped, the begun cell goes on from its checkpoint.
    answer = finish_study(start_study(file, out, "--workers", "2"))
    assert answer["failed"] == 0 and there <= answer["skipped"] < CELLS
    assert answer["done"] + answer["skipped"] == CELLS
    assert [state for state, _ in lost.status().past] == ["interrupted"]
    assert find_first_step(lost, run=2) > 1
    check_equal(file, out, whole)


@needs_ray
def test_a_ray_node_killed_at_a_third(file, whole, cluster, tmp_path):
    out = tmp_path / "out"
    study = start_study(file, out, "--on", "ray")

    # 1. Kill one of three nodes at a third, while it computes a cell.
    wait_for(lambda: len(list_finished(out)) >= CELLS // 3, study)
    victim = cluster.list_all_nodes()[-1]
    lost = wait_for(lambda: find_begun_cell(out, above=find_raylet(victim)), study)
    assert len(list_finished(out)) < CELLS // 2
    # All processes of a machine end with it; here Ray would leave the cell a few seconds, in which
    # it may finish.
    processes = psutil.Process(find_raylet(victim)).children(recursive=True)
    assert lost.status().pid in {process.pid for process in processes}
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    cluster.remove_node(victim, allow_graceful=False)

    # 2. The study ends on the other two; the cell goes on from its checkpoint.
    answer = finish_study(study)
    assert (answer["done"], answer["failed"], answer["skipped"]) == (CELLS, 0, 0)
    assert [state for state, _ in lost.status().past] == ["interrupted"]
    assert find_first_step(lost, run=2) > 1
    check_equal(file, out, whole)
