"""Access control for paths that are typed in a browser: which files of this machine pages may open.

On the loopback address, only users of this machine can type a path: all folders except system
folders are allowed. On other addresses, and if the lab is read-only, requires sign-in or gives each
visitor a workspace (it may be behind a proxy), anyone in the network can type one: only the
workspace, files bundled with vocadapt, downloaded models, and the folder of `--files-root` are
allowed. The command line is not restricted.
"""

import ipaddress
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import records
from vocadapt.lab.workspace.limits import (
    FILES_ROOT,
    check_visitor_path,
    find_visitor_folder,
    find_visitors,
    is_read_only,
    list_shared_folders,
)
from vocadapt.lab.workspace.workspace import UPLOADS, list_kinds
from vocadapt.system.files import check_path, expand_path, show_path
from vocadapt.ui.state import visitors
from vocadapt.ui.state.address import workspace

SYSTEM_FOLDERS = tuple(map(Path, ("/proc", "/sys", "/dev")))
LOCAL_NAMES = ("localhost",)


def resolve_allowed_path(typed: str | Path) -> Path:
    """Return the path of a file or folder typed on a page.

    Raises InputError if pages may not open it or a file that it names, if it does not exist, or if
    it cannot be read.
    """
    check_allowed(typed)
    path = check_path(typed)
    check_named_paths(path)
    return path


def check_named_paths(path: Path) -> None:
    """Raise InputError if an existing path is a record, or the folder of one, that names a path
    which pages may not open.

    The folders of a workspace that visitors share are those of its operator, who may name any path.
    """
    if path.suffix != records.TOML and find_visitor_folder(path) is None:
        return
    for named in records.read_paths_at(path):
        check_visitor_path(named.place, path)
        if path.suffix == records.TOML:
            check_allowed(named.place)


def check_allowed(typed: str | Path) -> None:
    """Raise InputError for an invalid path, or one that pages may not open; it need not exist."""
    try:
        # Resolve links first: a link in an allowed folder may point to another one.
        path = Path(typed).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        problem = f"{show_path(typed)}: no such file or folder."
        raise InputError(problem, "Check the spelling.", code="missing-file") from None
    # On the loopback, the user has access to this machine: reject only system folders.
    if is_loopback(_read_server_address()) and not is_for_others():
        if path == Path("/") or any(path.is_relative_to(folder) for folder in SYSTEM_FOLDERS):
            problem = f"{show_path(typed)}: system folders cannot be opened from a page."
            raise InputError(problem, "Give a folder with your files.", code="system-folder")
        return
    # On other addresses, anyone may type a path: allow only listed folders.
    if not any(path.is_relative_to(root) for root in _list_allowed_folders()):
        raise InputError(
            f"{show_path(typed)}: this path cannot be opened from the pages of this lab.",
            "Upload the file, or ask the operator of the lab to start it with a folder for shared"
            " files.",
            code="path-not-allowed",
        )


def check_model(name: str) -> None:
    """Raise InputError for a model path that pages may not open.

    A name that is not an existing path counts as a hub name, which is allowed.
    """
    path = expand_path(name)
    # os.path.exists, unlike Path.exists, returns False for a name that is too long.
    is_there = os.path.exists(path)
    if path.is_absolute() or ".." in path.parts or is_there:
        check_allowed(name)
    if is_there:
        check_named_paths(path)


def check_inputs(spec: Spec) -> None:
    """Raise InputError if an input of a step is a path that pages may not open."""
    for paths in spec.inputs.values():
        for path in paths:
            check_model(str(path))


def is_loopback(address: str | None) -> bool:
    """Return whether a server on this address is reachable from this machine only.

    address: None or "" for all addresses.
    """
    if not address:
        return False
    if address in LOCAL_NAMES or address.startswith("unix://"):
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def is_for_others() -> bool:
    """Return whether the lab is served to others, whatever its address: a proxy may forward them."""
    return is_read_only() or find_visitors() is not None or visitors.is_sign_in_required()


def name_machine() -> str:
    """Return how a page names the machine whose files can be opened by their path."""
    return "the server" if is_for_others() else "this machine"


def hide_server_paths(text: str) -> str:
    """Return a text in which paths of the workspace are relative to the folder that it is in, if
    the lab is served to others: its visitors need not know the folders of the server.
    """
    if not is_for_others():
        return text
    return text.replace(f"{workspace().root.parent}/", "")


def build_network_warning(address: str) -> str:
    """Build the warning for a lab that is reachable from the network."""
    use = "use the lab, without a password: read and change the workspace, and start jobs"
    if is_read_only():
        use = "look at the workspace"
    elif visitors.is_sign_in_required():
        use = "see the sign-in page"
    elif find_visitors() is not None:
        use = "have a workspace, without a password"
    files = "no other files of this machine (--files-root names a folder to share)"
    if root := os.environ.get(FILES_ROOT):
        files = f"files below {root}"
    return (
        f"Warning: on {address} anybody in the network can {use}. The connection is not encrypted."
        f" From the browser they can open {files}.\n"
    )


@cache
def warn_once() -> None:
    """Write the network warning to the server's log, once per process.

    It is needed if Streamlit was started by its own command instead of `server`.
    """
    if not is_loopback(_read_server_address()):
        sys.stderr.write(build_network_warning(_read_server_address() or "every address"))


def _read_server_address() -> str | None:
    """Return the address that the running server is bound to."""
    import streamlit as st

    address: str | None = st.get_option("server.address")
    return address


def _list_allowed_folders() -> Iterator[Path]:
    """Return the folders that are allowed on addresses other than the loopback."""
    # Only the artifact folders: the name of the workspace can be typed, and may be any folder.
    root = workspace().root
    yield from (root / name for name in (*list_kinds(), UPLOADS))
    yield from list_shared_folders()
