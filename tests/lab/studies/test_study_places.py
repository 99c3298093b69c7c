"""Where a study runs: places that do not exist, and clusters that cannot be used."""

import socket
import sys

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.cluster import ray_cluster
from vocadapt.lab.cluster.ray_cluster import Node, NodeAnswer, connect, probe_folder
from vocadapt.lab.experiments.studies.places import check_place
from vocadapt.lab.experiments.studies.ray_pool import Demand, RayPool
from vocadapt.lab.jobs.job import FLAG
from vocadapt.lab.workspace.locks import hold_lock


@pytest.fixture
def no_cluster(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_cluster, "CONNECT_SECONDS", 2.0)


def test_the_nearest_place_is_named():
    with raises_input_error("unknown-name", "rai", "ray?"):
        check_place("rai")
    assert check_place("ray://head:10001") == "ray://head:10001"


def test_a_place_is_plain_text_in_the_message():
    with pytest.raises(InputError) as caught:
        check_place("\x1b[31m" + "x" * 1000)
    assert "\x1b" not in caught.value.problem
    assert len(caught.value.problem) < 200


def test_ray_that_is_not_installed_is_reported(monkeypatch, no_cluster):
    monkeypatch.setitem(sys.modules, "ray", None)
    with raises_input_error("no-ray", "vocadapt[ray]"):
        connect("ray")


class FakeRay:
    """A Ray that refuses the connection as the real one does."""

    class exceptions:  # noqa: N801 - the name in Ray
        class RayError(Exception):
            pass

    def __init__(self, error=None):
        self.error = error

    def is_initialized(self):
        return False

    def init(self, **_):
        raise self.error


@pytest.fixture
def fake_ray(monkeypatch, no_cluster):
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(ray_cluster, "_has_client", lambda: True)
    return fake


def test_a_cluster_that_does_not_answer_is_reported_soon(fake_ray):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with raises_input_error("no-cluster", f"ray://127.0.0.1:{port}"):
        connect(f"ray://127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["ray://", "ray://head", "ray://head:x", "ray://head:70000"])
def test_an_address_needs_host_and_port(fake_ray, address):
    with raises_input_error("invalid-address", address):
        connect(address)


def test_the_address_of_the_environment_is_checked_too(fake_ray, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "head")
    with raises_input_error("invalid-address", "head"):
        connect("ray")


def test_another_version_is_reported(fake_ray):
    fake_ray.error = RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9.0")
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"ray://127.0.0.1:{server.getsockname()[1]}"
        with raises_input_error("other-version", "Ray: 2.9.0"):
            connect(place)


def test_a_node_that_is_not_up_in_time_is_reported(fake_ray):
    """Ray 2.60 raises a bare Exception, 30 s after the start of a node."""
    fake_ray.error = Exception("The current node timed out during startup. The GCS is overloaded.")
    with raises_input_error("unusable-cluster", "timed out"):
        connect("ray")


def test_the_client_needs_grpc(fake_ray, monkeypatch):
    monkeypatch.setattr(ray_cluster, "_has_client", lambda: False)
    with raises_input_error("no-ray-client"):
        connect("ray://127.0.0.1:1")


def test_a_pool_that_lost_its_connection_closes(fake_ray, monkeypatch, tmp_path):
    def wait(*given, **options):
        raise fake_ray.exceptions.RayError

    monkeypatch.setattr(fake_ray, "wait", wait, raising=False)
    pool = object.__new__(RayPool)  # the connection itself is made by Ray
    pool._running, pool._connected = {"task": tmp_path}, False
    pool.close()
    assert (tmp_path / FLAG).exists() and not pool._running


def test_a_node_must_share_folder_and_locks(tmp_path):
    version = ray_cluster.__version__
    assert probe_folder(str(tmp_path / "missing"), "n") == NodeAnswer(version, "does not see")
    assert probe_folder(str(tmp_path), "n").problem == "does not see the locks of"
    with hold_lock(tmp_path):
        assert probe_folder(str(tmp_path), "n") == NodeAnswer(version)
    assert (tmp_path / "n").read_text() == version
    answer = probe_folder(str(tmp_path), "no/such")
    assert answer.problem == "cannot write into"


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        (Demand(threads=1), 8),
        (Demand(threads=3), 2),
        (Demand(threads=9), 0),
        (Demand(memory=3e9), 3),
        (Demand(memory=1e11), 1),  # one cell runs all the same
        (Demand(gpus=0.5), 4),
        (Demand(gpus=4), 0),
    ],
)
def test_cells_that_fit_into_a_node(demand, expected):
    node = Node("n", "10.0.0.1", cpus=8.0, gpus=2.0, memory=10e9)
    assert demand.count_fitting(node) == expected
