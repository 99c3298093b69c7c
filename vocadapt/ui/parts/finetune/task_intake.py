"""Forms that add a task: the download of a benchmark, and the import of the user's files."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.inputs.tasks import fetch_benchmark, import_task
from vocadapt.lab.workspace.manifest import compute_seen_stamp
from vocadapt.lab.workspace.workspace import Workspace, simplify_name
from vocadapt.training.tasks.benchmarks import ACCESS, UNKNOWN, Card, cards
from vocadapt.training.tasks.kinds import TaskKind, find_kind
from vocadapt.training.tasks.splits import SPLITS
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.state import address
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

MAX_IN_NAME = 3  # labels that name a task
TASK = "finetune_task"  # key of the picker, and query parameter


def draw_task_forms(workspace: Workspace) -> None:
    """Draw the forms that import files or download a benchmark; both select the new task.

    The user's files come first: a lab may be offline.
    """
    files, card = st.tabs(["Your files", "Download a benchmark"])
    with files, mistakes.show_errors():
        _draw_import_form(workspace)
    with card, mistakes.show_errors():
        _draw_download_form(workspace)


def _draw_download_form(workspace: Workspace) -> None:
    every = cards()
    name = st.selectbox(
        "Benchmark",
        list(every),
        format_func=lambda name: f"{name} · {every[name].kind}",
        key="benchmark",
    )
    chosen = every[name]
    st.markdown(_describe_card(chosen))
    if not chosen.free:
        access = plain(ACCESS[chosen.access])
        if chosen.where:
            access += f": {plain(chosen.where)}"
        draw_note(f"{access}.")
        return
    target = pickers.draw_name_input(workspace, "tasks", name.replace("/", "-"), "download_name")
    if st.button("Download", type="primary", icon=":material/download:", key="download_task"):
        shown = st.progress(0.0, text="requesting the files …")

        def report(fraction: float | None, message: str = "") -> None:
            shown.progress(fraction or 0.0, text=plain(message))

        fetch_benchmark(name, workspace.folder("tasks", target), progress=report)
        _select_task(target)


def _describe_card(card: Card) -> str:
    """Describe a benchmark in one line: what it is, its sizes, score and license."""
    sizes = ", ".join(
        f"{split} {count(next(iter(counts.values())))}" for split, counts in card.sizes.items()
    )
    parts = [card.about]
    if sizes:
        parts.append(f"sizes: {sizes}")
    # How the papers compute a score is in docs/published.md, and in the card on the command line.
    parts += [f"score: {card.scorer}", f"license: {card.license or UNKNOWN}"]
    return f":small[{' · '.join(map(plain, parts))}]"


def _draw_import_form(workspace: Workspace) -> None:
    kind = pickers.pick_task_kind("own_kind")
    draw_note(f"Files: {plain(kind.file_format)}.")
    labels = {split: f"**{split}** :small[:gray[optional]]" for split in SPLITS}
    labels["train"] = "**train**"
    files = intake.choose_file_per_role(workspace, "task", labels)
    name = pickers.draw_name_input(workspace, "tasks", _suggest_name(kind, files), "own_name")
    if st.button(
        "Import",
        type="primary",
        icon=":material/add:",
        disabled="train" not in files,
        key="take_task",
    ):
        with st.spinner("Reading and checking the files …", show_time=True):
            import_task(kind, files, workspace.folder("tasks", name))
        intake.clear_files(workspace, "task", files)
        _select_task(name)


def _suggest_name(kind: TaskKind, files: Mapping[str, Path]) -> str:
    """Return the default name of a task: its entity types or classes, if these are few; else the
    name of the training file, unless that is only "train".
    """
    if "train" not in files:
        return "task"
    path = files["train"]
    labels: list[str] = []
    with suppress(InputError):  # the import reports it
        labels = _list_labels(kind.name, str(path), compute_seen_stamp([path]))
    if 0 < len(labels) <= MAX_IN_NAME and any(re.search(r"[A-Za-z0-9]", one) for one in labels):
        return simplify_name("-".join(labels))
    own = intake.suggest_name([path])
    return kind.name if own in SPLITS else own


@st.cache_data(max_entries=8, show_spinner="Reading the labels …")
def _list_labels(kind: str, path: str, stamp: str) -> list[str]:
    """List the labels of a file, without that of bare tags."""
    found = find_kind(kind)
    return sorted(filter(None, found.labels_of(found.read(Path(path)).examples)))


def _select_task(name: str) -> None:
    """Rerun the page with a new task selected."""
    address.show_next(TASK, name)
    st.rerun()
