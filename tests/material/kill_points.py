"""Kill a process before each of its changes on the disk, and in the middle of each file that it writes.

Python reports each change (open for writing, rename, mkdir, remove, …) to an audit hook before it
happens, so no writer can be forgotten. A file is cut by the kernel: the process is killed at the
first byte beyond a limit.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

CHANGES = {
    "os.rename",  # also os.replace
    "os.mkdir",
    "os.rmdir",
    "os.remove",
    "os.link",
    "os.symlink",
    "os.truncate",
    "shutil.rmtree",
}
TORN_BYTES = 5  # of a file that is cut


def run_and_kill(write: Callable[[], object], root: Path, moment: int, tears: bool) -> bool:
    """Run `write` in a copy of this process, which is killed before its change number `moment` below
    `root`, counted from 0, or, with `tears`, while it writes the file that it then opens.

    Returns False if it made fewer changes, and therefore ended by itself.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the writer failed"
        return os.WIFSIGNALED(status)
    code = 1
    try:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        sys.addaudithook(_build_hook(str(root), moment, tears))
        write()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _build_hook(root: str, moment: int, tears: bool) -> Callable[[str, tuple], None]:
    count = 0

    def hook(event: str, given: tuple) -> None:
        nonlocal count
        opens = event == "open" and bool(given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if (not opens and event not in CHANGES) or not str(given[0]).startswith(root):
            return
        count += 1
        if count <= moment:
            return
        if not tears:
            os.kill(os.getpid(), signal.SIGKILL)
        elif opens:
            size = 0
            with suppress(OSError):
                size = os.stat(given[0]).st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + TORN_BYTES, size + TORN_BYTES))

    return hook
