"""A quick, deterministic step for the tests of jobs, with checkpoints; it can kill itself.

It sums squares, saves a checkpoint after every tenth, and writes the sums; the output does not
depend on how often it was killed. Run as a program, it is the worker of such a job. DIE names a
moment at which the process kills itself, as `kill -9` would. While the file named by FULL
exists, writing fails as on a full disk, for the files listed in it or for all."""

import errno
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import STATUS
from vocadapt.lab.steps import STEPS, Step
from vocadapt.lab.steps.step import TEXT, Numbers, StepContext
from vocadapt.lab.workspace import strict_json
from vocadapt.settings import setting

DIE, FULL = "VOCADAPT_TEST_DIE", "VOCADAPT_TEST_FULL"
RESULT, KEPT = "sums.txt", "kept.json"
MOMENTS = (
    "checkpoint before",
    "checkpoint after",
    "placed before",
    "placed after",
    "put aside after",
    "ready",
    "done before",
    "cleared before",
)
log = logging.getLogger("vocadapt.counting")


@dataclass(frozen=True)
class CountingStep:
    """How many squares are summed, and how long each takes, in seconds."""

    numbers: int = setting(40, "how many squares are summed")
    pause: float = setting(0.01, "seconds that each takes")


def count(context: StepContext, settings: CountingStep) -> Numbers:
    sums = kept(context)
    log.info("begins at %d", len(sums))
    while len(sums) < settings.numbers:
        context.progress(len(sums) / settings.numbers, f"square {len(sums)}")
        sums.append((sums[-1] if sums else 0) + len(sums) ** 2)
        (context.draft / RESULT).write_text("half", encoding="utf-8")
        if context.checkpoint and len(sums) % max(1, settings.numbers // 10) == 0:
            strict_json.write(context.checkpoint / KEPT, {"sums": sums})
        time.sleep(settings.pause)
    (context.draft / RESULT).write_text("\n".join(map(str, sums)), encoding="utf-8")
    return {"words": len(sums), "begun_at": len(kept(context))}


def kept(context: StepContext) -> list[int]:
    if context.checkpoint is None or not (context.checkpoint / KEPT).exists():
        return []
    return list(
        strict_json.loads((context.checkpoint / KEPT).read_text(encoding="utf-8"), KEPT)["sums"]
    )


def register(put: Callable[[dict, str, object], None] = dict.__setitem__) -> None:
    step = Step(
        "count",
        "Sum squares",
        CountingStep,
        count,
        "corpora",
        needs=(TEXT,),
        libraries=(),
        command=("count",),
    )
    put(STEPS, "count", step)


def use(monkeypatch, **environment: str) -> None:
    """Let jobs of this test know the step."""
    register(monkeypatch.setitem)
    monkeypatch.setattr(queue, "WORKER", (str(Path(__file__).resolve()),))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def mortal(moment: str) -> None:
    """Die by SIGKILL at a moment that is named."""
    replace, rmtree = os.replace, shutil.rmtree

    def die(name: str) -> None:
        if name == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def named(source: Path, target: Path) -> str:
        if Path(target).name == KEPT:
            return "checkpoint"
        if Path(target).name == STATUS:
            return "done" if '"done"' in Path(source).read_text(encoding="utf-8") else ""
        return (
            "put aside"
            if str(target).endswith(".old")
            else "placed"
            if str(source).endswith(".draft")
            and Path(source).is_dir()  # small files have drafts, too
            else ""
        )

    def mortal_replace(source: Path, target: Path) -> None:
        name = named(source, target)
        die(f"{name} before")
        replace(source, target)
        die(f"{name} after")

    def mortal_rmtree(path: Path, ignore_errors: bool = False) -> None:
        if Path(path).name == queue.CHECKPOINT and (Path(path) / KEPT).exists():
            (Path(path) / KEPT).unlink()
            die("cleared before")
        rmtree(path, ignore_errors=ignore_errors)

    os.replace, shutil.rmtree = mortal_replace, mortal_rmtree
    die("ready")


def full(flag: Path) -> None:
    """Have no room as long as the flag stands."""
    write = Path.write_text

    def fails(path: Path, *arguments: object, **more: object) -> int:
        if flag.exists() and flag.read_text(encoding="utf-8") in str(path):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, *arguments, **more)  # type: ignore[arg-type]

    Path.write_text = fails  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    from tests.material import counting_step  # the module that the step lives in, not the program
    from vocadapt.cli import main

    signal.alarm(300)  # seconds; a test may leave a job that would run for hours
    counting_step.register()
    if DIE in os.environ:
        mortal(os.environ[DIE])
    if FULL in os.environ:
        full(Path(os.environ[FULL]))
    sys.exit(main(["job", sys.argv[1]]))
