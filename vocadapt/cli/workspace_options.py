"""Options of several commands that need no library; `options` imports the steps, which takes a
second.
"""

import os
from argparse import ArgumentTypeError
from typing import Any

from vocadapt.cli.command import AddOption, option
from vocadapt.system.files import expand_path


def read_output_path(given: str) -> str:
    """Return a path to write to with `~` expanded; the current folder by its absolute path.

    Raises ArgumentTypeError for an empty path, and InputError for the folder of an unknown user.
    """
    if not given.strip():
        raise ArgumentTypeError("expected a path, got nothing")
    path = str(expand_path(given))
    if os.path.abspath(path) == os.getcwd():
        return os.getcwd()
    return path


def output_option(*names: str, **arguments: Any) -> AddOption:
    """Declare an option for a file or folder to write: see `read_output_path`."""
    return option(*names, type=read_output_path, **arguments)


WORKSPACE = output_option(
    "--workspace",
    metavar="W",
    default="workspace",
    help="workspace folder (default ./workspace)",
)
OVERWRITE_FILE = option("--overwrite", action="store_true", help="replace the file if it exists")
