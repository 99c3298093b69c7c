"""A study of 24 cells on constructed sentences, and the command that runs it in a process."""

import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, TypeVar

import psutil

from vocadapt.cli import main
from vocadapt.lab.experiments.studies import grid
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import read_metrics
from vocadapt.training.finetune.settings import FinetuneSettings

T = TypeVar("T")
# The task of a study on few sentences, at the end of its file.
TOY_TASK = """[[tasks]]
name = "toy"
kind = "ner"
train = "train.tsv"
test = "test.tsv"
"""
ROOT = Path(__file__).parents[2]
LONG = 900.0  # seconds
DEMO = ROOT / "assets" / "demo"
DRUGS = ("warfarin", "aspirin", "metformin", "placebo", "heparin")
DISEASES = ("dementia", "anemia", "sepsis", "pneumonia", "ischemia")
OTHERS = ("euthymia", "asepsis", "surgery", "exercise", "school")
OPENINGS = ("After six weeks", "In this trial", "At baseline", "In older adults", "Later")
# 2 variants × 3 tasks × 4 seeds; 20 examples in batches of 2, 20 times, are 200 steps a cell. To save
# time the first two tasks train the top layer only, and the adapted model has no certificate.
FILE = f"""
name = "survivor"
seeds = [1, 2, 3, 4]
[settings]
num_epochs = 20
batch_size = 2
freeze = "top-1"
[[variants]]
name = "plain"
model = "{DEMO}/models/demo-bert"
[[variants]]
name = "green"
model = "{DEMO}/models/demo-bert"
preset = "green-bert"
vectors = "{DEMO}/vectors/demo-biomedical"
no_certificate = true
[[tasks]]
name = "diseases"
kind = "ner"
train = "ner-train.tsv"
dev = "ner-dev.tsv"
test = "ner-test.tsv"
[[tasks]]
name = "ill"
kind = "classification"
train = "ill-train.tsv"
test = "ill-test.tsv"
[[tasks]]
name = "pairs"
kind = "nli"
train = "nli-train.tsv"
test = "nli-test.tsv"
freeze = "all"
"""
CELLS, STEPS, EXAMPLES = 24, 200, 20
LAST_PART = 0.7  # of a cell that is killed: one that has computed more may end before
SAVE_MINUTES = 0.01  # between checkpoints: several in a cell of a few seconds


