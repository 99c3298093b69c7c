"""Progress on stderr: one line that is written over on a terminal; with -v a line now and then
elsewhere.
"""

import sys
import time
from types import TracebackType


class ProgressLine:
    """A progress line on a terminal; silent if stderr is not one and -v is not given."""

    def __init__(self, verbose: bool) -> None:
        self.terminal = sys.stderr.isatty()
        self.every = 0.1 if self.terminal else 2.0 if verbose else float("inf")
        self.last = float("-inf") if self.every < float("inf") else time.monotonic()

    def __call__(self, fraction: float | None, message: str = "") -> None:
        """Print the progress, at most a few times per second."""
        if time.monotonic() - self.last < self.every:
            return
        self.last = time.monotonic()
        share = "      " if fraction is None else f"{fraction:4.0%}  "
        line = f"{share}{message}"[:110]
        print(
            f"\r\x1b[K{line}" if self.terminal else line,
            end="" if self.terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
