"""Nodes of a Ray cluster on this machine."""

import sys
from pathlib import Path
from typing import Any

import pytest

needs_ray = pytest.mark.skipif(
    not any(Path(place, "ray").is_dir() for place in sys.path), reason="Ray is not installed"
)


def find_raylet(node: Any) -> int:
    """Return the process id of a node, from which its workers descend."""
    return int(node.all_processes["raylet"][0].process.pid)
