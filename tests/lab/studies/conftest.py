"""A Ray cluster of three nodes on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.material.studies import ROOT


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head and two nodes of one CPU each, which RAY_ADDRESS names."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(2):
        cluster.add_node(**{name: node[name] for name in ("num_cpus", "object_store_memory")})
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    yield cluster
    cluster.shutdown()
