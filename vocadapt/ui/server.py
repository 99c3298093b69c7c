"""Start the lab in the browser: `python -m vocadapt.ui.server [--workspace W] [--port N] [--no-browser]`.

Streamlit is run inside this process, for two reasons. Its settings are passed as flags, so they hold whatever the
working folder is; and the "pages directory" flag is settled before the first visitor. Streamlit decides that flag once
per process, and the first `st.navigation` of any session turns it off for all: a first visit by deep link would come too early.
"""

import argparse
import os
import socket
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import vocadapt
from vocadapt.errors import InputError
from vocadapt.lab.jobs import tidy
from vocadapt.lab.workspace import Workspace
from vocadapt.ui import collection, warming

ROOT = Path(vocadapt.__file__).parents[1]
WORKSPACE = "VOCADAPT_WORKSPACE"
FIRST_PORT = 8501
# How threads of a computation wait for each other: asleep. They wait at work else, and where the browser beside them draws in
# software, a training takes four times as long; asleep, a tenth longer where nothing else is at work. Jobs inherit it.
WAITING = ("OMP_WAIT_POLICY", "passive")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the lab until it is stopped; 2 when it cannot be started as asked."""
    options = _parser().parse_args(arguments)
    try:
        serve(Path(options.workspace), options.port, options.browser)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def serve(workspace: Path, port: int | None = None, browser: bool = True) -> None:
    """Run app.py on one workspace; returns when the server is stopped.

    Raises InputError when app.py is not beside the package or the port is taken.
    """
    app = ROOT / "app.py"
    if not app.is_file():
        raise InputError(f"The pages are not installed: expected {app}.", "Run from a clone, or install it with pip install -e .")
    port = next(filter(_is_free, range(FIRST_PORT, FIRST_PORT + 100)), None) if port is None else _check_free(port)
    os.environ[WORKSPACE] = str(workspace.resolve())
    os.environ.setdefault(*WAITING)
    tidy(Workspace(workspace))
    settle_pages()
    warming.start(Workspace(workspace))
    sys.stdout.write(f"The lab is at http://127.0.0.1:{port} (workspace {workspace}); Ctrl-C stops it.\n")
    sys.stdout.flush()
    _run(app, {**_settings(), "server_port": port, "server_headless": not browser})


def settle_pages() -> None:
    """Tell Streamlit that `st.navigation` names the pages, before any visit; does nothing where it has no such flag."""
    from streamlit.runtime.pages_manager import PagesManager

    if hasattr(PagesManager, "uses_pages_directory"):
        PagesManager.uses_pages_directory = False


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vocadapt.ui.server", description="Start the lab in the browser.")
    parser.add_argument("--workspace", default="workspace", help="folder of the project (default: ./workspace)")
    parser.add_argument("--port", type=int, help="default: 8501, or the next free one")
    parser.add_argument("--browser", action=argparse.BooleanOptionalAction, default=True, help="open a browser window")
    return parser


def _run(app: Path, flags: dict[str, object]) -> None:
    from streamlit.web import bootstrap

    collection.keep_short()
    bootstrap.load_config_options(flags)
    bootstrap.run(str(app), False, [], flags)


def _settings() -> dict[str, object]:
    """The shipped config.toml as Streamlit's flags."""
    with (ROOT / ".streamlit" / "config.toml").open("rb") as file:
        return dict(_flat(tomllib.load(file)))


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}_")
        else:
            yield f"{prefix}{key}", value


def _check_free(port: int) -> int:
    """The port, if the lab can have it."""
    if not _is_free(port):
        raise InputError(f"Port {port} cannot be used.", "Give another one with --port, or none.")
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
        return True


if __name__ == "__main__":
    sys.exit(main())
