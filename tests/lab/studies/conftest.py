"""A Ray cluster of three nodes on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.material.network_guard import take_attempts
from tests.material.studies import ROOT


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head and two nodes of one CPU each, which RAY_ADDRESS names."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(**node)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    yield cluster
    cluster.shutdown()
    # The head node of Ray itself asks which cloud it is in, also if its usage statistics are off.
    others = [line for line in take_attempts() if "/ray/dashboard/dashboard.py" not in line]
    assert others == []
