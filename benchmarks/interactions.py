"""Measure the server time of an interaction: what reruns when a slider, a number or a choice of a
page changes. Budget: 300 ms.

    python benchmarks/interactions.py [--parts errors change] [--workspace DIR]     (needs no browser)

Opens each part in the test driver of Streamlit, on the demo with the results of its jobs, or on a
copy of a workspace. Each widget is set to three other values, one after the other; as in a browser,
only the fragment of the widget reruns. Printed are the median time and CPU time of the script, and
what reran. Buttons are pressed on the part Error analysis only: elsewhere they start jobs.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from streamlit.testing.v1 import AppTest, app_test  # noqa: E402
from streamlit.testing.v1.local_script_runner import LocalScriptRunner  # noqa: E402

from vocadapt.lab.demo import run_demo  # noqa: E402
from vocadapt.lab.workspace.workspace import Workspace  # noqa: E402
from vocadapt.ui.frame.address import WORKSPACE_VARIABLE  # noqa: E402
from vocadapt.ui.frame.pages import PARTS, find_link  # noqa: E402

BOUND = 0.3
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
BUTTONS = {"errors": ("errors_pick_",)}  # beginnings of the keys of buttons that only select
PAGE = "the whole page"


class TimedRunner(LocalScriptRunner):
    """A script runner that reruns one fragment, as a browser requests it, and measures the run."""

    fragment: str | None = None  # id of the fragment to rerun; None: the whole page
    fragments: dict[str, str] = {}  # noqa: RUF012  # id of a widget -> id of its fragment
    seconds = processor = 0.0  # of the last run

    def request_rerun(self, rerun_data: Any) -> Any:
        return super().request_rerun(replace(rerun_data, fragment_id=TimedRunner.fragment))

    def _run_script_thread(self) -> None:
        start, used = time.perf_counter(), time.process_time()
        super()._run_script_thread()
        TimedRunner.seconds = time.perf_counter() - start
        TimedRunner.processor = time.process_time() - used

    def forward_msgs(self) -> list[Any]:
        messages = super().forward_msgs()
        for message in messages:
            if message.HasField("delta") and message.delta.WhichOneof("type") == "new_element":
                element = message.delta.new_element
                widget = getattr(element, element.WhichOneof("type"))
                if getattr(widget, "id", ""):
                    TimedRunner.fragments[widget.id] = message.delta.fragment_id
        return messages


@dataclass(frozen=True)
class Interaction:
    """A change of a widget: its part, the widget, what reran, and the seconds of each change."""

    part: str
    widget: str
    reran: str
    seconds: float
    processor: float

    def __str__(self) -> str:
        return (
            f"{self.part:12s} {self.widget:44s} {1000 * self.seconds:6.0f} ms"
            f" {1000 * self.processor:6.0f} ms CPU   {self.reran}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--workspace", type=Path, help="a workspace; default: the demo")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    app_test.LocalScriptRunner = TimedRunner  # type: ignore[misc]
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "demo"
        if options.workspace:
            shutil.copytree(options.workspace, root)
        else:
            for _ in run_demo(Workspace(root)):
                pass
        os.environ[WORKSPACE_VARIABLE] = str(root)
        for part in options.parts:
            for one in measure_part(part):
                print(one, flush=True)
                slow += one.seconds > BOUND
    print(
        f"{slow} over {1000 * BOUND:.0f} ms; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    return int(slow > 0)


def measure_part(part: str) -> Iterator[Interaction]:
    """Change each widget of a part; yields one measurement per widget."""
    app = open_part(part)
    names = [
        (kind, widget.key, widget.label) for kind in KINDS for widget in list_widgets(app, kind)
    ]
    pressed = tuple(BUTTONS.get(part, ()))
    if pressed:
        for button in app.main.button:
            if str(button.key).startswith(pressed):
                names.append(("button", button.key, button.label))
    for kind, key, label in names:
        app = open_part(part)
        found = [one for one in list_widgets(app, kind) if (one.key, one.label) == (key, label)]
        if found:
            taken = list(change_widget(app, kind, found[0]))
            if taken:
                seconds, processor = (
                    statistics.median(times) for times in zip(*taken, strict=True)
                )
                reran = name_fragment(app, TimedRunner.fragments.get(found[0].id, ""))
                yield Interaction(part, f"{kind} {key or label}", reran, seconds, processor)


def open_part(part: str) -> AppTest:
    """Open a part as a visitor does, twice: the second run is warm."""
    TimedRunner.fragment = None
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


def change_widget(app: AppTest, kind: str, widget: Any) -> Iterator[tuple[float, float]]:
    """Set a widget to other values; yields the seconds and the CPU seconds of each rerun."""
    name = (widget.key, widget.label)
    fragment = TimedRunner.fragments.get(widget.id) or None
    for value in list_other_values(kind, widget)[:VALUES]:
        # 1. The widget as it is drawn now: a fragment sends its own elements only.
        TimedRunner.fragment = None
        app.run()
        found = [one for one in list_widgets(app, kind) if (one.key, one.label) == name]
        if not found:
            return
        if kind == "button":
            found[0].click()
        else:
            found[0].set_value(value)
        # 2. The rerun of its fragment, or of the page.
        TimedRunner.fragment = fragment
        app.run()
        if app.exception:
            raise SystemExit(f"{name}: {app.exception[0].message}")
        yield TimedRunner.seconds, TimedRunner.processor


def list_other_values(kind: str, widget: Any) -> list[Any]:
    """Return values of a widget other than its own."""
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
    chosen = [widget.format_func(value)] if hasattr(widget, "format_func") else [value]
    return [option for option in options if option not in chosen]


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
    sys.exit(main())
