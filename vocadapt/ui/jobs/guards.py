"""What is known before a job starts, drawn beside its Start button: how long it takes, and guards;
a button applies the settings that repair it to the form.
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.steps.forecasts import learn_rate
from vocadapt.lab.steps.guards import Guard
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import compute_seen_stamp
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import is_cached
from vocadapt.system.forecasts import Forecast, Work
from vocadapt.training.tasks.task import list_task_files
from vocadapt.ui.components.blocks import draw_note
from vocadapt.ui.components.setting_inputs import can_change, change_inputs, format_change
from vocadapt.ui.state import paths
from vocadapt.ui.state.cache import cached
from vocadapt.ui.text.markup import format_sentence
from vocadapt.ui.text.number_formats import count, duration, format_forecast, group_digits

MINUTES = "minutes"  # code of the guard of the time


def draw_guards(workspace: Workspace, *specs: Spec) -> bool:
    """Draw the guards of jobs, each sentence once, but not that of the time; return whether one of
    them takes very long, so that its button should be secondary.
    """
    guards: dict[str, Guard] = {}
    for spec in specs:
        for guard in find_guards(workspace, spec):
            guards.setdefault(guard.sentence, guard)
    for place, guard in enumerate(guards.values()):
        sentence = format_sentence(guard.sentence)
        if guard.serious and guard.code != MINUTES:
            st.warning(sentence, icon=":material/warning:")
        elif guard.code != MINUTES:
            draw_note(sentence)
        settings = specs[0].settings
        if guard.change and can_change(settings, guard.change):
            st.button(
                f"Use {format_change(settings, guard.change)}",
                icon=":material/build:",
                key=f"guard_{place}_{guard.code}",
                on_click=change_inputs,
                args=(settings, guard.change),
            )
    return any(guard.code == MINUTES and guard.serious for guard in guards.values())


def draw_forecast(workspace: Workspace, spec: Spec) -> None:
    """Draw how long a job takes; nothing if that is unknown."""
    with suppress(InputError):  # an input cannot be read: the form or the job reports it
        forecast = forecast_job(workspace, spec)
        if forecast is not None:
            st.markdown(f"About {describe_forecast(forecast)}")


def describe_forecast(forecast: Forecast) -> str:
    """Describe how long work takes, how much it is, and where its rate comes from (Markdown)."""
    facts = [group_digits(forecast.work.about)] if forecast.work.about else []
    if forecast.start_up >= 1:
        facts.append(f"{duration(forecast.start_up)} to start up")
    facts.append(forecast.basis)
    return (
        f"**{format_forecast(forecast)}** · {count(round(forecast.units))} {forecast.work.unit}"
        f" :small[:gray[{'; '.join(facts)}]]"
    )


def forecast_job(workspace: Workspace, spec: Spec) -> Forecast | None:
    """Return how long a job takes; None if its step declares no work.

    Raises InputError if an input cannot be read, or is a path that pages may not open.
    """
    work = _measure_work(workspace, spec)
    if work is None:
        return None
    return learn_rate(replace(spec, offline=True).plan(workspace.root)).forecast(work)


def find_guards(workspace: Workspace, spec: Spec) -> tuple[Guard, ...]:
    """Return the guards of a step; () if an input cannot be read: the form or the job reports it."""
    if spec.declaration.guards is None:
        return ()
    try:
        return _find_guards(workspace, spec)
    except InputError:
        return ()


def _find_key(workspace: Workspace, spec: Spec) -> tuple[str, str, str]:
    """Return a cache key that changes with the settings or inputs of a step.

    Raises InputError for a path that pages may not open, before it is read.
    """
    paths.check_inputs(spec)
    return spec.to_json(), _stamp_inputs(spec), str(workspace.root)


def _stamp_inputs(spec: Spec) -> str:
    """Return a digest of sizes and times of all inputs, with the hub models that are on this
    machine.
    """
    files = list[Path]()
    names = list[str]()
    for role, given in spec.inputs.items():
        for path in map(Path, given):
            if role == "task":
                files += list_task_files(path)
            elif os.path.exists(path):
                files.append(path)
            elif is_cached(str(path)):
                names.append(str(path))
    return " ".join([compute_seen_stamp(files), *names])


# Offline: a link may name any model.
@cached(_find_key, 64, "Estimating the time …")
def _measure_work(workspace: Workspace, spec: Spec) -> Work | None:
    return replace(spec, offline=True).plan(workspace.root).measure_work()


@cached(_find_key, 64, "Checking model and data …")
def _find_guards(workspace: Workspace, spec: Spec) -> tuple[Guard, ...]:
    return replace(spec, offline=True).find_guards(workspace.root)
