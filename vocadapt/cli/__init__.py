"""The command line: `python -m vocadapt COMMAND …`. A module of a command is imported when the
command is called.

Read in this order: `run` (finds the command, prints its progress and its answer), `command` (a
command, its options by hand or from declared settings, and its answer), one small command, for
example tokenize in `vocabulary.advise`, then `parser` (argparse with one-line errors) and `options`
(shared options). The commands are in `words`, `vocabulary`, `training`, `analysis` and `lab`.
`tables` formats the output, `reference` generates docs/commands.md.

Answers go to stdout (with --json strict JSON and nothing else), everything else to stderr.
Exit codes: 0 done, 1 a negative verdict, 2 bad input, 130 canceled.
"""

import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from types import FrameType

from vocadapt.errors import Canceled, InputError

MAX_LINES = 3  # of an error message
MAX_CHARACTERS = 800  # of a line of an error message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; return the exit code."""
    # Called from Python with arguments, it leaves the streams and signals of the process alone.
    if arguments is None:
        _print_anything()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
    try:
        from vocadapt.cli.run import run

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except InputError as error:
        print(format_error(error), file=sys.stderr)
        return 2
    except MemoryError:
        print(
            "Not enough memory.\nUse less text or fewer words, or close other programs.",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:  # `… | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, Canceled) as canceled:
        result = str(canceled) or "nothing was written"
        print(f"Canceled: {result}.", file=sys.stderr)
        return 130


def format_error(error: InputError) -> str:
    """Format an error for a terminal: few lines of bounded length, invisible characters escaped."""
    from vocadapt.text.display import escape_invisible

    lines = [part for text in (error.problem, error.remedy) for part in text.split("\n") if part]
    return "\n".join(_shorten(escape_invisible(_shorten(line))) for line in lines[:MAX_LINES])


def _shorten(line: str) -> str:
    """Leave out the middle of a long line."""
    if len(line) <= MAX_CHARACTERS:
        return line
    half = MAX_CHARACTERS // 2
    return f"{line[:half]} … {line[-half:]}"


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
