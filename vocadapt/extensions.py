"""Extensions: Python files and installed packages that register names of their own when vocadapt
starts.

    VOCADAPT_EXTENSIONS=my_initializer.py vocadapt adapt --initializer mine …

A file imports the `register_…` function of a registry and calls it:

    from vocadapt.vocabulary.initializers.initialize import register_initializer

An installed package names such a module as an entry point of the group `vocadapt.extensions`.
Extensions run as code, so they come only from the environment of the process and from installed
packages: never from a workspace, the address of a page or an upload.
"""

import os
import re
import sys
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import TypeVar

from vocadapt.errors import InputError
from vocadapt.system.files import check_file

T = TypeVar("T")

VARIABLE = "VOCADAPT_EXTENSIONS"  # environment variable: paths of files, separated as in PATH
GROUP = "vocadapt.extensions"  # of entry points
# sys.argv[0] of our programs while the package is imported: they report an error themselves.
PROGRAMS = {"-m", "vocadapt", "streamlit"}
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_errors: list[InputError] = []  # at most one: the extension that could not be loaded


def load_extensions() -> None:
    """Import the files named in VOCADAPT_EXTENSIONS and the entry points of `vocadapt.extensions`.

    Runs when vocadapt is imported. If an extension fails, a Python program gets the InputError at
    once; the command line, the app and jobs show it when they call `check_extensions`.
    """
    try:
        # 1. Files, in the order of the variable, each once.
        named = os.environ.get(VARIABLE, "").split(os.pathsep)
        paths = list(dict.fromkeys(check_file(name).resolve() for name in named if name))
        if paths:  # a job works in another folder
            os.environ[VARIABLE] = os.pathsep.join(map(str, paths))
        for path in paths:
            _import_file(path)
        # 2. Installed packages.
        for entry in entry_points(group=GROUP):
            try:
                entry.load()
            except (Exception, SystemExit) as error:
                raise _describe_failure(entry.value, error) from error
    except InputError as error:
        _errors.append(error)
        if Path(sys.argv[0]).name not in PROGRAMS:
            raise


def check_extensions() -> None:
    """Raise the InputError of the extension that could not be loaded, if there is one."""
    for error in _errors:
        raise error


def register(registry: dict[str, T], kind: str, name: str, entry: T) -> None:
    """Add an entry to a registry.

    kind: noun for an entry, for the message. Raises InputError if the name is taken, or is not
    lowercase words joined by hyphens.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a name for {kind}.",
            "Use lowercase letters and digits, with single hyphens between words.",
            code="invalid-name",
        )
    if name in registry:
        raise InputError(
            f"There is already {kind} with the name {name!r}.",
            "Choose another name.",
            code="taken-name",
        )
    registry[name] = entry


def _import_file(path: Path) -> None:
    """Import a file as a module; raises InputError, with path and cause, if that fails."""
    if path.suffix != ".py":
        raise InputError(
            f"{path}: an extension is a file that ends in .py.", f"Correct {VARIABLE}."
        )
    name = f"vocadapt_extension:{path}"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # true for the suffix .py
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the module that defines them
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _describe_failure(str(path), error) from error


def _describe_failure(source: str, error: BaseException) -> InputError:
    """Return the InputError for an exception in an extension, with the line number."""
    # The last frame in the extension's own file: later ones are in libraries.
    own = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == source]
    where = f"{source}, line {own[-1]}" if own else source
    cause = f"{type(error).__name__}: {error}"
    if isinstance(error, InputError):
        cause = f"{error.problem} {error.remedy}".strip()
    return InputError(
        f"The extension {where} could not be loaded: {cause}",
        f"Correct it, or remove it from {VARIABLE}.",
    )
