"""The command line: `python -m vocadapt COMMAND …`. A module of a command is imported when the
command is called.

Read in this order: `run` (finds the command, prints its progress and its answer), `command` (a
command, its options by hand or from declared settings, and its answer), one small command, for
example tokenize in `vocabulary.advise`, then `parser` (argparse with one-line errors), `options`
(shared options; `workspace_options` has those of light commands), `errors` (their text and JSON)
and `schema` (the JSON Schema of a command). The commands are in `words`, `vocabulary`, `training`,
`analysis` and `lab`. `tables` formats the output, `reference` generates docs/commands.md, and
`recipe_reference` docs/recipes.md.

Answers go to stdout (with --json strict JSON and nothing else), everything else to stderr.
Exit codes: 0 done, 1 a negative verdict, 2 bad input, 130 canceled.
"""

import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from types import FrameType

from vocadapt.cli.errors import JSON_ERRORS, format_error, format_json_error
from vocadapt.errors import Canceled, InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit code."""
    # Called from Python with arguments, it leaves the streams and signals of the process alone.
    if arguments is None:
        _print_anything()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from vocadapt.cli.run import run

        return run(given)
    except InputError as error:
        return _report(given, error, 2)
    except ModuleNotFoundError as error:
        if error.name is None or "." in error.name or error.name == "vocadapt":
            raise  # no package is missing
        problem = f"The package {error.name} is not installed in {sys.executable}."
        remedy = (
            "Install it there, or use the Python in which vocadapt is installed: in a clone,"
            " .venv/bin/python after make app."
        )
        return _report(given, InputError(problem, remedy), 2)
    except MemoryError:
        remedy = "Use less text or fewer words, or close other programs."
        return _report(given, InputError("Not enough memory.", remedy), 2)
    except BrokenPipeError:  # `… | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, Canceled) as canceled:
        result = str(canceled) or "nothing was written"
        return _report(given, InputError(f"Canceled: {result}."), 130)


def _report(arguments: Sequence[str], error: InputError, exit: int) -> int:
    """Print an error on stderr, as JSON if the arguments ask for it; return the exit code."""
    if JSON_ERRORS in arguments:
        print(format_json_error(error, exit), file=sys.stderr)
    else:
        print(format_error(error), file=sys.stderr)
    return exit


def _print_anything() -> None:
    """Escape characters that the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _stop(number: int, frame: FrameType | None) -> None:
    """Cancel the command on Ctrl-C and SIGTERM.

    KeyboardInterrupt is not used. If one passes through `exec` of a string, which dataclasses and
    namedtuples call when they are defined, Python ends by SIGINT even if the exception is caught,
    and ignores the exit code.
    """
    raise Canceled
