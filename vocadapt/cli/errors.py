"""How the command line prints a user's mistake: as text, or as JSON for a program."""

import json

from vocadapt.errors import InputError

JSON_ERRORS = "--json-errors"
MAX_LINES = 3  # of an error message
MAX_CHARACTERS = 800  # of a line of an error message


def format_error(error: InputError) -> str:
    """Format an error for a terminal: few lines of bounded length, invisible characters escaped."""
    from vocadapt.text.display import escape_invisible

    lines = [part for text in (error.problem, error.remedy) for part in text.split("\n") if part]
    return "\n".join(_shorten(escape_invisible(_shorten(line))) for line in lines[:MAX_LINES])


def format_json_error(error: InputError, exit: int) -> str:
    """Format an error as one line of JSON: {"error": {"code": …, "problem": …, "remedy": …, "exit":
    …}}.
    """
    values = {
        "code": error.code,
        "problem": _shorten(error.problem),
        "remedy": _shorten(error.remedy),
        "exit": exit,
    }
    return json.dumps({"error": values})


def _shorten(line: str) -> str:
    """Leave out the middle of a long line."""
    if len(line) <= MAX_CHARACTERS:
        return line
    half = MAX_CHARACTERS // 2
    return f"{line[:half]} … {line[-half:]}"
