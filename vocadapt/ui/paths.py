"""Which paths of this machine the pages may open: the one place that decides it, for whatever is typed in a browser.

On the loopback address whoever types is at this machine: everything but the system's own folders is open. Beyond it anybody in
the network may type: open are the workspace, what came with vocadapt, downloaded models, and one folder named at the start.
The command line is not restricted.
"""

import ipaddress
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import check_path, show_path
from vocadapt.lab.demo import DEMO
from vocadapt.lab.spec import Spec
from vocadapt.lab.workspace import KINDS, UPLOADS

FILES_ROOT = "VOCADAPT_FILES_ROOT"  # environment variable: the folder that is open beyond the loopback address
SYSTEM = tuple(map(Path, ("/proc", "/sys", "/dev")))
LOCAL_NAMES = ("localhost",)


def resolve_allowed_path(typed: str | Path) -> Path:
    """Return the file or folder that was typed on a page.

    Raises InputError where pages may not open it, where nothing is there, and where it cannot be read.
    """
    check_allowed(typed)
    return check_path(typed)


def check_allowed(typed: str | Path) -> None:
    """Raise InputError for a path that pages may not open, links resolved; whether anything is there plays no part."""
    path = _resolved(typed)
    if is_loopback(_address()):
        if path == Path("/") or any(path.is_relative_to(folder) for folder in SYSTEM):
            problem = f"{show_path(typed)}: the pages do not open folders of the system."
            raise InputError(problem, "Name a folder with your files.")
        return
    if not any(path.is_relative_to(root) for root in _open_roots()):
        remedy = "Upload the file, or ask whoever runs the lab to start it with a folder for shared files."
        raise InputError(f"{show_path(typed)}: this lab opens no path of its machine from the browser.", remedy)


def check_model(name: str) -> None:
    """The same for what may be a path or a name on the hub: names of nothing on this disk are left to the hub's cache."""
    path = Path(name).expanduser()
    if path.is_absolute() or ".." in path.parts or os.path.exists(path):  # unlike Path, false for a name too long
        check_allowed(name)


def check_inputs(spec: Spec) -> None:
    """The same for everything that a step is to be made from."""
    for paths in spec.inputs.values():
        for path in paths:
            check_model(str(path))


def is_loopback(address: str | None) -> bool:
    """Return whether a server bound to this address is reached from this machine only; without one it is bound to all."""
    if not address:
        return False
    if address in LOCAL_NAMES or address.startswith("unix://"):
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def build_network_warning(address: str) -> str:
    """Return what to say at the start where others in the network can reach the lab."""
    root = os.environ.get(FILES_ROOT)
    files = f"files below {root}" if root else "no other files of this machine (--files-root names a folder to share)"
    return (
        f"Warning: on {address} anybody in the network can use the lab, without a password and unencrypted: read and change the "
        f"workspace, upload files and start jobs. From the browser they can open {files}.\n"
    )


@cache
def warn_once() -> None:
    """Say so in the server's log, once in a process: where Streamlit was started by its own command, nobody said it before."""
    if not is_loopback(_address()):
        sys.stderr.write(build_network_warning(_address() or "every address"))


def _address() -> str | None:
    """The address that the running server is bound to."""
    import streamlit as st

    address: str | None = st.get_option("server.address")
    return address


def _resolved(typed: str | Path) -> Path:
    """Return where a path leads; raises InputError for what no system takes for a path."""
    try:
        return Path(typed).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        raise InputError(f"{show_path(typed)}: no such file or folder.", "Check the spelling.") from None


def _open_roots() -> Iterator[Path]:
    """The folders that are open beyond the loopback address."""
    from huggingface_hub.constants import HF_HUB_CACHE

    from vocadapt.ui.frame import workspace  # the frame shows jobs, and these are checked here

    root = workspace().root  # its own folders alone: a name typed for it may be that of any folder beside it
    yield from (root / name for name in (*KINDS, UPLOADS))
    yield DEMO.resolve()
    yield Path(HF_HUB_CACHE).resolve()
    if shared := os.environ.get(FILES_ROOT):
        yield Path(shared).resolve()
