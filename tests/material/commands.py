"""Commands that a test runs in its process."""

import json
from typing import Any

import pytest

from vocadapt.cli import main


def run_line(line: str, *arguments: object) -> int:
    """Run a command line, with more arguments as they are, and return its exit code."""
    return main([*line.split(), *map(str, arguments)])


def read_answer(printed: str) -> Any:
    """The answer of a command, which must be strict JSON: no NaN."""
    return json.loads(printed, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
