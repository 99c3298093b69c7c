"""The runs of a workspace as values: what finetune wrote, each artifact with the run of every seed
in it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact
from vocadapt.models.language_model import UNTELLING, name_of
from vocadapt.training.finetune.mixture import choose_main_tokenization
from vocadapt.training.finetune.run_files import SavedRun, runs_in
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.scoring.summary import SeedSummary, summarize_seeds

REQUIRED_KEYS = {
    "task",
    "kind",
    "seed",
    "settings",
    "outputs",
    "scorer",
    "rules",
}  # what a record must hold to be one
Identity = tuple[str, str]  # kind of a task, and of loose files the content of the test file


@dataclass(frozen=True, eq=False)
class RunSet:
    """The runs of one model on one task, one for each seed, or of a k-fold task each seed and fold.

    `artifact` is None if there is no manifest. `label` is the task's unique name if several tasks
    share a name: see `disambiguate_tasks`.

    A run of it is a SavedRun: its `record` holds scores, dev scores, loss curve and findings, its
    `kept` what it predicted.
    """

    folder: Path
    runs: tuple[SavedRun, ...]
    artifact: Artifact | None = None
    label: str = ""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def record(self) -> Mapping[str, Any]:
        """The record of the first run: all of them share what does not depend on the seed."""
        return self.runs[0].record

    @property
    def task(self) -> str:
        """The name of the task; of one fold of a k-fold task with its number."""
        return self.label or str(self.record["task"])

    @property
    def kind(self) -> str:
        """The kind of the task."""
        return self.runs[0].kind

    @property
    def model(self) -> str:
        """The name of the model that was fine-tuned; of an older record that holds a name that
        tells nothing, by its folder.
        """
        name = str(self.record.get("model", self.name))
        given = self.artifact.manifest.inputs.get("model") if self.artifact else None
        return name_of(Path(given.paths[0])) if name in UNTELLING and given else name

    @property
    def tokenization(self) -> str:
        """How the training examples were cut: base, adapted, mixed or both."""
        return str(self.record.get("tokenization", ""))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the training."""
        settings: Mapping[str, Any] = self.record["settings"]
        return settings

    @property
    def scorer(self) -> Scorer:
        """The score it is judged by."""
        return self.runs[0].scorer()

    @property
    def metric(self) -> str:
        """The name of the headline figure."""
        return self.scorer.headline

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, each once."""
        return tuple(dict.fromkeys(run.seed for run in self.runs))

    def of_seed(self, seed: int) -> tuple[SavedRun, ...]:
        """The run of a seed; of a k-fold task that of each fold, in their order."""
        return tuple(run for run in self.runs if run.seed == seed)

    @property
    def folds(self) -> int:
        """How many folds each seed was run on; 1 where there are none, or one of them was."""
        return len(self.of_seed(self.seeds[0]))

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores of the first run by cut; none where the test split held no labels."""
        scores: Mapping[str, Any] = self.record.get("scores", {})
        return scores

    @property
    def cuts(self) -> tuple[str, ...]:
        """The cuts it is scored under: base, adapted and pooled, or one of the first two."""
        return tuple(self.scores)

    @property
    def cut(self) -> str:
        """The cut that counts; "" without scores."""
        return choose_main_tokenization(self.cuts)

    @property
    def collapsed(self) -> tuple[bool, ...]:
        """Of every seed, whether its run (of several folds: one of them) never left the majority
        baseline.
        """
        return tuple(
            any(run.record.get("collapsed") for run in self.of_seed(seed)) for seed in self.seeds
        )

    def values(self, cut: str = "", figure: str = "") -> tuple[float, ...]:
        """A figure of every seed under a cut, by default the headline under the cut that counts; of
        folds their mean.
        """
        cut, figure = cut or self.cut, figure or self.metric
        by_seed = (
            [float(run.record["scores"][cut][figure]) for run in self.of_seed(seed)]
            for seed in self.seeds
        )
        return tuple(sum(own) / len(own) for own in by_seed)

    def summary(self, cut: str = "", figure: str = "") -> SeedSummary:
        """The same over the seeds: mean, standard deviation, and both without the collapsed
        runs.
        """
        return summarize_seeds(self.values(cut, figure), self.collapsed)

    @property
    def examples_per_second(self) -> float:
        """How many training examples were read a second, over all seeds; 0 where that is not
        known.
        """
        read, seconds = (
            sum(run.record.get(name, 0) for run in self.runs) for name in ("examples", "seconds")
        )
        return read / seconds if seconds else 0.0


