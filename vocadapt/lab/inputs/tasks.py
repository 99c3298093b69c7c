"""Imported tasks and predictions as artifacts: copies of the files, with a manifest.

Benchmarks are downloaded and the user's own tasks copied, with a task.toml. Predictions of another
program consist of a gold file and a prediction file. They are scored and can be compared like runs,
but have no tokenizations, logits or training examples.
"""

import os
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.drafts import check_free, open_draft
from vocadapt.lab.workspace.manifest import Manifest, compute_content_stamp
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact
from vocadapt.progress import Progress, silent
from vocadapt.system.files import check_file
from vocadapt.training.examples.examples import Split
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.tasks.benchmarks import download_benchmark, find_card, format_task_file
from vocadapt.training.tasks.kinds import TaskKind, find_kind
from vocadapt.training.tasks.predictions import build_tally
from vocadapt.training.tasks.task import TASK, Task, TaskFile, build_task, read_task, read_task_file

DOWNLOAD = ("python", "-m", "vocadapt", "tasks", "download")
GOLD, PREDICTED = "gold", "predicted"  # names of the copies, without extension


@dataclass(frozen=True)
class ImportedPredictions:
    """Predictions of another program: artifact, kind of task, gold file, prediction file, scorer.

    `gold_stamp`: digest of the gold file; predictions with the same one are comparable. `examples`:
    number of examples.
    """

    artifact: Artifact
    kind: TaskKind
    gold: Path
    predicted: Path
    scorer: str
    gold_stamp: str
    examples: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.artifact.name


def fetch_benchmark(
    name: str, folder: Path, source: str = "", overwrite: bool = False, progress: Progress = silent
) -> tuple[TaskFile, Manifest]:
    """Download a benchmark and check that it can be read; nothing is left if that fails.

    Every fold of a k-fold benchmark is read: the manifest's `examples` are the sizes of the splits
    in the first fold, `folds` is the number of folds, and `by_fold` has the sizes in every fold. A
    repeated download must have the checksums of the first. Raises InputError for an unknown name,
    an unreachable source, and unexpected files.
    """
    card = find_card(name)
    start = time.perf_counter()
    with open_draft(folder, overwrite) as draft:
        # 1. Download it, and read every fold: a benchmark that cannot be read is not kept.
        known_checksums = _read_checksums(folder, card.name)
        made = download_benchmark(card, draft, source, known_checksums, progress)
        tasks = [read_task(draft, fold) for fold in range(1, made.folds + 1)] or [read_task(draft)]

        # 2. Write its manifest.
        command = [*DOWNLOAD, card.name, "--out", str(folder)]
        if source:
            command += ["--from", source]
        checksums = dict(made.sha256)
        findings = _collect_findings(tasks)
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
    kind: TaskKind, files: Mapping[str, Path], folder: Path, about: str = ""
) -> Artifact:
    """Import single files (split → file) as a task of the workspace; `about`: a remark on it.

    Raises InputError if they cannot be read as a task of this kind; nothing is left then.
    """
    start = time.perf_counter()
    # Read the original files, not their copies, so that error messages name the user's files.
    task = replace(build_task(kind, files), about=about)
    with open_draft(folder, size=measure_files(map(str, files.values()))) as draft:
        splits = {split: f"{split}{get_file_extension(path)}" for split, path in files.items()}
        made = TaskFile(folder.name, kind.name, splits, about=about)
        for split, name in splits.items():
            shutil.copyfile(check_file(files[split]), draft / name)
        (draft / TASK).write_text(format_task_file(made), encoding="utf-8")
        numbers = {**_count_examples([task]), "findings": _collect_findings([task])}
        seconds = time.perf_counter() - start
        settings = {"kind": kind.name, "scorer": ""}
        Manifest("tasks", folder.name, settings, numbers=numbers, seconds=seconds).save(draft)
    return open_artifact(folder)


def get_file_extension(path: Path) -> str:
    """Return the extension that decides how a file is read, with .gz if it is compressed."""
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def find_task(given: str, workspace: Workspace | None = None) -> Path:
    """Return the folder or TOML file of a task, given by path or name; raises InputError otherwise."""
    # 1. A path, or a name in the workspace.
    path = Path(given)
    folders = dict[str, Path]()
    if os.path.isfile(path / TASK) or (path.suffix == ".toml" and os.path.isfile(path)):
        return path
    if workspace is not None:
        folders = {artifact.name: artifact.folder for artifact in workspace.artifacts("tasks")}
        if given in folders:
            return folders[given]
    if os.path.exists(path):
        raise InputError(
            f"{given}: expected the .toml file of a task, or a folder with a {TASK}.",
            "Download a benchmark, or import your files as a task.",
            code="not-a-task",
        )

    # 2. A benchmark that has not been downloaded; `find_card` raises for any other name.
    try:
        card = find_card(given)
    except InputError:
        if near := get_close_matches(given, folders, n=1):
            problem = f"There is no task {given!r} in the workspace."
            raise InputError(problem, f"Did you mean {near[0]}?") from None
        raise
    effect = "downloads them; then give their folder"
    if not card.free:
        effect = "imports your copy of them from its folder; then give the new folder"
    raise InputError(
        f"{given}: the files of the benchmark {card.name} have not been downloaded.",
        f"{shlex.join(DOWNLOAD)} {card.name} {effect}.",
        code="not-downloaded",
    )


