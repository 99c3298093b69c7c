"""An ArgumentParser that reports errors as one-line InputErrors with the nearest match."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NoReturn

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import Bounds, show_value

REWORDED = {
    "argument ": "",
    "the following arguments are required": "it needs",
    "unrecognized arguments": "it takes no",
}
OPTION = re.compile(r"-(-|[^\W\d_])")  # how an option begins, in contrast to a negative number


class Options(argparse.Namespace):
    """The parsed options of a command, and where it reports its progress.

    `given_settings` reads declared settings from them.
    """

    progress: Progress

    def get(self, key: str, /) -> Any:
        """Return the value of an option; None if the command has no such option."""
        return getattr(self, key, None)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InputError instead of printing its usage."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def parse(self, arguments: list[str]) -> Options:
        """Parse; raises InputError, an unknown option first, with the nearest known one."""
        # argparse would report a missing argument first, and would not suggest an option.
        known = list(self._option_string_actions)
        for argument in arguments:
            if argument == "--":
                break
            name = argument.partition("=")[0]
            has_value = name[:2] in known and not name.startswith("--")  # -k5
            if not OPTION.match(name) or name in known or has_value:
                continue
            advice = f"{self.prog} --help lists them."
            if near := get_close_matches(name, known, n=1, cutoff=0.5):
                advice = f"Did you mean {near[0]}?"
            raise InputError(f"There is no option {name}. {advice}", code="unknown-option")
        return self.parse_args(arguments, Options(progress=silent))

    def add_flag(self, error: InputError) -> InputError:
        """Return the error with the flag of its setting, unless the message contains it already."""
        for action in self._actions:
            # The name of a setting, of an option declared by hand, or of an input of a step.
            names = (
                getattr(action, "setting", ""),
                action.dest,
                action.dest.removeprefix("input_"),
            )
            if not error.setting or not action.option_strings or error.setting not in names:
                continue
            flag = action.option_strings[0]
            if flag in str(error):
                return error
            problem, remedy = error.problem, error.remedy
            if action.dest == "overwrite":  # this flag is the remedy, not the problem
                remedy = f"{remedy.rstrip('.')} ({flag})."
            else:
                problem = f"{problem.rstrip('.')} ({flag})."
            return InputError(problem, remedy, code=error.code)
        return error

    def error(self, message: str, code: str = "invalid-arguments") -> NoReturn:
        """Convert an error of argparse to an InputError of one line."""
        command = self.prog.removeprefix("python -m vocadapt ")
        # The messages of argparse are not configurable, so parts of them are replaced.
        for theirs, ours in REWORDED.items():
            message = message.replace(theirs, ours)
        if not message.endswith("?"):
            message += "."
        raise InputError(
            f"{command}: {message}", f"{self.prog} --help lists its options.", code=code
        )

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert a value as argparse does; an error has the code of an invalid setting."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            is_number = isinstance(action.type, Number)
            self.error(str(error), "out-of-range" if is_number else "invalid-value")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Check a choice as argparse does, and suggest the nearest one."""
        choices = [str(choice) for choice in action.choices or ()]
        if choices and value not in choices:
            near = get_close_matches(str(value), choices, n=1, cutoff=0.5)
            advice = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(choices)}"
            error = argparse.ArgumentError(action, f"there is no {value!r}: {advice}")
            self.error(str(error), "unknown-choice")


@dataclass(frozen=True, eq=False)  # argparse hashes it
class Number:
    """Parser of a number within bounds, for the `type` of an option; words may stand for numbers."""

    bounds: Bounds
    words: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, text: str) -> Any:
        """Parse a number; raise ArgumentTypeError, with the bounds, for anything else."""
        if text in self.words:
            return self.words[text]
        try:
            value = int(text) if self.bounds.whole else float(text)
        except ValueError:  # not a number, or one of thousands of digits
            value = None
        if value is None or not self.bounds.accepts(value):
            expected = " or ".join([str(self.bounds), *self.words])
            raise argparse.ArgumentTypeError(f"expected {expected}, got {show_value(text)}")
        return value
