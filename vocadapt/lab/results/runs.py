"""The runs of a workspace, and the data they were trained on.

An artifact holds the runs of one model on one task, one per seed (and fold). Its sources are the
training examples, and the text of its model's word vectors or adaptation.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.analysis.results.fair_pairs import FairPair, RunDescription, Side, choose_fair_pair
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import find_training_text, read_corpus
from vocadapt.lab.steps.finetune import (
    FinetuneStep,
    average_folds,
    find_collapsed_seeds,
    limit_task,
    load_task,
    measure_training_speed,
)
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import MANIFEST, Input
from vocadapt.lab.workspace.workspace import Artifact, Workspace, explain_change, open_artifact
from vocadapt.settings import build_settings
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.training.examples.examples import Example
from vocadapt.training.finetune.run_files import SavedRun, load_runs
from vocadapt.training.finetune.tokenizations import choose_main_tokenization
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.scoring.summary import SeedSummary, summarize_seeds
from vocadapt.training.tasks.kinds import TaskKind, find_kind

# What the record of a run must contain.
REQUIRED_KEYS = {"task", "kind", "seed", "settings", "outputs", "scorer", "rules"}
# Settings of the step that are no settings of the training, or are described apart from them.
NOT_COMPARED = ("finetune", "seeds", "tokenization", "weights", "save_minutes")
Identity = tuple[str, str]  # kind of a task, and checksum of its test file if given as a file


@dataclass(frozen=True, eq=False)
class RunSet:
    """The runs of one model on one task: one per seed, or per seed and fold of a k-fold task.

    `artifact` is None if there is no manifest. `label` is the task's unique name if several tasks
    share a name: see `disambiguate_tasks`.

    The `record` of a SavedRun has scores, dev scores, loss curve and findings, its `kept` the
    predictions.
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
        """The record of the first run; entries that do not depend on the seed are equal in all."""
        return self.runs[0].record

    @property
    def task(self) -> str:
        """Name of the task, with the number of the fold if only one was run."""
        return self.label or str(self.record["task"])

    @property
    def about(self) -> str:
        """Remark on the task by its author; "" if there is none."""
        return self.runs[0].about

    @property
    def kind(self) -> TaskKind:
        """Kind of the task."""
        return self.runs[0].kind

    @property
    def model(self) -> str:
        """Name of the fine-tuned model."""
        return str(self.record.get("model", self.name))

    @property
    def inputs(self) -> Mapping[str, Input]:
        """Inputs of the runs by role; empty without a manifest."""
        return self.artifact.manifest.inputs if self.artifact else {}

    @property
    def tokenization(self) -> str:
        """Tokenization of the training examples: base, adapted, mixed or both."""
        return str(self.record.get("trained_on", ""))

    @property
    def scorer(self) -> Scorer:
        """The scorer of the task."""
        return self.runs[0].scorer()

    @property
    def metric(self) -> str:
        """Name of the headline metric."""
        return self.scorer.headline

    @property
    def seeds(self) -> tuple[int, ...]:
        """The distinct seeds, in order."""
        return tuple(dict.fromkeys(run.seed for run in self.runs))

    def of_seed(self, seed: int) -> tuple[SavedRun, ...]:
        """Return the runs of a seed: one, or one per fold of a k-fold task, in order."""
        return tuple(run for run in self.runs if run.seed == seed)

    @property
    def folds(self) -> int:
        """Number of runs per seed: the number of folds, or 1 if there is no fold or only one ran."""
        return len(self.of_seed(self.seeds[0]))

    @property
    def scores(self) -> Mapping[str, Any]:
        """Scores of the first run by tokenization; empty if the test split has no labels."""
        scores: Mapping[str, Any] = self.record.get("scores", {})
        return scores

    @property
    def tokenizations(self) -> tuple[str, ...]:
        """Tokenizations of the scores: base, adapted and pooled, or one of these."""
        return tuple(self.scores)

    @property
    def main_tokenization(self) -> str:
        """The tokenization whose scores count; "" without scores."""
        return choose_main_tokenization(self.tokenizations)

    @property
    def collapsed(self) -> tuple[bool, ...]:
        """For each seed, whether its run, or that of a fold, collapsed to the majority baseline."""
        return find_collapsed_seeds(self.runs)

    def values(self, tokenization: str = "", figure: str = "") -> tuple[float, ...]:
        """Return a metric of every seed under a tokenization; default: the headline metric under
        the main tokenization.

        The value of a seed with several folds is the mean over them.
        """
        tokenization = tokenization or self.main_tokenization
        figure = figure or self.metric
        scores = [run.record["scores"][tokenization] for run in self.runs]
        return average_folds(self.runs, [float(score[figure]) for score in scores])

    def summary(self, tokenization: str = "", figure: str = "") -> SeedSummary:
        """Summarize a metric over seeds, with and without collapsed runs."""
        return summarize_seeds(self.values(tokenization, figure), self.collapsed)

    @property
    def description(self) -> RunDescription:
        """What a fair comparison needs to know of the runs."""
        # Settings that were added since the runs were made have their defaults.
        settings = asdict(FinetuneStep())
        given = settings.pop("finetune") | self.record["settings"]
        if self.artifact:
            settings |= self.artifact.manifest.settings
        settings = {
            name: value for name, value in (settings | given).items() if name not in NOT_COMPARED
        }
        # The examples, too, must be the same.
        settings |= {role: one.stamp for role, one in self.inputs.items() if role != "model"}
        stamp = self.inputs["model"].stamp if "model" in self.inputs else ""
        return RunDescription(
            self.name,
            self.task,
            stamp or self.model,
            self.tokenization,
            self.tokenizations,
            settings,
            self.seeds,
            self.collapsed,
        )

    @property
    def examples_per_second(self) -> float:
        """Training examples per second, over all seeds; 0 if not known."""
        return measure_training_speed(self.runs)


