"""Sides of an error analysis: runs with a tokenization, and imported predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vocadapt.analysis.results.fair_pairs import Side, list_differences
from vocadapt.lab.inputs.tasks import (
    ImportedPredictions,
    import_prediction_files,
    list_imported_predictions,
)
from vocadapt.lab.reports.ledgers import PairSpec, RunPair
from vocadapt.lab.results.runs import RunSet, find_fair_pair, find_trained_model
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.pickers import ChosenRun
from vocadapt.ui.state import address, cache
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

# Keys of the pickers, and query parameters:
FIRST, SECOND = "errors_baseline", "errors_compared"
TASK, EVERY = "errors_task", "all tasks"
TASK_WIDTH = 340  # pixels
HELP = (
    "Selects a run: one model fine-tuned on a task with one seed. Pooled: both tokenizations"
    " combined. Predictions of other programs can be imported below."
)


@dataclass(frozen=True, eq=False)
class Comparable:
    """One side of a comparison: a run under a tokenization, or imported predictions.

    name: its name in the address. label: its display name. artifact_name: name of its artifact.
    task: name of the task; for imported predictions an id of their gold file.
    path: path of the run or file. stamp: cache key that changes with it.
    run, run_set: None for imported predictions, for which `gold` (path of the gold file), `scorer`
    and `imported` (number of examples) are given instead.
    """

    name: str
    artifact_name: str
    kind: TaskKind
    task: str
    path: Path
    stamp: str
    tokenization: str = ""
    gold: str = ""
    scorer: str = ""
    run: SavedRun | None = None
    run_set: RunSet | None = None
    imported: int = 0
    label: str = ""

    @property
    def examples(self) -> int:
        """Number of examples with predictions."""
        return self.run.test_examples if self.run else self.imported

    def fits(self, first: "Comparable") -> bool:
        """Return whether this side may have predictions for the same examples as another one.

        Two runs need the same task, two imported files the same gold file. A run and a file need
        the same task kind and number of examples; `open_pair` compares the examples themselves.
        """
        if bool(self.gold) == bool(first.gold):
            return self.kind == first.kind and self.task == first.task
        return self.kind == first.kind and self.examples == first.examples


def list_comparable(workspace: Workspace) -> list[Comparable]:
    """Return all runs of a workspace, then all imported predictions, the newest of each first."""
    runs = {one.name: one for one in pickers.list_runs_to_pick(workspace, by_tokenization=True)}
    labels = pickers.label_runs(workspace, runs)
    found = [_from_run(one, labels[name]) for name, one in runs.items()]
    return [*found, *map(_from_import, list_imported_predictions(workspace))]


def pick_two(
    offered: Sequence[Comparable], places: Sequence[st.delta_generator.DeltaGenerator]
) -> tuple[Comparable, Comparable] | None:
    """Show the pickers of both sides; return None if they are the same, or if there is only one."""
    labels = {one.name: one.label for one in offered}
    baseline, _ = _find_default_pair(offered)
    with places[0]:
        first = _pick(offered, baseline, "Baseline", FIRST, labels)
    if first is None:
        return None
    # Runs with other settings come last, and say so.
    others = _list_other_settings(offered, first)
    fitting = sorted(
        (one for one in offered if one.fits(first)), key=lambda one: one.name in others
    )
    labels |= {name: f"{labels[name]} · other settings" for name in others}
    with places[1]:
        compared = _find_counterpart(offered, first)
        second = _pick(fitting, compared, "Compared run", SECOND, labels)
    if second is None or second.name == first.name:
        return None
    return first, second


def _pick(
    offered: Sequence[Comparable],
    default: str,
    label: str,
    key: str,
    labels: Mapping[str, str],
) -> Comparable | None:
    """Show the picker of one side; default: name of the side that is selected at first."""
    by_name = {one.name: one for one in offered}
    return pickers.pick_named(label, key, by_name, default, help=HELP, labels=labels)


def describe_differences(first: Comparable, second: Comparable) -> str:
    """Describe in what two runs differ if that is more than one thing; "" otherwise."""
    if first.run_set is None or second.run_set is None:
        return ""
    differences = list_differences(first.run_set.description, second.run_set.description)
    if len(differences) < 2:
        return ""
    names = [pickers.label_difference(name) for name in differences]
    return (
        f"These runs differ in {count(len(names))} things: {', '.join(names)}. A difference of"
        " their scores may come from any of them."
    )


def choose_task(offered: Sequence[Comparable]) -> list[Comparable]:
    """Draw the picker of a task if there are several; return the runs of the selected task."""
    names = [EVERY, *dict.fromkeys(one.task for one in offered if not one.gold)]
    # With fewer than three names there is only one task to choose, besides EVERY.
    if len(names) < 3:
        return list(offered)
    with st.container(width=TASK_WIDTH):
        task = pickers.pick_name(
            "Task", names, TASK, EVERY, help="Limits the runs below to this task."
        )
    return [one for one in offered if task in (EVERY, one.task)]


def open_pair(first: Comparable, second: Comparable) -> RunPair:
    """Read both predictions and compare them with the gold labels."""
    kind, scorer = "", ""
    if first.gold and second.gold:  # a run has its own task kind and scorer
        kind, scorer = first.kind.name, first.scorer
    spec = PairSpec(
        str(first.path),
        str(second.path),
        (first.tokenization, second.tokenization),
        first.gold or second.gold,
        kind,
        scorer,
    )
    return cache.run_pair(spec, (first.stamp, second.stamp))


@st.fragment
@mistakes.show_errors()
def draw_import_form(workspace: Workspace) -> None:
    """Draw the form that imports one or two files of predictions with their gold file, and compares
    them; a setting reruns only this fragment.
    """
    left, right = st.columns(2)
    # 1. Task kind and score.
    kind = pickers.pick_task_kind("brought_kind", left)
    own = kind.default_scorer
    scorers = [own, *(one.name for one in kind.scorers() if one.name != own)]
    scorer = right.selectbox("Score", scorers, key=f"brought_score_{kind}")
    draw_note(
        f"Gold file: {plain(kind.file_format)}. Predictions: {plain(kind.prediction_format)}."
    )
    labels = {
        "gold file": "**gold file**",
        "predictions": "**predictions**",
        "other predictions": "**other predictions** :small[:gray[optional]]",
    }
    # 2. The files.
    given = intake.choose_file_per_role(workspace, "brought", labels)
    # 3. A name for each file of predictions.
    files = [given[role] for role in ("predictions", "other predictions") if role in given]
    names: list[str] = []
    for place, file in enumerate(files):  # one by one: each name must differ from the previous ones
        suggested_name = intake.suggest_name([file])
        key = f"brought_name_{place}"
        names.append(pickers.draw_name_input(workspace, "predictions", suggested_name, key, names))
    if st.button(
        "Import and compare",
        type="primary",
        icon=":material/add:",
        disabled="gold file" not in given or not files,
        key="take_predictions",
    ):
        # 4. The import. The uploads are deleted afterwards.
        wanted = "" if scorer == own else str(scorer)
        places = [workspace.folder("predictions", name) for name in names]
        targets = list(zip(files, places, strict=True))
        import_prediction_files(kind, given["gold file"], targets, wanted)
        intake.clear_files(workspace, "brought", given)
        _compare_next(workspace, names)


def _compare_next(workspace: Workspace, names: Sequence[str]) -> None:
    """Rerun the page with imported predictions selected: two of them, or one and the newest run
    that may have the same examples.
    """
    # List them again: the predictions have just been imported.
    offered = {one.name: one for one in list_comparable(workspace)}
    selected = [_label(name) for name in names]
    if len(selected) == 1:
        own = offered[selected[0]]
        # The newest run is the first. Without a run, the second picker remains empty.
        runs = [one.name for one in offered.values() if not one.gold and one.fits(own)]
        selected = [*runs[:1], *selected, ""]
    first, second = selected[:2]
    address.show_next(FIRST, first)
    address.show_next(SECOND, second)
    st.rerun()


def _label(name: str) -> str:
    """Return the name of imported predictions in pickers and in the address."""
    return f"predictions · {name}"


def _from_run(one: ChosenRun, label: str) -> Comparable:
    stamp = one.run_set.artifact.stamp if one.run_set.artifact else ""
    # A run without a tokenizer is shown with that of its model, which may be made later.
    if not one.run.has_weights:
        stamp += str(find_trained_model(one.run.folder))
    return Comparable(
        one.name,
        one.run_set.name,
        one.run_set.kind,
        one.run_set.task,
        one.run.folder,
        stamp,
        one.tokenization,
        run=one.run,
        run_set=one.run_set,
        label=label,
    )


def _from_import(one: ImportedPredictions) -> Comparable:
    return Comparable(
        _label(one.name),
        _label(one.name),
        one.kind,
        f"gold {one.gold_stamp}",
        one.predicted,
        one.artifact.stamp,
        gold=str(one.gold),
        scorer=one.scorer,
        imported=one.examples,
        label=_label(one.name),
    )


def _find_default_pair(offered: Sequence[Comparable]) -> tuple[str, str]:
    """Return the names of the sides that are compared by default: the fair pair of the runs, or
    else the newest imported predictions that can be compared with something.
    """
    runs = _list_run_sets(offered)
    pair = find_fair_pair(runs)
    if pair and pair.baseline:
        return (
            _name_side(runs, pair.baseline, pair.seeds),
            _name_side(runs, pair.compared, pair.seeds),
        )
    for place, one in enumerate(offered):
        other = next((other for other in offered[place + 1 :] if other.fits(one)), None)
        if other is not None:
            return other.name, one.name
    return "", ""


def _list_other_settings(offered: Sequence[Comparable], first: Comparable) -> set[str]:
    """Return the names of the runs that were trained with other settings than a run."""
    if first.run_set is None:
        return set()
    settings = first.run_set.description.settings
    return {
        one.name
        for one in offered
        if one.run_set is not None and one.run_set.description.settings != settings
    }


def _find_counterpart(offered: Sequence[Comparable], first: Comparable) -> str:
    """Return the name of the side that a baseline is compared with by default."""
    default = _find_default_pair(offered)
    if first.name == default[0]:
        return default[1]
    if first.run_set is None or first.run is None:
        return ""
    return _find_fairest(_list_run_sets(offered), first.run_set, first.run, first.tokenization)


def _find_fairest(runs: Sequence[RunSet], run_set: RunSet, run: SavedRun, tokenization: str) -> str:
    """Return the name of the side that is most fairly compared with a run, with the same seed if it
    has that; "" if there is none.
    """
    pair = find_fair_pair(runs, (run_set.name, tokenization))
    if pair is None or pair.baseline is None:
        return ""
    return _name_side(runs, pair.baseline, (run.seed,)) or _name_side(
        runs, pair.baseline, pair.seeds
    )


def _name_side(runs: Sequence[RunSet], side: Side, seeds: Sequence[int]) -> str:
    """Return the name of a side with the first of some seeds in the pickers; "" without such a run."""
    found = pickers.find_run_of_side(runs, side, seeds)
    return found.name if found else ""


def _list_run_sets(offered: Sequence[Comparable]) -> list[RunSet]:
    """Return the sets of runs that are offered, each once, newest first."""
    found = {one.run_set.name: one.run_set for one in offered if one.run_set}
    return list(found.values())


def find_baseline_name(workspace: Workspace, compared: ChosenRun, wanted: Side | None) -> str:
    """Return the name of the baseline to compare a run with, "" if there is none.

    wanted: the run and tokenization that is preferred.
    """
    runs = [one for one in cache.load_runs(workspace) if one.task == compared.run_set.task]
    preferred = _name_side(runs, wanted, (compared.run.seed,)) if wanted else ""
    if preferred and preferred != compared.name:
        return preferred
    return _find_fairest(runs, compared.run_set, compared.run, compared.tokenization)
