"""Benchmarks and own tasks as artifacts: downloaded or copied, read once, with task.toml and
manifest.
"""

import os
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import check_file
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact
from vocadapt.progress import Progress, silent
from vocadapt.training.tasks.benchmark_card import card_of
from vocadapt.training.tasks.download import as_toml, download_benchmark
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.training.tasks.task import (
    TASK,
    Task,
    TaskFile,
    read_task,
    read_task_file,
    task_of_files,
)

DOWNLOAD = ("python", "-m", "vocadapt", "tasks", "download")


def fetch_benchmark(
    name: str, folder: Path, source: str = "", overwrite: bool = False, progress: Progress = silent
) -> tuple[TaskFile, Manifest]:
    """Download a benchmark and read it once; nothing is left if that fails.

    Of a k-fold benchmark every fold is read: `examples` are the sizes of the first, `folds` is
    their number, `by_fold` gives the sizes of each split in all of them. A repeated download must
    have the checksums of the first. Raises InputError for an unknown name, an unreachable source,
    and unexpected files.
    """
    card, start = card_of(name), time.perf_counter()
    with open_draft(folder, overwrite) as draft:
        made = download_benchmark(card, draft, source, _read_checksums(folder, card.name), progress)
        tasks = [read_task(draft, fold) for fold in range(1, made.folds + 1)] or [read_task(draft)]
        command = [*DOWNLOAD, card.name, "--out", str(folder)]
        if source:
            command += ["--from", source]
        checksums, findings = dict(made.sha256), _collect_findings(tasks)
        manifest = Manifest(
            "tasks",
            folder.name,
            {"card": card.name, "source": source or card.base},
            command=shlex.join(command),
            numbers={**_count_examples(tasks), "sha256": checksums, "findings": findings},
            seconds=time.perf_counter() - start,
        )
        manifest.save(draft)
    return made, manifest


def import_task(
    kind: TaskKind, files: Mapping[str, Path], folder: Path, scorer: str = ""
) -> Artifact:
    """Import single files (split → file) as a task of the workspace.

    Raises InputError if they are no such task; then nothing is left.
    """
    start = time.perf_counter()
    # Read the given files, not their copies: a message names the file that the user knows.
    task = task_of_files(kind, files, scorer)
    with open_draft(folder) as draft:
        splits = {split: f"{split}{file_extension(path)}" for split, path in files.items()}
        made = TaskFile(folder.name, kind.name, splits, scorer)
        for split, name in splits.items():
            _copy_file(files[split], draft / name)
        (draft / TASK).write_text(as_toml(made), encoding="utf-8")
        numbers = {**_count_examples([task]), "findings": _collect_findings([task])}
        seconds = time.perf_counter() - start
        settings = {"kind": kind.name, "scorer": scorer}
        Manifest("tasks", folder.name, settings, numbers=numbers, seconds=seconds).save(draft)
    return open_artifact(folder)


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file; raises InputError if it cannot be read."""
    try:
        shutil.copyfile(check_file(source), target)
    except OSError as error:
        raise InputError(
            f"{source}: cannot be read: {error.strerror}.", "Check the spelling."
        ) from error


def file_extension(path: Path) -> str:
    """Return the extension that decides how a file is read, with .gz if it is compressed."""
    if path.suffix == ".gz":
        return "".join(path.suffixes[-2:])
    return path.suffix


def find_task(given: str, workspace: Workspace | None = None) -> Path:
    """Return the folder or TOML file of a task, given by path or by its name in the workspace.

    Raises InputError for anything else; for a benchmark with the command that downloads it.
    """
    path = Path(given)
    if os.path.isfile(path / TASK) or (path.suffix == ".toml" and os.path.isfile(path)):
        return path
    if workspace is not None:
        for artifact in workspace.artifacts("tasks"):
            if artifact.name == given:
                return artifact.folder
    if os.path.exists(path):
        raise InputError(
            f"{given}: expected a task's .toml, or a folder with a {TASK}.",
            "Downloading a benchmark makes one.",
        )
    card = card_of(given)
    remedy = f"{shlex.join(DOWNLOAD)} {card.name} downloads them; then give their folder."
    if not card.free:
        remedy = (
            f"{shlex.join(DOWNLOAD)} {card.name} imports your copy of them from its folder; then"
            " give the new folder."
        )
    raise InputError(f"{given}: the files of the benchmark {card.name} are not here yet.", remedy)


def _count_examples(tasks: Sequence[Task]) -> dict[str, Any]:
    """Count the examples of every split; with folds those of the first, and of each."""
    by_fold = {split: [len(task.split(split)) for task in tasks] for split in tasks[0].splits}
    first = {"examples": {split: sizes[0] for split, sizes in by_fold.items()}}
    if len(tasks) == 1:
        return first
    return {**first, "folds": len(tasks), "by_fold": by_fold}


def _collect_findings(tasks: Sequence[Task]) -> list[str]:
    """Return notes on the data, with the folds that they apply to if not all."""
    of: dict[str, list[int]] = {}
    for fold, task in enumerate(tasks, start=1):
        for finding in task.findings:
            of.setdefault(finding, []).append(fold)
    notes = []
    for finding, folds in of.items():
        if len(folds) < len(tasks):
            finding = f"fold {', '.join(map(str, folds))}: {finding}"
        notes.append(finding)
    return notes


def _read_checksums(folder: Path, card: str) -> dict[str, str]:
    """Return the checksums of the same benchmark if it is already there."""
    try:
        recorded = read_task_file(folder / TASK)
    except InputError:
        return {}
    if recorded.card != card:
        return {}
    return dict(recorded.sha256)
