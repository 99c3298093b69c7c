"""Watchdog of a job: kills the worker if one block of lines takes too long to tokenize.

The tokenizers library cannot be interrupted, and a call may hold the global interpreter lock and
block all other threads. The watchdog is therefore a separate process:

1. The worker starts it with the first block, and writes one JSON line to its stdin for each event:
   the name of a block when its tokenization begins, null when it ends.
2. The watchdog waits for the next line. If none arrives within the time limit, the named block
   takes too long.
3. It then kills the worker and marks the job as failed, naming the block.
4. If stdin is closed, the worker has ended, and so does the watchdog.

Example, limit 60 s: "a.txt, lines 1 to 900" at 0 s, null at 2 s, "a.txt, lines 901 to 1,800" at 2
s, nothing until 62 s: the worker is killed, and the message names lines 901 to 1,800.
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

from vocadapt.lab.jobs.status import read_status, write_status
from vocadapt.system.processes import build_environment

BLOCK_SECONDS = 60.0  # time limit of a block of lines
PROGRAM = ("-P", "-m", "vocadapt.lab.jobs.watchdog")
REMEDY = (
    "Check these lines, or leave them out; if they look normal, choose another model: its tokenizer"
    " may be faulty."
)


class Watchdog:
    """Reports the tokenized blocks of this process to the watchdog of the job in `folder`.

    Pass it to `progress.watch_blocks`. seconds: time limit of a block.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, block: str | None) -> None:
        """Report that the tokenization of a block begins, or, with None, that it has ended."""
        if self._process is None:
            self._process = self._start()
        with suppress(BrokenPipeError):  # the watchdog was killed: the job continues without it
            os.write(self._process.stdin.fileno(), json.dumps(block).encode() + b"\n")  # type: ignore[union-attr]

    def close(self) -> None:
        """Stop the watchdog process."""
        if self._process is not None:
            self._process.stdin.close()  # type: ignore[union-attr]
            self._process.wait()
            self._process = None

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, *PROGRAM, str(self.folder), str(os.getpid()), str(self.seconds)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, start_new_session=True, env=build_environment()
        )


def find_slow_block(blocks: int, worker: int, seconds: float) -> str | None:
    """Return the first block that takes longer than `seconds`, or None once the worker has ended.

    blocks: file descriptor that the worker writes to. worker: its process id.
    """
    block: str | None = None
    begun, rest = 0.0, b""
    while True:
        # 1. Wait for the worker's next line, without limit while no block is open.
        left = None if block is None else max(0.0, begun + seconds - time.monotonic())
        if not select.select([blocks], [], [], left)[0]:
            # 2. The time limit has passed.
            if not _is_stopped(worker):
                return block
            begun = time.monotonic()  # the worker is suspended: restart the clock
            continue

        # 3. Read the lines that have arrived; only the last one counts.
        read = os.read(blocks, 1 << 16)
        if not read:
            return None
        *whole, rest = (rest + read).split(b"\n")  # the last line may be incomplete
        if whole:
            block = json.loads(whole[-1])
            begun = time.monotonic()


def kill_worker(folder: Path, worker: int, block: str, seconds: float) -> None:
    """Kill the worker and mark its job as failed.

    The status is written twice: before the kill in case this process is killed too, and after it
    because the worker may have overwritten it.
    """
    _write_failure(folder, block, seconds)
    with suppress(ProcessLookupError):
        # The worker of a job leads a process group: kill its children as well.
        if os.getpgid(worker) == worker:
            os.killpg(worker, signal.SIGKILL)
        else:
            os.kill(worker, signal.SIGKILL)
    # Wait until the worker has ended and its end of the pipe is closed.
    select.select([sys.stdin.fileno()], [], [], 5.0)
    _write_failure(folder, block, seconds)


def _write_failure(folder: Path, block: str, seconds: float) -> None:
    status = replace(
        read_status(folder),
        state="failed",
        error=f"Tokenizing took longer than {seconds:g} s for one block: {block}.",
        remedy=REMEDY,
        updated=time.time(),
    )
    write_status(folder, status)


def _is_stopped(pid: int) -> bool:
    """Return whether a process is suspended."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def main() -> None:
    """Watch the worker of a job and read its blocks from stdin.

    Command-line arguments: job folder, process id, seconds.
    """
    folder = Path(sys.argv[1])
    worker = int(sys.argv[2])
    seconds = float(sys.argv[3])
    block = find_slow_block(sys.stdin.fileno(), worker, seconds)
    if block is not None and os.getppid() == worker:
        kill_worker(folder, worker, block, seconds)


if __name__ == "__main__":
    main()