def write_study(folder: Path) -> Path:
    """Write the file of the study and its tasks; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, split in enumerate(("train", "dev", "test")):
        rng = random.Random(number)
        drawn = [_draw(rng) for _ in range(EXAMPLES)]
        _write(folder / f"ner-{split}.tsv", [_tag(*one) for one in drawn], "\n\n")
        _write(folder / f"ill-{split}.tsv", ["text\tlabel", *(_label(*one) for one in drawn)])
        header = "sentence1\tsentence2\tgold_label"
        _write(folder / f"nli-{split}.tsv", [header, *(_pair(rng, *one) for one in drawn)])
    return _write(folder / "survivor.toml", [FILE])


def _draw(rng: random.Random) -> tuple[str, str, str]:
    """Draw the opening, drug and finding of a sentence."""
    return rng.choice(OPENINGS), rng.choice(DRUGS), rng.choice(DISEASES + OTHERS)


def _sentence(opening: str, drug: str, finding: str) -> str:
    return f"{opening} {drug} was compared with care for {finding} ."


def _tag(opening: str, drug: str, finding: str) -> str:
    """A word and its tag a line: diseases are entities."""
    words = _sentence(opening, drug, finding).split()
    tags = ["B-Disease" if word in DISEASES else "O" for word in words]
    return "\n".join(f"{word}\t{tag}" for word, tag in zip(words, tags, strict=True))


def _label(opening: str, drug: str, finding: str) -> str:
    label = "ill" if finding in DISEASES else "well"
    return f"{_sentence(opening, drug, finding)}\t{label}"


def _pair(rng: random.Random, opening: str, drug: str, finding: str) -> str:
    other = rng.choice((drug, rng.choice(DRUGS)))
    label = "entailment" if other == drug else "neutral"
    return f"{_sentence(opening, drug, finding)}\tPatients received {other} .\t{label}"


def _write(path: Path, lines: Sequence[str], end: str = "\n") -> Path:
    path.write_text(end.join(lines) + "\n", encoding="utf-8")
    return path


def run_command(arguments: Sequence[str]) -> int:
    """Run the command line, with checkpoints every SAVE_MINUTES in the cells of a study."""
    build_settings = grid.training_preset

    def build_with_checkpoints(name: str, **changes: Any) -> FinetuneSettings:
        return build_settings(name, **changes, save_minutes=SAVE_MINUTES)

    grid.training_preset = build_with_checkpoints
    return main(arguments)


def start_study(
    file: Path, out: Path, *options: str, action: str = "run", first: Path = ROOT
) -> "Popen[str]":
    """Start a command on a study in a process group of its own; its answer is JSON.

    first: folder whose modules stand before all others.
    """
    code = "import sys; from tests.material.studies import run_command"
    code += "; sys.exit(run_command(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "study", action, str(file), "--out", str(out), "--json"]
    env = {**os.environ, "PYTHONPATH": f"{first}{os.pathsep}{ROOT}"}
    return Popen(
        [*command, *options], start_new_session=True, stdout=PIPE, stderr=PIPE, text=True, env=env
    )


def finish_study(process: "Popen[str]", code: int = 0) -> dict[str, Any]:
    """Wait for a command on a study, and return its answer."""
    answer, log = process.communicate(timeout=LONG)
    assert process.returncode == code, log
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return found


def run_study(file: Path, out: Path, *options: str) -> dict[str, Any]:
    """Run a study in a process, and return its answer."""
    return finish_study(start_study(file, out, *options))


def read_table(file: Path, out: Path) -> str:
    """Return what the command prints as the table of a study."""
    table, log = start_study(file, out, action="table").communicate(timeout=LONG)
    assert table, log
    return table


def wait_for(look: Callable[[], T], process: "Popen[str] | None" = None) -> T:
    """Look until something is found; fail if the time is over, or the process."""
    end = time.monotonic() + LONG
    while not (found := look()):
        assert time.monotonic() < end
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)
    return found


def list_finished(out: Path) -> list[Path]:
    """List the finished cells of a study."""
    return sorted(path.parent for path in out.glob("runs/*/manifest.json"))


def find_begun_cell(out: Path, part: float = 0.1, above: int = 0) -> Job | None:
    """Return a cell that runs, has a checkpoint, and has computed a part, but will not end at once;
    None if there is none.

    above: id of a process that the cell's must descend from, such as that of a Ray node.
    """
    for folder in out.glob("jobs/*-seed-*/"):
        job = Job(folder)
        status = job.status()
        if status.state != "running" or not job.has_checkpoint:
            continue
        if not part <= (status.fraction or 0) <= LAST_PART:
            continue
        with suppress(psutil.NoSuchProcess):
            parents = {process.pid for process in psutil.Process(status.pid).parents()}
            if not above or above in parents:
                return job
    return None


def find_first_step(job: Job, run: int) -> int:
    """Return the first step that a run of a cell reported, from 1; 0 if it reported none."""
    for line in read_metrics(job.folder):
        found = re.match(r"step ([\d,]+) of", line["message"])
        if line["run"] == run and found:
            return int(found[1].replace(",", ""))
    return 0


def read_results(out: Path) -> dict[str, bytes]:
    """Return the files of all cells by path, without those that hold times, paths and energy."""
    files = [path for path in out.glob("runs/*/**/*") if path.is_file()]
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in files
        if path.name not in ("manifest.json", "run.json", "log.txt")
    }
