"""The settings of the runs of a task side by side, by default only those that differ."""

from collections.abc import Mapping, Sequence

import streamlit as st

from vocadapt.analysis.results.setting_differences import build_setting_table, keep_differences
from vocadapt.lab.results.runs import RunSet
from vocadapt.settings import Setting, get_settings
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.ui.components.blocks import draw_heading, draw_note, draw_table
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.state import address
from vocadapt.ui.state.names import display_label
from vocadapt.ui.text.markup import escape_invisible
from vocadapt.ui.text.number_formats import count

RUNS = "results_compared_settings"  # session key and query parameter
MAX_RUNS = 4  # selected at first


@st.fragment
def draw_settings(
    runs: Sequence[RunSet],
    sides: Sequence[str],
    names: Mapping[str, str],
    models: Mapping[str, str],
) -> None:
    """Draw the settings of runs, one column each.

    sides: names of the runs of the comparison shown, which come first. names, models: display
    names.
    """
    draw_heading("Settings compared")
    by_name = {one.name: one for one in runs}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = _choose_runs(list(by_name), sides, names)
        only = st.toggle("Differences only", value=True, key="results_differences")
    if not chosen:
        st.markdown("Select runs above.")
        return
    # 1. The settings of each run, and those in which the runs differ.
    table = build_setting_table({name: list_settings(by_name[name], models) for name in chosen})
    shown = keep_differences(table) if only else table
    if not shown:
        st.markdown(f"The runs have the same {count(len(table))} settings.")
        return
    # 2. The table.
    columns: dict[str, list[object]] = {"setting": [escape_invisible(name) for name in shown]}
    for place, name in enumerate(chosen):
        columns[escape_invisible(names.get(name, name))] = [
            escape_invisible(one[place]) for one in shown.values()
        ]
    draw_table(columns, key="results_settings", height="content")
    if only:
        draw_note(f"{count(len(shown))} of {count(len(table))} settings differ.")


def _choose_runs(offered: list[str], sides: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Draw the picker of runs and return their names; by default, both sides and the newest others."""
    first = list(dict.fromkeys([*reversed(sides), *offered]))
    address.restore_selections(RUNS, address.Choice(offered.__contains__), lambda: first[:MAX_RUNS])
    chosen = st.multiselect(
        "Runs",
        offered,
        key=RUNS,
        persist_state="session",
        format_func=lambda name: names.get(name, name),
        help=explain("Runs"),
    )
    address.write(RUNS, chosen)
    return chosen


def list_settings(one: RunSet, models: Mapping[str, str]) -> dict[str, object]:
    """Return the settings of runs, under the labels of the form in which they were made.

    models: display names of models.
    """
    declared = get_settings(FinetuneSettings)
    values: dict[str, object] = {
        "Model": display_label(one.model, models),
        "Trained on": one.tokenization,
        "Seeds": one.seeds,
    }
    for key, value in one.record["settings"].items():
        setting = declared.get(key)
        label = setting.label if setting else ""
        values[label or key] = describe_empty_value(setting, value)
    return values


def describe_empty_value(setting: Setting | None, value: object) -> object:
    """Return the meaning of an empty value of a setting, such as "all" for 0; other values
    unchanged.
    """
    if setting and setting.empty and value in (0, ""):
        return setting.empty
    return value