def open_runs(folder: Path) -> RunSet:
    """Open the runs in a folder that fine-tuning wrote.

    Raises InputError for any other folder, also for a model with a task head but without scores.
    """
    folder = Path(folder)
    artifact = None
    if (folder / MANIFEST).is_file():
        artifact = open_artifact(folder)
    runs = tuple(load_runs(folder))
    for run in runs:
        if not isinstance(run.record, dict) or REQUIRED_KEYS - set(run.record):
            raise InputError(
                f"{run.folder}: its record lacks entries that a run must have.",
                "Fine-tune again.",
                code="incomplete-run",
            )
        find_kind(str(run.record["kind"]))
    return RunSet(folder, runs, artifact)


def find_fair_pair(runs: Sequence[RunSet], compared: Side | None = None) -> FairPair | None:
    """Return the comparison that a page shows by default, None without a scored run: see
    `choose_fair_pair`.

    runs: of one or several tasks, newest first. compared: a chosen run and tokenization, for which
    a baseline is wanted.
    """
    return choose_fair_pair([one.description for one in runs if one.tokenizations], compared)


def find_remark(runs: Sequence[RunSet]) -> str:
    """Return the remark on the task of some runs by its author; "" if none has one."""
    return next((one.about for one in runs if one.about), "")


OpenRuns = Callable[[Artifact], RunSet]


def open_artifact_runs(artifact: Artifact) -> RunSet:
    """Open the runs of an artifact."""
    return open_runs(artifact.folder)


def list_runs(
    workspace: Workspace, task: str = "", opening: OpenRuns = open_artifact_runs
) -> list[RunSet]:
    """List the runs of a workspace, of one task or all, newest first; unreadable ones are skipped.

    `opening` opens the runs of an artifact; a page passes a cached function.
    """
    found, _ = list_runs_and_errors(workspace, opening)
    return [one for one in found if not task or one.task == task]


def list_runs_and_errors(
    workspace: Workspace, opening: OpenRuns = open_artifact_runs
) -> tuple[list[RunSet], dict[str, str]]:
    """Return all runs of a workspace, newest first, and the unreadable ones: name → reason."""
    found = []
    hidden = workspace.list_hidden("runs")
    unreadable = {name.partition("/")[2]: why for name, why in hidden.items()}
    for artifact in workspace.artifacts("runs"):
        try:
            found.append(opening(artifact))
        except InputError as error:
            unreadable[artifact.name] = error.problem
        except OSError as error:
            unreadable[artifact.name] = str(error)
    return disambiguate_tasks(found), unreadable


def describe_unreadable(runs: Mapping[str, str], of: int) -> str:
    """Describe how many of the runs cannot be read, with names and reasons; "" if none."""
    if not runs:
        return ""
    reasons = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in runs.items())
    return f"{len(runs)} of {of} runs cannot be read: {reasons}."


def disambiguate_tasks(runs: Sequence[RunSet]) -> list[RunSet]:
    """Return the runs with a unique label for each task that shares its name with another.

    Tasks given as files are named after their folder, which may contain several tasks. The label is
    the shortest unique one of: name and kind ("data · ner"); these and the test file; these and the
    labels; these and a checksum.
    """
    # 1. Collect task name → tasks of this name → their labels, from short to long.
    tasks: dict[str, dict[Identity, list[str]]] = {}
    for one in runs:
        same_name = tasks.setdefault(str(one.record["task"]), {})
        same_name.setdefault(_identify(one), _list_labels(one))

    # 2. Label the run sets of each task with a shared name.
    labeled = []
    for one in runs:
        label = _choose_label(_identify(one), tasks[str(one.record["task"])])
        labeled.append(replace(one, label=label or one.label))
    return labeled


def _identify(one: RunSet) -> Identity:
    """Return what distinguishes tasks of the same name: the kind and, for tasks given as files, the
    checksum of the test file.
    """
    if "task" in one.inputs or "test" not in one.inputs:
        return one.kind.name, ""
    return one.kind.name, one.inputs["test"].stamp


