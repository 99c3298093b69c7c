"""Errors that are not bugs; anything else that is raised is a bug and keeps its traceback.

Exception
└── InputError   invalid input: shown as a message, on screen and in the terminal (exit code 2)
BaseException
└── Canceled    the user stopped the work: nothing is left behind (exit code 130)
"""

from collections.abc import Collection


class InputError(Exception):
    """Invalid input. `problem`: what was expected and what was given; `remedy`: what to do about
    it; `setting`: name of the setting or input to change, whose flag or label is then added;
    `code`: name of the mistake, for programs and tests, such as "empty-file".
    """

    def __init__(self, problem: str, remedy: str = "", setting: str = "", code: str = "") -> None:
        super().__init__(f"{problem}\n{remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy
        self.setting = setting
        self.code = code

    def add_place(self, place: str) -> "InputError":
        """Return the error with its place before the problem, such as a file: the mistake is there,
        so no flag or label of a setting is added.
        """
        return InputError(f"{place}: {self.problem}", self.remedy, code=self.code)


def check_choice(what: str, value: str, choices: Collection[str]) -> None:
    """Raise InputError if a value is not one of the choices; what: noun for it, for the message."""
    if value not in choices:
        remedy = f"Choose one of: {', '.join(choices)}."
        raise InputError(f"Unknown {what} {value!r}.", remedy, code="unknown-choice")


class Canceled(BaseException):
    """The user canceled the work; the message, if any, states which results were kept.

    Like KeyboardInterrupt, it is not caught by `except Exception`.
    """
