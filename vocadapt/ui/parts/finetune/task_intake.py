"""Forms that add a task: the download of a benchmark, and the import of the user's files."""

import streamlit as st

from vocadapt.lab.inputs.tasks import fetch_benchmark, import_task
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.tasks.benchmarks import ACCESS, UNKNOWN, Card, cards
from vocadapt.training.tasks.splits import SPLITS
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.state import address
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

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
        with st.spinner("Downloading the files …", show_time=True):
            fetch_benchmark(name, workspace.folder("tasks", target))
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
    wish = intake.suggest_name([files["train"]]) if "train" in files else kind.name
    if wish in SPLITS:  # train.tsv
        wish = kind.name
    name = pickers.draw_name_input(workspace, "tasks", wish, "own_name")
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


def _select_task(name: str) -> None:
    address.show_next(TASK, name)
    st.rerun()
