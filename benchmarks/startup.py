"""Seconds until the first answer of commands: `--help`, the help of a command, and a light command."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks._figures import Figure, run, time_in_turn

REPEATS = 9
COMMANDS = {  # → the most seconds on a quiet machine
    "--help": 0.15,
    "vectors train --help": 0.35,
    "adapt --help": 0.35,
    "presets": 0.3,
}


def measure(full: bool) -> Iterator[Figure]:
    """Start each command in turn with an empty Python program."""
    works = {"python": lambda: start("-c", "pass")}
    for command in COMMANDS:
        works[command] = lambda command=command: start("-m", "vocadapt", *command.split())
    seconds = time_in_turn(works, REPEATS)
    for command, bound in COMMANDS.items():
        note = f"an empty Python program {sorted(seconds['python'])[REPEATS // 2]:.3f} s"
        yield Figure(f"`{command}`", seconds[command], target=bound, note=note)


def start(*arguments: str) -> None:
    """Run Python in a new process."""
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(run(measure))
