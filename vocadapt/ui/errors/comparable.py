"""Sides of an error analysis: runs with a tokenization, and imported predictions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from vocadapt.lab.artifacts.imported_predictions import (
    ImportedPredictions,
    import_prediction_files,
    list_imported_predictions,
)
from vocadapt.lab.reports.ledgers import PairSpec, RunPair
from vocadapt.lab.workspace.uploads import is_upload
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.finetune.encoding import BASE
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.kinds import TASK_KINDS, TaskKind
from vocadapt.ui.components import intake, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.pickers import ChosenRun
from vocadapt.ui.frame import address, run_cache

FIRST, SECOND = (
    "errors_baseline",
    "errors_compared",
)  # the pickers' keys, and their names in the address
TASK, EVERY = "errors_task", "all tasks"
USUAL = "default"
HELP = (
    "Selects a run: one model fine-tuned on a task with one seed. Pooled: both tokenizations"
    " combined. Predictions of other programs can be imported below."
)
FORMS = (
    "The gold file has the format of the task files. Predictions: for entities the same words"
    " with predicted tags; otherwise JSON lines with id and label, or answers by question id."
    " `vocadapt score --help` lists all formats."
)


@dataclass(frozen=True, eq=False)
class Comparable:
    """One of two sides: its name in pickers and in the address, its kind and task, what it is read
    from, what changes with it.

    `tokenization` is "" and `gold` and `scorer` are set for predictions that were brought in; `task` is then
    what tells their gold file. `of` is the artifact that it is of: one seed of it, under one cut;
    `run` that seed, None of predictions that were brought in, whose number of examples is `told`.
    """

    name: str
    of: str
    kind: TaskKind
    task: str
    path: Path
    stamp: str
    tokenization: str = ""
    gold: str = ""
    scorer: str = ""
    run: SavedRun | None = None
    told: int = 0

    @property
    def examples(self) -> int:
        """How many examples it has predictions for."""
        return self.run.test_examples if self.run else self.told

    def fits(self, first: "Comparable") -> bool:
        """Whether it may be on the same examples as another one: of runs by the task, of files by
        their gold.

        Of a run and a file by the kind and the number of examples: which ones they are is seen once
        they are opened.
        """
        if bool(self.gold) == bool(first.gold):
            return self.kind == first.kind and self.task == first.task
        return self.kind == first.kind and self.examples == first.examples


def of_workspace(workspace: Workspace) -> list[Comparable]:
    """All there is to compare, runs first, the newest of each first."""
    runs = pickers.runs_to_pick(workspace, by_tokenization=True)
    return [*map(_of_run, runs), *map(_of_file, list_imported_predictions(workspace))]


def pick_two(
    offered: Sequence[Comparable], places: Sequence[st.delta_generator.DeltaGenerator]
) -> tuple[Comparable, Comparable] | None:
    """Ask for both sides; None as long as they are the same, or there is one only."""
    offered = _of_task(offered)
    with places[0]:
        first = pickers.pick_named(
            "Baseline", FIRST, {one.name: one for one in offered}, _baseline(offered), help=HELP
        )
    if first is None:
        return None
    fitting = {one.name: one for one in offered if one.fits(first)}
    with places[1]:
        second = pickers.pick_named("Compared run", SECOND, fitting, help=HELP)
    return None if second is None or second.name == first.name else (first, second)


def _of_task(offered: Sequence[Comparable]) -> list[Comparable]:
    """Let the user choose a task if there are several; return its runs."""
    names = [EVERY, *dict.fromkeys(one.task for one in offered if not one.gold)]
    if len(names) < 3:
        return list(offered)
    task = pickers.pick_name("Task", names, TASK, EVERY, help="Limits the runs below to this task.")
    return [one for one in offered if task in (EVERY, one.task)]


def opened(first: Comparable, second: Comparable) -> RunPair:
    """Read both predictions and compare them with the gold labels."""
    kind, scorer = "", ""
    if first.gold and second.gold:
        kind, scorer = first.kind.name, first.scorer
    asked = PairSpec(
        str(first.path),
        str(second.path),
        (first.tokenization, second.tokenization),
        first.gold or second.gold,
        kind,
        scorer,
    )
    return run_cache.run_pair(asked, (first.stamp, second.stamp))


def bring(workspace: Workspace) -> None:
    """Form: a gold file and one or two files of predictions for it, each taken in as predictions
    that are then compared.
    """
    draw_note(FORMS)
    left, right = st.columns(2)
    name = left.selectbox(
        "Task type",
        list(TASK_KINDS),
        format_func=lambda name: f"{name}: {TASK_KINDS[name].about}",
        key="brought_kind",
    )
    kind = TASK_KINDS[name]
    scorers = [USUAL, *(one.name for one in kind.scorers())]
    scorer = right.selectbox("Score", scorers, key=f"brought_score_{kind}")
    given: dict[str, Path] = {}
    for role, column in zip(
        ("gold file", "predictions", "other predictions"), st.columns(3), strict=True
    ):
        with column:
            st.markdown(
                f"**{role}**" + (" :small[:gray[optional]]" if role.startswith("other") else "")
            )
            if found := intake.files_from(
                workspace, f"brought_{role}", intake.TASK_TYPES, several=False
            ):
                given[role] = found[0]
    files = [given[role] for role in ("predictions", "other predictions") if role in given]
    names: list[str] = []
    for place, file in enumerate(files):  # one after the other: two files may be called alike
        names.append(
            pickers.name_for(
                workspace, "predictions", intake.stem([file]), f"brought_name_{place}", names
            )
        )
    ready = "gold file" in given and files
    if st.button(
        "Import and compare",
        type="primary",
        icon=":material/add:",
        disabled=not ready,
        key="take_predictions",
    ):
        own = "" if scorer == USUAL else str(scorer)
        places = [workspace.folder("predictions", name) for name in names]
        import_prediction_files(
            kind, given["gold file"], list(zip(files, places, strict=True)), own
        )
        _handed_over(workspace, given)
        _compare_next(workspace, names)


def _handed_over(workspace: Workspace, given: dict[str, Path]) -> None:
    """Forget the uploads: the artifacts hold copies."""
    for role, file in given.items():
        intake.hand_over(f"brought_{role}")
        if is_upload(file, workspace):
            file.unlink(missing_ok=True)


def _compare_next(workspace: Workspace, names: Sequence[str]) -> None:
    """Show two that came in beside each other; one beside the newest run that may be on its
    examples, else alone.
    """
    offered = {one.name: one for one in of_workspace(workspace)}
    shown = [_shown(name) for name in names]
    runs = [one.name for one in offered.values() if not one.gold and one.fits(offered[shown[0]])]
    first, second = ([*runs[:1], *shown, ""] if len(shown) == 1 else shown)[:2]
    address.show_next(FIRST, first)
    address.show_next(SECOND, second)
    st.rerun()


def _shown(name: str) -> str:
    """As predictions of this name stand in pickers and in the address."""
    return f"predictions · {name}"


def _of_run(one: ChosenRun) -> Comparable:
    stamp = one.of.artifact.stamp if one.of.artifact else ""
    return Comparable(
        one.name,
        one.of.name,
        one.of.kind,
        one.of.task,
        one.run.folder,
        stamp,
        one.tokenization,
        run=one.run,
    )


def _of_file(one: ImportedPredictions) -> Comparable:
    return Comparable(
        name := _shown(one.name),
        name,
        one.kind,
        f"gold {one.of}",
        one.predicted,
        one.artifact.stamp,
        gold=str(one.gold),
        scorer=one.scorer,
        told=one.examples,
    )


def _baseline(offered: Sequence[Comparable]) -> int:
    """Where to begin: beside the newest that there is another for, the newest of one cut only, else
    its base cut, else any.
    """
    newest = next((one for one in offered if sum(other.fits(one) for other in offered) > 1), None)
    if newest is None:
        return 0
    fitting = [place for place, one in enumerate(offered) if one.fits(newest)]
    per_run = Counter(one.path for one in offered)
    plain_ones = [
        place
        for place in fitting
        if offered[place].of != newest.of and per_run[offered[place].path] == 1
    ]
    own = [
        place
        for place in fitting
        if offered[place].tokenization == BASE and offered[place].path == newest.path
    ]
    return next(iter([*plain_ones, *own, *fitting[1:]]), 0)
