"""Run 850 hostile commands and odd orders, each in its own process:
python -m tests.hostile.attacks [--only PART] [--every N]

A command passes if it ends in time with exit code 0, 1 or 2, without a traceback, panic or abort.
If it is refused, its message must have at most three printable lines of bounded length, and no
output may be left behind. Files, models, tasks, recipes and artifacts come from `attack_material`;
extreme numbers are passed to every numeric flag.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.hostile import attacks_in_odd_orders, attacks_on_formats
from tests.material import hostile
from tests.material.finetuning import sentences, write_conll
from tests.material.lab import write_text
from tests.material.tiny_bert import build_tiny_bert

SECONDS = 60.0  # time limit of a command; most take less than one second
MEMORY = 6 << 30  # limit of additional address space of a command, in bytes
LONGEST_LINE = 1200  # characters of a message
OUT = "out"


@dataclass(frozen=True)
class Attempt:
    """A command line with something hostile in it, which must be refused or may succeed; or, in its
    place, an act of `attacks_in_odd_orders`.
    """

    name: str
    arguments: tuple[str, ...]
    must_be_refused: bool = False
    act: attacks_in_odd_orders.Act | None = None


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended: its exit code (negative: by a signal; None: out of time), what it said,
    and what it left.
    """

    code: int | None
    said: str
    left: tuple[str, ...]
    seconds: float

    @property
    def fault(self) -> str:
        """What is wrong with it; "" if nothing is."""
        if self.code is None:
            return f"took more than {SECONDS:.0f} s"
        if self.code not in (0, 1, 2):
            return f"ended with {self.code}"
        if "Traceback" in self.said or "panicked" in self.said:
            return "traceback or panic"
        if self.code != 2:
            return ""
        # Guards come before what is refused.
        every = self.said.splitlines()
        lines = [line for line in every if not line.startswith(("warning: ", "note: "))]
        if not 1 <= len(lines) <= 3 or max(map(len, every)) > LONGEST_LINE:
            return (
                f"{len(lines)} lines, the longest of {max(map(len, every), default=0)} characters"
            )
        if not all(character.isprintable() for character in self.said.replace("\n", "")):
            return "a message that cannot be printed as it is"
        return f"left {', '.join(self.left)}" if self.left else ""


@dataclass(frozen=True)
class Ground:
    """What attempts stand on: a sound model, text, vectors and task, and the folder that all
    hostile things go to.
    """

    folder: Path
    model: Path
    text: Path
    vectors: Path
    tagged: Path


def ground_in(folder: Path) -> Ground:
    """Where `prepare` puts what it makes."""
    names = ("model", "text.txt", "vectors", "tagged.tsv")
    return Ground(folder, *(folder / name for name in names))


def prepare(folder: Path) -> None:
    """Make a sound model, text, vectors and task."""
    from vocadapt.cli import main

    ground = ground_in(folder)
    build_tiny_bert(ground.model)
    write_text(ground.text, lines=60)
    write_conll(ground.tagged, sentences(6))
    given = ["vectors", "train", ground.text, "--model", ground.model, "--out", ground.vectors]
    given += ["--epochs", 1, "--min-count", 1, "--workers", 1]
    if main(list(map(str, given))):
        raise RuntimeError("no vectors could be trained to attack with")


def attempts(ground: Ground) -> list[Attempt]:
    """Every attempt, in order."""
    return [
        *_on_texts(ground),
        *_on_vectors(ground),
        *_on_models(ground),
        *_on_tasks(ground),
        *_on_recipes(ground),
        *_on_artifacts(ground),
        *_on_numbers(ground),
        *_on_formats(ground),
        *_on_exports(ground),
        *_on_workspaces(ground),
        *_on_outputs(ground),
        *_in_odd_orders(),
    ]


def _attempt(name: str, line: str, *arguments: object) -> Attempt:
    """An attempt with a command line; arguments, such as odd paths, are added as they are."""
    return Attempt(name, (*line.split(), *map(str, arguments)))


def _on_texts(ground: Ground) -> Iterator[Attempt]:
    for path in hostile.write_texts(ground.folder / "texts"):
        yield _attempt(f"count {path.name}", "words", "count", path, "--model", ground.model)
        train = f"vectors train --model {ground.model} --min-count 1 --epochs 1 --workers 1"
        yield _attempt(f"train {path.name}", f"{train} --out {OUT}", path)
    for path in sorted((ground.folder / "texts" / "special").iterdir()):
        yield _attempt(f"lens {path.name}", "lens", path, "--model", ground.model)
        yield _attempt(f"context {path.name}", "context", "heart", "--corpus", path)
        yield _attempt(f"advise {path.name}", "advise", path, "--model", ground.model)
        answer = f"answer --model {ground.model} --question who --context"
        yield _attempt(f"answer {path.name}", answer, path)
        imported = f"vectors import {ground.folder}/a.npy --out {OUT} --words"
        yield _attempt(f"words {path.name}", imported, path)


