"""A command of the command line, and its answer."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vocadapt.cli.parser import Parser
from vocadapt.progress import Progress


@dataclass(frozen=True)
class Answer:
    """Result of a command: JSON values, text for people, and the exit code."""

    json: Any
    text: str
    exit: int = 0


@dataclass(frozen=True)
class Command:
    """A command: adds its options to a parser, and runs on what was parsed."""

    options: Callable[[Parser], None]
    run: Callable[[Namespace, Progress], Answer]
