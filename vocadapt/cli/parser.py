"""argparse, with mistakes as one-line InputErrors that name the nearest match, and the options that commands share."""

import argparse
from difflib import get_close_matches
from typing import NoReturn

from vocadapt.errors import InputError

REWORDED = {"argument ": "", "the following arguments are required": "it needs", "unrecognized arguments": "it takes no"}


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InputError instead of printing its usage."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        """Parse; raises InputError, an unknown option first, with the nearest known one."""
        known = list(self._option_string_actions)
        for argument in arguments:
            if argument == "--":
                break
            name = argument.partition("=")[0]
            if _is_option(name) and name not in known and not (name[:2] in known and not name.startswith("--")):
                near = get_close_matches(name, known, n=1, cutoff=0.5)
                raise InputError(
                    f"There is no option {name}. " + (f"Did you mean {near[0]}?" if near else f"{self.prog} --help lists them.")
                )
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        """A mistake in the arguments, as one line."""
        command = self.prog.removeprefix("python -m vocadapt ")
        for said, ours in REWORDED.items():
            message = message.replace(said, ours)
        raise InputError(f"{command}: {message}" + ("" if message.endswith("?") else "."), f"{self.prog} --help tells more.")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Argparse's check of a choice, with the nearest one."""
        choices = [str(choice) for choice in action.choices or ()]
        if choices and value not in choices:
            near = get_close_matches(str(value), choices, n=1, cutoff=0.5)
            advice = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"there is no {value!r}: {advice}")


def _is_option(argument: str) -> bool:
    return len(argument) > 1 and argument[0] == "-" and (argument[1] == "-" or argument[1].isalpha())


def whole(text: str) -> int:
    """A whole number; the message says so."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None


def real(text: str) -> float:
    """A finite number; the message says so."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None
    if value - value != 0:
        raise argparse.ArgumentTypeError(f"expected a finite number, got {text!r}")
    return value