def _on_vectors(ground: Ground) -> Iterator[Attempt]:
    for path in hostile.write_vectors(ground.folder / "hostile-vectors"):
        yield _attempt(f"import {path.name}", "vectors", "import", path, "--out", OUT)


def _on_models(ground: Ground) -> Iterator[Attempt]:
    for name, path in hostile.write_models(ground.model, ground.folder / "models").items():
        yield _attempt(f"tokenize {name}", "tokenize", "heart disease", "--model", path)
        adapt = ("adapt", "--preset", "green-bert", "--model", path, "--vectors", ground.vectors)
        yield _attempt(f"adapt {name}", *adapt, "--out", OUT)


def _on_tasks(ground: Ground) -> Iterator[Attempt]:
    for name, (kind, path) in hostile.write_tasks(ground.folder / "tasks").items():
        task = f"finetune --model {ground.model} --task {kind} --num-epochs 1 --limit 4 --out {OUT}"
        yield _attempt(f"finetune {kind} {name}", task, "--train", path, "--test", path)
        score = f"score --kind {kind} --rounds 10"
        yield _attempt(f"score {kind} {name}", score, "--gold", path, "--predicted", path)


def _on_recipes(ground: Ground) -> Iterator[Attempt]:
    for path in hostile.write_recipes(ground.folder / "recipes"):
        adapt = ("adapt", "--recipe", path, "--model", ground.model, "--vectors", ground.vectors)
        yield _attempt(f"recipe {path.name}", *adapt, "--out", OUT)
        yield _attempt(
            f"task {path.name}", "finetune", "--model", ground.model, "--task", path, "--out", OUT
        )


def _on_artifacts(ground: Ground) -> Iterator[Attempt]:
    for path in hostile.write_artifacts(ground.vectors, ground.folder / "artifacts"):
        yield _attempt(
            f"align {path.name}", "align", "--vectors", path, "--model", ground.model, "--save", OUT
        )


def _on_numbers(ground: Ground) -> Iterator[Attempt]:
    """Put numbers into numeric flags: each flag of these commands meets three, in turn."""
    model, text, tagged = ground.model, ground.text, ground.tagged
    commands = {
        f"vectors train {text} --model {model} --out {OUT}": (
            "--dim --epochs --window --min-count --negative --seed --workers --alpha --subsample"
            " --resample --sample"
        ),
        f"pretrain --from-scratch --corpus {text} --out {OUT} --vocabulary 150 --layers 1"
        " --hidden 64": (
            "--num-epochs --tokens --hours --length --batch-size --gradient-accumulation-steps"
            " --learning-rate --warmup-ratio --mlm-probability --dropout --seed --layers --hidden"
        ),
        f"finetune --model {model} --task ner --train {tagged} --out {OUT}": (
            "--num-epochs --batch-size --learning-rate --chunk --warmup-ratio --weight-decay"
            " --max-grad-norm --patience --max-length --seeds --fold --limit"
        ),
        f"project --model {model} --out m.html --method pca --first 20": (
            "--first --min-length --low --high --nearest --perplexity --iterations --neighbors"
            " --min-dist --pca --seed"
        ),
        f"align --vectors {ground.vectors} --model {model}": "--ridge --min-count --seed --folds",
        f"neighbors heart --vectors {ground.vectors} --model {model}": "-k",
        f"score --kind ner --gold {tagged} --predicted {tagged}": (
            "--rounds --confidence-level --seed"
        ),
        f"vocabulary reduce --model {model} --heuristic random --out {OUT}": "--keep --seed",
    }
    turn = 0
    for command, flags in commands.items():
        for flag in flags.split():
            for _ in range(2):
                number = hostile.NUMBERS[turn % len(hostile.NUMBERS)]
                turn += 1
                name = f"{command.split()[0]} {flag} {number[:12]}"
                yield _attempt(name, command, f"{flag}={number}")


def _on_formats(ground: Ground) -> Iterator[Attempt]:
    commands: dict[str, tuple[object, ...]] = {
        "text": ("words", "count", "{}", "--model", ground.model),
        "vectors": ("vectors", "import", "{}", "--out", OUT),
        "ner": ("score", "--kind", "ner", "--gold", "{}", "--predicted", ground.tagged),
        "qa": ("score", "--kind", "qa", "--gold", "{}", "--predicted", ground.tagged),
        "labels": (
            *("finetune", "--model", ground.model, "--task", "classification"),
            *("--train", "{}", "--test", "{}", "--out", OUT),
        ),
        "model": ("tokenize", "heart disease", "--model", "{}"),
    }
    for kind, path in attacks_on_formats.write_files(ground.folder / "formats"):
        arguments = (str(part).replace("{}", str(path)) for part in commands[kind])
        yield Attempt(f"{kind} {path.name}", tuple(arguments), must_be_refused=True)