def _count_examples(tasks: Sequence[Task]) -> dict[str, Any]:
    """Count the examples of every split; for several folds those of the first and of each."""
    counts: dict[str, Any] = {
        "examples": {name: len(split) for name, split in tasks[0].splits.items()}
    }
    if len(tasks) > 1:
        by_fold = {name: [len(task.split(name)) for task in tasks] for name in tasks[0].splits}
        counts |= {"folds": len(tasks), "by_fold": by_fold}
    return counts


def _collect_findings(tasks: Sequence[Task]) -> list[str]:
    """Return notes on the data, prefixed by the folds that they apply to unless these are all."""
    folds_of: dict[str, list[int]] = {}
    for fold, task in enumerate(tasks, start=1):
        for finding in task.findings:
            folds_of.setdefault(finding, []).append(fold)
    notes = []
    for finding, folds in folds_of.items():
        if len(folds) < len(tasks):
            finding = f"fold {', '.join(map(str, folds))}: {finding}"
        notes.append(finding)
    return notes


def _read_checksums(folder: Path, card: str) -> dict[str, str]:
    """Return the checksums of an earlier download of the benchmark; empty if there is none."""
    try:
        recorded = read_task_file(folder / TASK)
    except InputError:
        return {}
    return dict(recorded.sha256) if recorded.card == card else {}


def import_prediction_files(
    kind: TaskKind, gold: Path, files: Sequence[tuple[Path, Path]], scorer: str = ""
) -> list[Artifact]:
    """Import prediction files for one gold file, each into its own folder: all of them or none.

    Raises InputError, before anything is written, if two folders are equal, if a file cannot be
    read, or if its examples differ from those of the gold file.
    """
    # 1. Check the folders.
    for place, (_, folder) in enumerate(files):
        check_free(folder)
        if folder in [other for _, other in files[:place]]:
            raise InputError(
                f"Both predictions are named {folder.name}.",
                "Give them different names.",
                code="same-name",
            )

    # 2. Read and score all files, so that nothing is written if one is invalid.
    chosen = kind.scorer(scorer)
    split = kind.read(gold)
    if not split.labeled:
        raise InputError(
            f"{gold}: holds no labels, so nothing can be compared.",
            "Give a gold file with labels.",
            code="no-labels",
        )
    scored = [_score_predictions(kind, split, chosen, predicted) for predicted, _ in files]

    # 3. Write all drafts; they are renamed to their targets together when the block ends.
    stamp = compute_content_stamp([gold])
    with ExitStack() as stack:
        for (predicted, folder), (numbers, seconds) in zip(files, scored, strict=True):
            size = measure_files([str(gold), str(predicted)])
            draft = stack.enter_context(open_draft(folder, size=size))
            settings = {"kind": kind.name, "scorer": scorer, "from": predicted.name}
            for role, path in ((GOLD, gold), (PREDICTED, predicted)):
                settings[role] = f"{role}{get_file_extension(path)}"
                shutil.copyfile(check_file(path), draft / settings[role])
            numbers = {**numbers, GOLD: stamp}
            made = Manifest("predictions", folder.name, settings, numbers=numbers, seconds=seconds)
            made.save(draft)
    return [open_artifact(folder) for _, folder in files]


def _score_predictions(
    kind: TaskKind, split: Split, scorer: Scorer, predicted: Path
) -> tuple[Mapping[str, Any], float]:
    """Return the figures of predictions for the manifest, and the scoring time in seconds."""
    start = time.perf_counter()
    loaded = kind.read_predictions(predicted, split)
    score = scorer.score_tally(build_tally(split, loaded.predicted, scorer))
    return {
        "examples": len(split),
        scorer.headline: score.value,
        "notes": dict(loaded.notes),
    }, time.perf_counter() - start


def list_imported_predictions(workspace: Workspace) -> list[ImportedPredictions]:
    """List the imported predictions of a workspace, newest first; unreadable ones are skipped."""
    found = []
    for artifact in workspace.artifacts("predictions"):
        with suppress(InputError, KeyError, TypeError, ValueError):
            settings = artifact.manifest.settings
            numbers = artifact.manifest.numbers
            gold, predicted = (
                artifact.folder / Path(settings[name]).name for name in (GOLD, PREDICTED)
            )
            found.append(
                ImportedPredictions(
                    artifact,
                    find_kind(settings["kind"]),
                    gold,
                    predicted,
                    settings["scorer"],
                    gold_stamp=str(numbers[GOLD]),
                    examples=int(numbers["examples"]),
                )
            )
    return found