def open_runs(folder: Path) -> RunSet:
    """The runs of a folder that finetune wrote, of one seed or several; a bare model with a task's
    head has no scores.

    Raises InputError for any other folder.
    """
    folder = Path(folder)
    made = open_artifact(folder) if (folder / MANIFEST).is_file() else None
    runs = tuple(runs_in(folder))
    for run in runs:
        if not isinstance(run.record, dict) or REQUIRED_KEYS - set(run.record):
            raise InputError(f"{run.folder}: its record is not one of a run.", "Fine-tune again.")
    return RunSet(folder, runs, made)


OpenRuns = Callable[[Artifact], RunSet]


def open_artifact_runs(artifact: Artifact) -> RunSet:
    """The runs of an artifact."""
    return open_runs(artifact.folder)


def list_runs(
    workspace: Workspace, task: str = "", opening: OpenRuns = open_artifact_runs
) -> list[RunSet]:
    """All runs of a workspace, of one task or of all, newest first; what cannot be read is passed
    over.

    `opening` opens one: a page keeps what was opened before.
    """
    found, _ = list_runs_and_errors(workspace, opening)
    return [one for one in disambiguate_tasks(found) if not task or one.task == task]


def list_runs_and_errors(
    workspace: Workspace, opening: OpenRuns = open_artifact_runs
) -> tuple[list[RunSet], dict[str, str]]:
    """All runs of a workspace, newest first, and the name of each that cannot be read, with why;
    each is opened once.
    """
    found = list(_open_each(workspace, opening))
    broken = {artifact.name: one for artifact, one in found if isinstance(one, str)}
    return disambiguate_tasks([one for _, one in found if isinstance(one, RunSet)]), broken


def describe_unreadable(runs: Mapping[str, str], of: int) -> str:
    """What to say of unreadable runs among so many, each named with why; "" of none."""
    count = (
        f"{len(runs)} of {of} run{'s' * (of > 1)} cannot be read and"
        f" {'is' if len(runs) == 1 else 'are'}"
    )
    told = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in runs.items())
    return f"{count} passed over: {told}." if runs else ""


def _open_each(workspace: Workspace, opening: OpenRuns) -> Iterator[tuple[Artifact, RunSet | str]]:
    """Every artifact of runs, newest first, with its runs, or with why they cannot be read."""
    for artifact in workspace.artifacts("runs"):
        try:
            yield artifact, opening(artifact)
        except InputError as error:
            yield artifact, error.problem
        except OSError as error:
            yield artifact, str(error)


def disambiguate_tasks(runs: Sequence[RunSet]) -> list[RunSet]:
    """Return the runs with a unique label for each task that shares its name with another.

    Tasks given as files are named after their folder, which may hold several. The label is the
    shortest unique one of: name and kind ("data · ner"), then also the test file, then also the
    labels.
    """
    tasks: dict[str, dict[Identity, list[str]]] = {}
    for one in runs:
        tasks.setdefault(str(one.record["task"]), {}).setdefault(_identity(one), _describe(one))
    return [
        replace(one, label=_label(_identity(one), tasks[str(one.record["task"])]) or one.label)
        for one in runs
    ]


def _identity(one: RunSet) -> Identity:
    """Return what distinguishes tasks of the same name: the kind and, if given as files, the test
    file's checksum.
    """
    inputs = one.artifact.manifest.inputs if one.artifact else {}
    test = None if "task" in inputs else inputs.get("test")
    return one.kind, test.stamp if test else ""


def _label(task: Identity, same_name: Mapping[Identity, Sequence[str]]) -> str:
    """Return the shortest label of a task that no other task of its name has; "" if there is no
    other.
    """
    own = same_name[task]
    others = [labels for other, labels in same_name.items() if other != task]
    if not others:
        return ""
    unique = (
        label
        for level, label in enumerate(own)
        if label not in {labels[level] for labels in others}
    )
    return next(unique, own[-1])


def _describe(one: RunSet) -> list[str]:
    """Return labels for a run's task, from short to long: kind, test file, labels, checksum of the
    test file.
    """
    inputs = one.artifact.manifest.inputs if one.artifact else {}
    file = Path(inputs["test"].paths[0]).name if "test" in inputs else ""
    types = ", ".join(
        sorted({name.split("-", 1)[-1] for name in one.record["outputs"] if name != "O"})[:4]
    )
    parts = [str(one.record["task"]), one.kind, file, types, _identity(one)[1][:6]]
    return [" · ".join(filter(None, parts[:number])) for number in range(2, len(parts) + 1)]


def list_tasks(runs: Sequence[RunSet]) -> list[str]:
    """The names of the tasks that runs are of, the newest first."""
    return list(dict.fromkeys(one.task for one in runs))