def _on_exports(ground: Ground) -> Iterator[Attempt]:
    for path in hostile.write_exports(ground.folder / "exports"):
        yield _attempt(f"open {path.name}", "workspace", "open", path, "--out", OUT)


def _on_workspaces(ground: Ground) -> Iterator[Attempt]:
    for path in hostile.write_workspaces(ground.folder / "workspaces"):
        for command in (["list"], ["export", "--out", "w.zip"]):
            name = f"workspace {command[0]} {path.name}"
            yield _attempt(name, "workspace", *command, "--workspace", path)
        yield _attempt(f"results {path.name}", "results", "--workspace", path)


def _on_outputs(ground: Ground) -> Iterator[Attempt]:
    places = (
        "",
        " ",
        ".",
        "..",
        "/",
        "~nobody-known/a",
        "a" * 5000,
        "a\0b",
        "/proc/a",
        "/dev/null",
    )
    sound = ground.folder / "sound.vec"
    sound.write_text("2 3\nheart 1 2 3\nlung 3 2 1\n", encoding="utf-8")
    convert = ("vectors", "import", sound)
    copy = ("workspace", "copy", "--workspace", ground.vectors)
    for number, place in enumerate(places):
        yield _attempt(f"import to {number}", *convert, f"--out={place}")
        yield _attempt(f"copy to {number}", *copy, f"--out={place}")
        yield _attempt(f"open to {number}", "workspace", "open", ground.text, f"--out={place}")


def _in_odd_orders() -> Iterator[Attempt]:
    for act in attacks_in_odd_orders.ACTS:
        yield Attempt(f"order {act.__name__}", (), act=act)


def run(attempt: Attempt, folder: Path) -> Outcome:
    """Run an attempt in a process of its own, in an empty folder, within bounds of time and
    memory.
    """
    folder.mkdir()
    log, began = folder.with_suffix(".log"), time.monotonic()
    child = os.fork()
    if child == 0:
        _be_the_attempt(attempt, folder, log)
    code = _wait(child, began + SECONDS)
    left = tuple(sorted(path.name for path in folder.iterdir())) if code else ()
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return Outcome(code, said, left, time.monotonic() - began)


def _be_the_attempt(attempt: Attempt, folder: Path, log: Path) -> None:
    """In the child: bounds, streams, the command, and out without any clearing up."""
    code = 99
    try:
        os.setsid()
        file = os.open(log, os.O_WRONLY | os.O_CREAT)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(file, 2)
        sys.stdout, sys.stderr = (
            os.fdopen(1, "w", encoding="utf-8"),
            os.fdopen(2, "w", encoding="utf-8"),
        )
        os.chdir(folder)
        os.environ["HF_HUB_OFFLINE"] = "1"
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        from vocadapt.cli import main

        if attempt.act:
            code = attacks_in_odd_orders.run_act(attempt.act, folder.with_suffix(".lab"))
        else:
            code = main(list(attempt.arguments))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int, end: float) -> int | None:
    """The exit code of a child; None if it had to be killed at the end of its time."""
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def warm_up() -> None:
    """Import what commands import, once for all children. Nothing is computed: threads do not
    outlive a fork.
    """
    import gensim.models  # noqa: F401
    import torch
    import transformers.models.bert.modeling_bert  # noqa: F401

    torch.set_num_threads(1)


def main(arguments: Sequence[str]) -> int:
    """Run the attempts, print each fault and how many there were; exit 1 if there was any."""
    parser = argparse.ArgumentParser(description="Attack the command line.")
    parser.add_argument("--only", default="", metavar="PART", help="attempts whose name holds this")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="each N-th of these attempts"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _in_a_process_of_its_own(
            lambda: prepare(folder)
        )  # it computes, and no child may inherit that
        warm_up()
        ground = ground_in(folder)
        everything = attempts(ground)
        chosen = [attempt for attempt in everything if options.only in attempt.name][
            :: options.every
        ]
        outcomes = [
            (attempt, run(attempt, folder / f"attempt-{i}")) for i, attempt in enumerate(chosen)
        ]
    faults = [(attempt, outcome, find_fault(attempt, outcome)) for attempt, outcome in outcomes]
    faults = [fault for fault in faults if fault[2]]
    for attempt, outcome, fault in faults:
        print(f"FAULT {attempt.name!r}: {fault}\n  {outcome.said[-600:]!r}")
    slowest = max((outcome.seconds for _, outcome in outcomes), default=0.0)
    print(
        f"{len(chosen)} of {len(everything)} attempts, {len(faults)} faults, the slowest took"
        f" {slowest:.1f} s"
    )
    return int(bool(faults))


def find_fault(attempt: Attempt, outcome: Outcome) -> str:
    """Return what is wrong with the end of an attempt; "" if nothing is."""
    if attempt.must_be_refused and outcome.code in (0, 1):
        return "was not refused"
    return outcome.fault


def _in_a_process_of_its_own(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("what attempts stand on could not be made")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