def _choose_label(task: Identity, same_name: Mapping[Identity, Sequence[str]]) -> str:
    """Return the shortest label that no other task of its name has; "" if its name is unique."""
    own = same_name[task]
    others = [labels for other, labels in same_name.items() if other != task]
    if not others:
        return ""
    levels: Iterator[Sequence[str]] = zip(own, *others, strict=True)
    return next((label for label, *of_others in levels if label not in of_others), own[-1])


def _list_labels(one: RunSet) -> list[str]:
    """Return candidate labels for the task of a run set, from short to long; each adds one of:
    kind, test file, labels, checksum of the test file.
    """
    file = Path(one.inputs["test"].paths[0]).name if "test" in one.inputs else ""
    types = {name.split("-", 1)[-1] for name in one.record["outputs"] if name != "O"}
    listed = ", ".join(sorted(types)[:4])
    parts = [str(one.record["task"]), one.kind.name, file, listed, _identify(one)[1][:6]]
    return [" · ".join(filter(None, parts[:number])) for number in range(2, len(parts) + 1)]


def list_names_by_age(runs: Sequence[RunSet]) -> list[str]:
    """Return the names of a task's runs, the oldest first: figures assign colors in this order, so
    that a new run changes the color of no other.
    """
    return [one.name for one in reversed(runs)]


def list_tasks(runs: Sequence[RunSet]) -> list[str]:
    """Return the task names of runs, newest first."""
    return list(dict.fromkeys(one.task for one in runs))


def load_training_examples(run: SavedRun) -> tuple[Example, ...] | None:
    """Load the examples that a run was trained on; None if unknown, or if the files have changed.

    Each run of a k-fold task has its own fold.
    """
    artifact = _find_artifact(run.folder)
    if artifact is None:
        return None
    root, inputs = artifact.folder.parent.parent, artifact.manifest.inputs
    try:
        # 1. Check that the files are unchanged; the model does not affect the examples.
        for role, given in inputs.items():
            if role != "model" and explain_change(given, Workspace(root)):
                return None

        # 2. Rebuild the spec of the run, with its own fold. The test file is left out: it is not
        #    needed, and reading a large one takes seconds.
        settings = build_settings(FinetuneStep, artifact.manifest.settings, str(run.folder))
        settings = replace(settings, fold=run.record.get("fold") or settings.fold)
        paths = {
            role: (str(root / given.paths[0]),) for role, given in inputs.items() if role != "test"
        }

        # 3. Load the task as the step does.
        task, _ = limit_task(load_task(Spec(settings, paths), settings), settings.limit)
        examples = tuple(task.splits["train"].examples)
        # Another version may have drawn another sample.
        counted = run.record.get("trained_labels")
        if counted is not None and counted != task.kind.count_labels(examples):
            return None
        if settings.finetune.with_dev and "dev" in task.splits:
            examples += tuple(task.splits["dev"].examples)
        return examples
    except (InputError, OSError, KeyError):
        return None


def find_trained_model(folder: Path) -> Path | None:
    """Return the folder of the model that a run was trained from; None if it is not there."""
    path = _find_model_folder(folder)
    return path if path and os.path.isfile(path / "tokenizer.json") else None


def _find_model_folder(folder: Path) -> Path | None:
    """Return the folder that the model of a run had; None if it is unknown."""
    artifact = _find_artifact(folder)
    if artifact is None or "model" not in artifact.manifest.inputs:
        return None
    return artifact.folder.parent.parent / artifact.manifest.inputs["model"].paths[0]


def find_corpus(folder: Path) -> Corpus | None:
    """Return the text that a run's model was adapted to; None if unknown, or if it has changed."""
    # 1. Find the artifact of the run's model.
    path = _find_model_folder(folder)
    model = _find_artifact(path.resolve()) if path else None
    if model is None:
        return None

    # 2. Return the text that its word vectors were trained on, or that it was adapted with.
    workspace = Workspace(model.folder.parent.parent)
    inputs = model.manifest.inputs
    try:
        if "vectors" in inputs:
            return find_training_text(workspace.root / inputs["vectors"].paths[0])
        if "text" not in inputs or explain_change(inputs["text"], workspace):
            return None
        paths = [workspace.root / path for path in inputs["text"].paths]
        return read_corpus(
            paths,
            build_settings(CorpusSettings, model.manifest.settings["corpus"], str(model.folder)),
        )
    except (InputError, OSError, KeyError):
        return None


def _find_artifact(folder: Path) -> Artifact | None:
    """Return the artifact in a folder, or in its parent (of one seed); None if there is none."""
    for place in (folder, folder.parent):
        if os.path.isfile(place / MANIFEST):
            with suppress(InputError):
                return open_artifact(place)
            return None
    return None
