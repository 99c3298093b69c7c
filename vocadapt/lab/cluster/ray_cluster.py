"""The connection to a Ray cluster, and the check of its nodes before the first cell.

`ray` is the cluster that the environment names (RAY_ADDRESS), else the one that runs on this
machine, else one that is started here and ends with this process. `ray://HOST:PORT` is the Ray
client of a cluster elsewhere.
"""

import os
import shutil
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt import __version__
from vocadapt.errors import InputError
from vocadapt.lab.workspace.locks import hold_lock, is_locked

LOCAL_STORE = 100 << 20  # bytes of Ray's object store: cells exchange files, not objects
CONNECT_SECONDS = 10.0  # to reach the port of a cluster
CHECK_SECONDS = 120.0  # for one task on every node, which includes the start of a worker
CLIENT = "ray://"
INSTALL = "Install the extra ray: pip install 'vocadapt[ray]'."


@dataclass(frozen=True)
class Node:
    """A live node of the cluster: its id, its address and its resources. memory: in bytes."""

    id: str
    address: str
    cpus: float
    gpus: float
    memory: float


@dataclass(frozen=True)
class NodeAnswer:
    """What a node reports: its version of vocadapt, its problem with the study's folder."""

    version: str
    problem: str = ""


def import_ray() -> Any:
    """Return the module ray; raise InputError if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    try:
        import ray
    except ImportError:
        raise InputError("Ray is not installed.", INSTALL, code="no-ray") from None
    return ray


def connect(place: str) -> bool:
    """Connect this process to a cluster; return False if it was connected before.

    place: ray, or ray://HOST:PORT. Raises InputError if Ray is not installed, if the cluster cannot
    be reached, and if it runs another version of Ray or Python.
    """
    ray = import_ray()
    if ray.is_initialized():
        return False
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    address = place if place.startswith(CLIENT) else os.environ.get("RAY_ADDRESS", "")
    if address.startswith(CLIENT) and not _has_client():
        raise InputError("The client of Ray is not installed.", INSTALL, code="no-ray-client")
    if address not in ("", "auto", "local"):
        _check_port(address)
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            _connect_or_start(ray, quiet)
    except Exception as error:  # a node that is not up in time is a bare Exception in Ray
        raise _build_error(address or "this machine", error) from None
    return True


def list_nodes() -> tuple[Node, ...]:
    """List the live nodes of the cluster that have CPUs."""
    ray = import_ray()
    nodes = []
    for node in ray.nodes():
        offered = node["Resources"]
        if node["Alive"] and offered.get("CPU"):
            nodes.append(
                Node(
                    node["NodeID"],
                    node["NodeManagerAddress"],
                    offered["CPU"],
                    offered.get("GPU", 0.0),
                    offered.get("memory", 0.0),
                )
            )
    return tuple(nodes)


def check_nodes(root: Path, nodes: Sequence[Node]) -> None:
    """Run one task on every node, which reads and writes the study's folder.

    Raises InputError for a node that does not share the folder or its locks, that has no vocadapt
    or another version, and if no node answers.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # 1. A probe in the folder, locked by this process: every node must see both.
    probe = root / f".probe-{uuid.uuid4().hex}"
    probe.mkdir()
    try:
        with hold_lock(probe):
            task = ray.remote(probe_folder)
            nodes_by_task = {}
            for node in nodes:
                strategy = NodeAffinitySchedulingStrategy(node.id, soft=False)
                options = task.options(scheduling_strategy=strategy, num_cpus=0, max_retries=0)
                nodes_by_task[options.remote(str(probe), node.id)] = node
            ready, _ = ray.wait(
                list(nodes_by_task), num_returns=len(nodes_by_task), timeout=CHECK_SECONDS
            )
            # 2. Check the answers. A node without an answer is ignored: Ray gives cells to others.
            if not ready:
                raise InputError(
                    f"None of the {len(nodes)} nodes of the Ray cluster ran a task within"
                    f" {CHECK_SECONDS:.0f} s.",
                    "Check the cluster with the command ray status.",
                    code="no-cluster",
                )
            for one in ready:
                _check_answer(probe, nodes_by_task[one], one)
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def probe_folder(probe: str, node: str) -> NodeAnswer:
    """Check, on a node, that it shares a folder and its locks with the process that created it."""
    place = Path(probe)
    if not place.is_dir():
        return NodeAnswer(__version__, "does not see")
    try:
        (place / node).write_text(__version__, encoding="utf-8")
    except OSError:
        return NodeAnswer(__version__, "cannot write into")
    if not is_locked(place):
        return NodeAnswer(__version__, "does not see the locks of")
    return NodeAnswer(__version__)


def _check_answer(probe: Path, node: Node, answer: Any) -> None:
    """Raise InputError if a node cannot run cells of the study."""
    import ray

    try:
        found = ray.get(answer)
    except ray.exceptions.RayTaskError as error:
        raise InputError(
            f"Node {node.address} of the Ray cluster cannot run vocadapt: {error.cause!r}.",
            f"Install vocadapt {__version__} on every node, with the same packages.",
            code="unusable-node",
        ) from None
    except ray.exceptions.RayError:  # the node was lost meanwhile: it takes no cells
        return
    if found.version != __version__:
        raise InputError(
            f"Node {node.address} of the Ray cluster has vocadapt {found.version}, this machine"
            f" {__version__}.",
            "Install the same version on every node.",
            code="other-version",
        )
    problem = found.problem
    if not problem and not (probe / node.id).exists():
        problem = "has its own copy of"
    if problem:
        raise InputError(
            f"Node {node.address} of the Ray cluster {problem} the folder of the study,"
            f" {probe.parent}.",
            "Put the study on storage that all nodes mount at the same path, may write to, and"
            " that shares locks (NFS 4, Lustre with flock).",
            code="unusable-node",
        )


def _connect_or_start(ray: Any, quiet: dict[str, Any]) -> None:
    """Connect to the cluster of this machine, or start one that ends with this process."""
    from vocadapt.system.cores import count_cores

    try:
        ray.init(address="auto", **quiet)
    except ConnectionError:
        ray.init(
            address="local",
            num_cpus=count_cores(),
            include_dashboard=False,
            object_store_memory=LOCAL_STORE,
            **quiet,
        )


def _check_port(address: str) -> None:
    """Raise InputError if nothing answers at HOST:PORT: Ray itself waits for minutes."""
    host, _, port = address.removeprefix(CLIENT).rstrip("/").rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError(
            f"{address}: expected a host and a port.",
            "Give one such as ray://head-node:10001.",
            code="invalid-address",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise InputError(
            f"No Ray cluster answers at {address} ({error.strerror or error}).",
            "Check the address, and that the cluster runs: ray status on its head node.",
            code="no-cluster",
        ) from None


def _has_client() -> bool:
    """Return whether gRPC is installed, which the Ray client needs."""
    from importlib.util import find_spec

    return find_spec("grpc") is not None


def _build_error(address: str, error: Exception) -> InputError:
    """Return the InputError for an error that Ray raised when it connected."""
    text = " ".join(str(error).split())
    if "ersion mismatch" in text:
        return InputError(
            f"The Ray cluster at {address} runs another version. {text:.300}",
            "Install the same versions of Ray and Python here and on the cluster.",
            code="other-version",
        )
    return InputError(
        f"The Ray cluster at {address} cannot be used: {text:.300}",
        "Check the address, and that the cluster runs: ray status on its head node.",
        code="unusable-cluster",
    )
