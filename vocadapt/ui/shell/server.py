"""Start the lab in the browser: `python -m vocadapt.ui.shell.server`.

Streamlit runs inside this process, for two reasons:

1. Its settings are passed as flags, so they do not depend on the working directory.
2. Its flag for a "pages directory" can be turned off before the first visit. Streamlit turns it off
   only at the first `st.navigation`, which is too late for a first visit by a link to a page.
"""

import argparse
import logging
import os
import socket
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vocadapt.lab.experiments  # noqa: F401  a job may be one of any step
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.trash import finish_moves
from vocadapt.lab.jobs.queue import remove_remains
from vocadapt.lab.sharing import Sharing
from vocadapt.lab.workspace import limits, strict_json
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.settings import build_settings
from vocadapt.system.cores import count_cores
from vocadapt.system.files import check_folder
from vocadapt.system.shipped_files import find_shipped_files
from vocadapt.ui.shell import garbage_collection, memory, upload_limit
from vocadapt.ui.state import accounts, guard, paths, preload
from vocadapt.ui.state.address import WORKSPACE_VARIABLE
from vocadapt.ui.state.visitors import SIGN_IN, CookieSetter, check_sign_in, start_removing

ROOT = find_shipped_files()
FIRST_PORT = 8501
LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = ("0.0.0.0", "::")
# OpenMP threads sleep while they wait for each other. By default they busy-wait: a training then
# takes four times as long while a browser renders on the same cores. Sleeping costs a tenth of the
# time if nothing else runs. Jobs inherit this environment variable.
WAIT_POLICY = ("OMP_WAIT_POLICY", "passive")

ALONE = Sharing()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the lab until it is stopped; return 2 if it cannot be started."""
    parser = argparse.ArgumentParser(
        prog="python -m vocadapt.ui.shell.server", description="Start the lab in the browser."
    )
    parser.add_argument("--workspace", default="workspace", help="folder of the project")
    parser.add_argument("--port", type=int, help="port (default: 8501, or the next free one)")
    parser.add_argument("--address", default=LOOPBACK, help="network address to serve on")
    parser.add_argument("--sharing", default="{}", help="settings of Sharing, as JSON")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser window")
    options = parser.parse_args(arguments)
    try:
        serve(
            Path(options.workspace),
            options.port,
            not options.no_browser,
            options.address,
            build_settings(Sharing, strict_json.loads(options.sharing, "sharing")),
        )
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def serve(
    workspace: Path,
    port: int | None = None,
    browser: bool = True,
    address: str = LOOPBACK,
    sharing: Sharing = ALONE,
) -> None:
    """Run app.py on one workspace, and return when the server is stopped.

    Raises InputError if the lab cannot be served as wanted.
    """
    # 1. Check what can fail, before anything is changed.
    opened = Workspace(workspace)
    app = ROOT / "app.py"
    _check_can_serve(app, opened, sharing)
    port = _choose_port(port, address)
    variables = _list_variables(opened, sharing)
    # 2. Settings that the pages and jobs read from the environment.
    for name in (*limits.VARIABLES, SIGN_IN, accounts.SIGN_OUTS, guard.EMBED_IN, limits.FILES_ROOT):
        os.environ.pop(name, None)
    os.environ.update(variables)
    os.environ.setdefault(*WAIT_POLICY)
    # 3. Prepare this process and the workspace.
    memory.limit.set_limit(sharing.memory_mb)
    _prepare_workspace(opened, sharing)
    # 4. Announce the address, and serve.
    host = LOOPBACK if address in EVERY_ADDRESS else address
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    sys.stdout.write(f"The lab is at {url} (workspace {workspace}); Ctrl-C stops it.\n")
    sys.stdout.flush()
    if not paths.is_loopback(address):
        sys.stderr.write(paths.build_network_warning(address))
    own: dict[str, object] = {
        "server_address": address,
        "server_allowedHosts": list_allowed_hosts(address, sharing.host_name),
        "server_port": port,
        "server_maxUploadSize": sharing.max_upload_mb,
        "server_headless": not browser,
    }
    _run(app, _load_settings() | own)


def _check_can_serve(app: Path, workspace: Workspace, sharing: Sharing) -> None:
    if not app.is_file():
        raise InputError(
            f"The pages are not installed: expected {app}.",
            "Install vocadapt again, or run it from a clone of the repository.",
        )
    if sharing.sign_in:
        check_sign_in()
    if sharing.read_only and not any(workspace.artifacts(kind) for kind in ARTIFACTS):
        raise InputError(
            f"{workspace.root} is empty: a read-only lab would show nothing.",
            f"Fill it first, for example: python -m vocadapt demo --out {workspace.root}",
        )


def _list_variables(workspace: Workspace, sharing: Sharing) -> dict[str, str]:
    """Return the environment variables by which pages and jobs know how the lab is shared."""
    found = {WORKSPACE_VARIABLE: str(workspace.root)}
    if sharing.files_root:
        found[limits.FILES_ROOT] = str(check_folder(sharing.files_root).resolve())
    if sharing.embed_in:
        found[guard.EMBED_IN] = sharing.embed_in
    if sharing.read_only:
        found[limits.READ_ONLY] = "1"
    if sharing.sign_in:
        found[SIGN_IN] = "1"
        found[accounts.SIGN_OUTS] = str(workspace.root / ".sign-outs")
    if sharing.workspace_per_visitor:
        found[limits.VISITORS] = str(workspace.root)
        found[limits.QUOTA] = str(sharing.quota_mb)
        found[limits.MAX_JOBS] = str(sharing.jobs_per_visitor)
        found[limits.KEEP_DAYS] = str(sharing.keep_days)
    return found


def _prepare_workspace(workspace: Workspace, sharing: Sharing) -> None:
    """Remove leftovers, and start the threads that import libraries and remove old workspaces."""
    if sharing.workspace_per_visitor:
        with convert_write_errors(workspace.root):
            workspace.root.mkdir(parents=True, exist_ok=True)
        _log_to_stderr()
        start_removing(workspace.root, sharing.keep_days)
        # Downloads would use disk space that no quota covers.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        return
    if not sharing.read_only:
        _remove_leftovers(workspace)
    preload.start(workspace)


def _log_to_stderr() -> None:
    """Write the log of this package, such as removed workspaces, to stderr."""
    log = logging.getLogger("vocadapt")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)


def list_allowed_hosts(address: str, host_name: str = "") -> list[str]:
    """List the host names that requests may have; others are rejected to prevent DNS rebinding.

    host_name: the name by which browsers reach the lab, through a proxy or in the network. The name
    of this machine is its own, without a domain: finding that may need a DNS query.
    """
    hosts = ["localhost", "127.0.0.1", "::1", address.strip("[]")]
    if host_name:
        hosts.append(host_name)
    if address in EVERY_ADDRESS:
        # A request may arrive at any network interface of this machine.
        import psutil

        hosts.append(socket.gethostname())
        for addresses in psutil.net_if_addrs().values():
            hosts += [one.address.partition("%")[0] for one in addresses]
    return list(dict.fromkeys(hosts))


def leave_a_core_free() -> None:
    """Limit the matrix products of the pages to all cores but one, and at least one.

    OpenBLAS threads busy-wait for each other. If the browser renders on the same cores, that costs
    more than a second thread gains: on two cores, the first visit of Diagnostics took 12 s with two
    threads and 6 s with one. Jobs are separate processes and use all cores.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(max(1, count_cores() - 1), user_api="blas")


