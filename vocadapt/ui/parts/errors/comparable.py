"""Sides of an error analysis: runs with a tokenization, and imported predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import streamlit as st

from vocadapt.analysis.results.fair_pairs import Side, list_differences, list_other_settings
from vocadapt.lab.inputs.tasks import (
    ImportedPredictions,
    import_prediction_files,
    list_imported_predictions,
)
from vocadapt.lab.reports.ledgers import PairSpec, RunPair
from vocadapt.lab.results.runs import RunSet, find_fair_pair, find_trained_model
from vocadapt.lab.workspace.workspace import Workspace
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
FILES = {  # role of an imported file -> label of its field
    "gold file": "**gold file**",
    "predictions": "**predictions**",
    "other predictions": "**other predictions** :small[:gray[optional]]",
}
HELP = (
    "Selects a run: one model fine-tuned on a task with one seed. Pooled: both tokenizations"
    " combined. Predictions of other programs can be imported below."
)


@dataclass(frozen=True, eq=False)
class Comparable:
    """One side of a comparison: a run under a tokenization, or imported predictions.

    name: its name in the address. label: its display name. task: name of the task; for imported
    predictions an id of their gold file. path: path of the run or file. stamp: cache key that
    changes with it. examples: number of examples with predictions.
    """

    name: str
    label: str
    kind: TaskKind
    task: str
    path: Path
    stamp: str
    examples: int
    run: ChosenRun | None = None
    imported: ImportedPredictions | None = None

    def fits(self, first: "Comparable") -> bool:
        """Return whether this side may have predictions for the same examples as another one.

        Two runs need the same task, two imported files the same gold file. A run and a file need
        the same task kind and number of examples; `open_pair` compares the examples themselves.
        """
        if bool(self.run) == bool(first.run):
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
    baseline, compared = _find_default_pair(offered)
    with places[0]:
        first = _pick(offered, baseline, "Baseline", FIRST, labels)
    if first is None:
        return None
    runs = _list_run_sets(offered)
    if first.name != baseline:
        compared = _find_fairest(runs, first.run)
    # Runs with other settings come last, and say so.
    others = set[str]()
    if first.run is not None:
        descriptions = [one.description for one in runs]
        sets = list_other_settings(descriptions, [first.run.run_set.name])
        others = {one.name for one in offered if one.run and one.run.run_set.name in sets}
    fitting = sorted(
        (one for one in offered if one.fits(first)), key=lambda one: one.name in others
    )
    labels |= {name: f"{labels[name]} · other settings" for name in others}
    with places[1]:
        second = _pick(fitting, compared, "Compared run", SECOND, labels)
    if second is None or second.name == first.name:
        return None
    return first, second


def _pick(
    offered: Sequence[Comparable], default: str, label: str, key: str, labels: Mapping[str, str]
) -> Comparable | None:
    """Show the picker of one side; default: name of the side that is selected at first."""
    by_name = {one.name: one for one in offered}
    return pickers.pick_named(label, key, by_name, default, help=HELP, labels=labels)


def describe_differences(first: Comparable, second: Comparable) -> str:
    """Describe in what two runs differ if that is more than one thing; "" otherwise."""
    if first.run is None or second.run is None:
        return ""
    differences = list_differences(first.run.run_set.description, second.run.run_set.description)
    if len(differences) < 2:
        return ""
    names = [pickers.label_difference(name) for name in differences]
    return (
        f"These runs differ in {count(len(names))} things: {', '.join(names)}. A difference of"
        " their scores may come from any of them."
    )


def choose_task(offered: Sequence[Comparable]) -> list[Comparable]:
    """Draw the picker of a task if there are several; return the runs of the selected task."""
    names = [EVERY, *dict.fromkeys(one.task for one in offered if one.run)]
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
    gold = kind = scorer = ""
    imported = first.imported or second.imported
    if imported:
        gold = str(imported.gold)
    if first.imported and second.imported:  # a run has its own task kind and scorer
        kind, scorer = first.kind.name, first.imported.scorer
    tokenizations = [one.run.tokenization if one.run else "" for one in (first, second)]
    spec = PairSpec(
        str(first.path),
        str(second.path),
        (tokenizations[0], tokenizations[1]),
        gold,
        kind,
        scorer,
    )
    return cache.run_pair(spec, (first.stamp, second.stamp))


@st.fragment
@mistakes.show_errors()
def draw_import_form(workspace: Workspace) -> None:
    """Draw the form that imports one or two files of predictions, and compares them."""
    left, right = st.columns(2)
    # 1. Task kind and score.
    kind = pickers.pick_task_kind("brought_kind", left)
    own = kind.default_scorer
    scorers = [own, *(one.name for one in kind.scorers() if one.name != own)]
    scorer = right.selectbox("Score", scorers, key=f"brought_score_{kind}")
    draw_note(
        f"Gold file: {plain(kind.file_format)}. Predictions: {plain(kind.prediction_format)}."
    )
    # 2. The files.
    given = intake.choose_file_per_role(workspace, "brought", FILES)
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
    """Rerun the page with the imported predictions selected; a single one beside a run."""
    selected = [_label(name) for name in names]
    if len(selected) == 1:
        # List them again: the predictions have just been imported.
        offered = {one.name: one for one in list_comparable(workspace)}
        own = offered[selected[0]]
        # The newest run is the first. Without a run, the second picker remains empty.
        runs = [one.name for one in offered.values() if one.run and one.fits(own)]
        selected = [*runs[:1], *selected, ""]
    address.show_next(FIRST, selected[0])
    address.show_next(SECOND, selected[1])
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
        label,
        one.run_set.kind,
        one.run_set.task,
        one.run.folder,
        stamp,
        one.run.test_examples,
        run=one,
    )


def _from_import(one: ImportedPredictions) -> Comparable:
    return Comparable(
        _label(one.name),
        _label(one.name),
        one.kind,
        f"gold {one.gold_stamp}",
        one.predicted,
        one.artifact.stamp,
        one.examples,
        imported=one,
    )


def _find_default_pair(offered: Sequence[Comparable]) -> tuple[str, str]:
    """Return the names of the sides that are compared by default: the fair pair of the runs, or
    else the newest imported predictions that can be compared with something.
    """
    runs = _list_run_sets(offered)
    pair = find_fair_pair(runs)
    if pair and pair.baseline:
        baseline = _name_side(runs, pair.baseline, pair.seeds)
        return baseline, _name_side(runs, pair.compared, pair.seeds)
    for newer, older in combinations(offered, 2):
        if older.fits(newer):
            return older.name, newer.name
    return "", ""


def _find_fairest(runs: Sequence[RunSet], chosen: ChosenRun | None) -> str:
    """Return the name of the fairest baseline of a run, if possible of the same seed, or ""."""
    if chosen is None:
        return ""
    pair = find_fair_pair(runs, (chosen.run_set.name, chosen.tokenization))
    if pair is None or pair.baseline is None:
        return ""
    same_seed = _name_side(runs, pair.baseline, (chosen.run.seed,))
    return same_seed or _name_side(runs, pair.baseline, pair.seeds)


def _name_side(runs: Sequence[RunSet], side: Side | None, seeds: Sequence[int]) -> str:
    """Return the name of a side with the first of some seeds; "" without such a run."""
    found = pickers.find_run_of_side(runs, side, seeds)
    return found.name if found else ""


def _list_run_sets(offered: Sequence[Comparable]) -> list[RunSet]:
    found = {one.run.run_set.name: one.run.run_set for one in offered if one.run}
    return list(found.values())


def find_baseline_name(workspace: Workspace, compared: ChosenRun, wanted: Side | None) -> str:
    """Return the name of the baseline to compare a run with, "" if there is none.

    wanted: the run and tokenization that is preferred.
    """
    runs = [one for one in cache.load_runs(workspace) if one.task == compared.run_set.task]
    preferred = _name_side(runs, wanted, (compared.run.seed,))
    if preferred and preferred != compared.name:
        return preferred
    return _find_fairest(runs, compared)
