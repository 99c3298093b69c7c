"""Milliseconds of the server for an interaction: what reruns when a slider, a number or a choice of a
page changes.

Opens each part in the test driver of Streamlit, on the demo with the results of its jobs. Each widget
is set to three other values, one after the other; as in a browser, only the fragment of the widget
reruns. A figure is the widget of a part that takes longest, without menus, most of which open another
artifact. Buttons are pressed on the part Error analysis only: elsewhere they start jobs.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest, app_test

from benchmarks._figures import Figure, run
from tests.material.fragments import FragmentRunner
from vocadapt.lab.demo import run_demo
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.state.address import WORKSPACE_VARIABLE
from vocadapt.ui.state.pages import PARTS, find_link

ROOT = Path(__file__).resolve().parents[1]
BOUND = 200  # milliseconds
FEW = ("errors", "change", "vocabulary")
VALUES = 3  # other values that each widget is set to
KINDS = (
    "slider",
    "select_slider",
    "number_input",
    "button_group",  # pills and segmented controls
    "toggle",
    "checkbox",
    "radio",
    "selectbox",
    "multiselect",
    "pagination",
)
MENUS = ("selectbox", "multiselect")  # not bounded: another artifact has to be read
BUTTONS = {"errors": ("errors_pick_",)}  # beginnings of the keys of buttons that only select
PAGE = "the whole page"


@dataclass(frozen=True)
class Interaction:
    """A change of a widget: its part, the widget, what reran, and the seconds of each change."""

    part: str
    widget: str
    reran: str
    seconds: float


def measure(full: bool) -> Iterator[Figure]:
    """Change the widgets of some parts, with --full of all."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    app_test.LocalScriptRunner = FragmentRunner  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "demo"
        for _ in run_demo(Workspace(root)):
            pass
        os.environ[WORKSPACE_VARIABLE] = str(root)
        for part in PARTS if full else FEW:
            found = [one for one in measure_part(part) if not one.widget.startswith(MENUS)]
            if not found:
                continue
            slowest = max(found, key=lambda one: one.seconds)
            note = f"{slowest.widget}, of {len(found)} widgets; reran {slowest.reran}"
            yield Figure(part, (1000 * slowest.seconds,), "ms", target=BOUND, note=note)


def measure_part(part: str) -> Iterator[Interaction]:
    """Change each widget of a part; yields one measurement per widget."""
    app = open_part(part)
    names = [(kind, *name_widget(one)) for kind in KINDS for one in list_widgets(app, kind)]
    selecting = tuple(BUTTONS.get(part, ()))
    for button in app.main.button:
        if selecting and str(button.key).startswith(selecting):
            names.append(("button", *name_widget(button)))
    for kind, key, label in names:
        app = open_part(part)
        found = [one for one in list_widgets(app, kind) if name_widget(one) == (key, label)]
        if not found:
            continue
        times = list(change_widget(app, kind, found[0]))
        if times:
            seconds = statistics.median(times)
            reran = name_fragment(app, FragmentRunner.fragments.get(found[0].id, ""))
            yield Interaction(part, f"{kind} {key or label}", reran, seconds)


def open_part(part: str) -> AppTest:
    """Open a part by a link."""
    FragmentRunner.fragment = None
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    if part != "home":
        page, parameters = find_link(part)
        for name, value in parameters.items():
            app.query_params[name] = value
        app.switch_page(page).run()
    return app


def list_widgets(app: AppTest, kind: str) -> list[Any]:
    """Return the widgets of a kind that can be changed, without those of forms and the sidebar."""
    return [
        one
        for one in app.main.get(kind)
        if not getattr(one, "form_id", "") and not getattr(one.proto, "disabled", False)
    ]


def name_widget(widget: Any) -> tuple[str | None, str]:
    """Return the key and the label of a widget, by which it is found again."""
    return widget.key, getattr(widget, "label", "")


def change_widget(app: AppTest, kind: str, widget: Any) -> Iterator[float]:
    """Set a widget to other values; yields the seconds of each rerun."""
    name = name_widget(widget)
    fragment = FragmentRunner.fragments.get(widget.id) or None
    for value in list_other_values(kind, widget)[:VALUES]:
        # 1. The widget as it is drawn now: a fragment sends its own elements only.
        FragmentRunner.fragment = None
        app.run()
        found = [one for one in list_widgets(app, kind) if name_widget(one) == name]
        if not found:
            return
        if kind == "button":
            found[0].click()
        elif kind != "selectbox":
            found[0].set_value(value)
        # 2. The rerun of its fragment, or of the page.
        FragmentRunner.fragment = fragment
        FragmentRunner.choice = None
        if kind == "selectbox":
            FragmentRunner.choice = (found[0].id, value)
        app.run()
        FragmentRunner.choice = None
        if app.exception:
            raise SystemExit(f"{name}: {app.exception[0].message}")
        yield FragmentRunner.seconds


def list_other_values(kind: str, widget: Any) -> list[Any]:
    """Return values of a widget other than its own; of a menu, the labels of its options."""
    value = widget.value
    if kind in ("toggle", "checkbox"):
        return [not value, value]
    if kind == "button":
        return [True] * VALUES
    if kind == "pagination":
        return [page for page in range(1, widget.num_pages + 1) if page != value]
    if kind in ("slider", "number_input"):
        return list_other_numbers(widget)
    options = list(widget.options)
    if kind == "multiselect":
        return [list(value)[:-1], list(value)] if value else [options[:1], []]
    if kind == "button_group" and isinstance(value, list):
        return [[option] for option in options]
    if kind == "selectbox":
        # The driver does not know a value that is shown by another name.
        with suppress(ValueError, IndexError):
            del options[widget.index or 0]
        return options
    return [option for option in options if option != value]


def list_other_numbers(widget: Any) -> list[Any]:
    """Return numbers near that of a slider or number input, within its bounds."""
    low, high, step = widget.min, widget.max, widget.step or 1
    value = widget.value
    if isinstance(value, list | tuple):
        start, end = value
        return [
            (start + number * step, end) for number in range(1, 4) if start + number * step < end
        ]
    own = low if value is None else value
    near = [own + step, own + 2 * step, own - step, own + 3 * step, own - 2 * step]
    return [
        number
        for number in near
        if (low is None or number >= low) and (high is None or number <= high)
    ]


def name_fragment(app: AppTest, fragment: str) -> str:
    """Return the function of a fragment."""
    if not fragment:
        return PAGE
    import inspect

    wrapped = app._fragment_storage.lookup(fragment)
    function = inspect.getclosurevars(wrapped).nonlocals["non_optional_func"]
    return f"{function.__module__.removeprefix('vocadapt.ui.')}.{function.__name__}"


if __name__ == "__main__":
    sys.exit(run(measure))
