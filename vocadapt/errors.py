"""The one error that is the user's to mend; anything else that is raised is a bug and keeps its
traceback.

Exception
└── InputError   a mistake in what was given: shown as a message, on screen and on the command line (exit 2)
BaseException
└── Canceled    the user stopped the work: nothing is left behind (exit 130)
"""


class InputError(Exception):
    """What was given cannot be used.

    `problem` says what was expected and what came; `remedy` says what to do about it.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}\n{remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


class Canceled(BaseException):
    """The user asked the running work to stop. Like KeyboardInterrupt, it is not for a library's
    `except Exception`.
    """