def _remove_leftovers(workspace: Workspace) -> None:
    """Delete leftovers of killed processes; warn if the workspace is read-only."""
    try:
        remove_remains(workspace)
        finish_moves(workspace)
    except OSError as error:
        sys.stderr.write(f"Warning: {workspace.root} cannot be cleaned up: {error.strerror}.\n")
    except InputError as error:
        sys.stderr.write(f"Warning: {error.problem}\n")


def _run(app: Path, flags: dict[str, object]) -> None:
    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.web import bootstrap

    from vocadapt.ui.components.mistakes import replace_error_message

    PagesManager.uses_pages_directory = False  # `st.navigation` defines the pages
    replace_error_message()
    garbage_collection.shorten_collections()
    leave_a_core_free()
    memory.start_checking()
    upload_limit.install()
    guard.install(preload.RequestWatcher, CookieSetter, accounts.FailureWatcher)
    bootstrap.load_config_options(flags)
    bootstrap.run(str(app), False, [], flags)


def _load_settings() -> dict[str, object]:
    """Return the shipped config.toml as Streamlit's flags."""
    from pandas import json_normalize

    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    # Names of nested tables are joined: [theme.light] textColor -> theme_light_textColor.
    flags: dict[Any, object] = json_normalize(settings, sep="_").to_dict("records")[0]
    return flags


def _choose_port(port: int | None, address: str) -> int:
    """Return the port, or the first free one from FIRST_PORT on; raise InputError if there is none."""
    wanted = range(FIRST_PORT, FIRST_PORT + 100) if port is None else [port]
    found = next((one for one in wanted if _is_free(one, address)), None)
    if found is not None:
        return found
    if port is not None:
        raise InputError(
            f"Port {port} on {address} cannot be used.",
            "Choose another --port, or omit the option.",
        )
    raise InputError(
        f"The address {address} cannot be used on this machine.",
        "Choose another --address, or omit the option.",
    )


def _is_free(port: int, address: str) -> bool:
    try:
        # Only binding is a reliable test; the address determines whether it is IPv4 or IPv6.
        family = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family) as probe:
            # A port that was closed a moment ago is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except (OSError, OverflowError, UnicodeError, ValueError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
