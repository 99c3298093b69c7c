"""A watchdog for a job: it ends the worker when one block of lines takes too long to tokenize.

The tokenizers library cannot be interrupted, and while it works it may keep every thread of its process waiting. So the watchdog
is a process of its own, started with the first block: the worker writes to it which block begins and when none is being
tokenized. It ends with the worker.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import vocadapt
from vocadapt.lab.status import Status, read_status, write_status

BLOCK_SECONDS = 60.0  # the longest that a block of lines may take
PROGRAM = ("-m", "vocadapt.lab.watchdog")
REMEDY = "Look at these lines, or leave them out; if they are ordinary, choose another model: its tokenizer may be at fault."


class Watchdog:
    """Reports the blocks of this process to a watchdog of the job in `folder`; what `progress.watch_blocks` takes."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, block: str | None) -> None:
        """Report that a block begins, or that none is being tokenized."""
        if self._process is None:
            self._process = self._start()
        with suppress(BrokenPipeError):  # somebody ended the watchdog: the job goes on without
            os.write(self._process.stdin.fileno(), json.dumps(block).encode() + b"\n")  # type: ignore[union-attr]

    def close(self) -> None:
        """End the watchdog."""
        if self._process is not None:
            self._process.stdin.close()  # type: ignore[union-attr]
            self._process.wait()
            self._process = None

    def _start(self) -> "subprocess.Popen[bytes]":
        package = str(Path(vocadapt.__file__).parents[1])
        paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, *PROGRAM, str(self.folder), str(os.getpid()), str(self.seconds)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, env={**os.environ, "PYTHONPATH": paths})


def watch(blocks: int, worker: int, seconds: float) -> str | None:
    """Return the block that takes longer than `seconds`, None when the worker has ended; `blocks` is what it writes to."""
    block: str | None = None
    begun, rest = 0.0, b""
    while True:
        left = None if block is None else max(0.0, begun + seconds - time.monotonic())
        if not select.select([blocks], [], [], left)[0]:
            if not _is_stopped(worker):
                return block
            begun = time.monotonic()  # somebody suspended the worker: its time stands still
            continue
        read = os.read(blocks, 1 << 16)
        if not read:
            return None
        *whole, rest = (rest + read).split(b"\n")
        if whole:
            block, begun = json.loads(whole[-1]), time.monotonic()


def end(folder: Path, worker: int, block: str, seconds: float) -> None:
    """End the worker and write down why; before and after, for what it writes in between must not stay."""
    _write_failure(folder, block, seconds)
    with suppress(ProcessLookupError):
        leads_group = os.getpgid(worker) == worker  # as the worker of a job does: what it started ends with it
        kill = os.killpg if leads_group else os.kill
        kill(worker, signal.SIGKILL)
    select.select([sys.stdin.fileno()], [], [], 5.0)  # its end of the pipe is closed once it is gone
    _write_failure(folder, block, seconds)


def _write_failure(folder: Path, block: str, seconds: float) -> None:
    problem = f"Tokenizing took longer than {seconds:g} s for one block: {block}."
    status: Status = replace(read_status(folder), state="failed", error=problem, remedy=REMEDY, updated=time.time())
    write_status(folder, status)


def _is_stopped(pid: int) -> bool:
    """Return whether a process was suspended."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def main() -> None:
    """Watch the worker of a job: folder, process id and seconds are the arguments, the blocks come on standard input."""
    folder, worker, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    block = watch(sys.stdin.fileno(), worker, seconds)
    if block is not None and os.getppid() == worker:
        end(folder, worker, block, seconds)


if __name__ == "__main__":
    main()
