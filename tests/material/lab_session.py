"""A visitor of the lab without a browser: a websocket that reruns pages as a browser does."""

import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.sync.client import connect

from vocadapt.ui.state.pages import PARTS, find_link

PATIENCE = 180.0  # seconds until a page is complete, on a busy machine
LARGEST = 1 << 28  # bytes of a message
# Kinds of widgets whose values a visitor changes; the others are texts, files and buttons.
KINDS = (
    "checkbox",
    "radio",
    "selectbox",
    "multiselect",
    "button_group",
    "slider",
    "number_input",
)


@dataclass(frozen=True)
class Widget:
    """A widget as the server last drew it: its kind, its message, and the fragment that draws it."""

    kind: str
    proto: Any
    fragment: str


@dataclass
class LabSession:
    """A session on a running server; its page is kept between reruns, as in one tab of a browser."""

    address: str
    page: str = ""
    query: str = ""
    widgets: dict[str, Widget] = field(default_factory=dict)
    states: dict[str, WidgetState] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)  # of the last rerun

    def __post_init__(self) -> None:
        url = f"{self.address.replace('http', 'ws', 1)}/_stcore/stream"
        # Without pings: a busy server answers late.
        self.socket = connect(url, subprotocols=["streamlit"], max_size=LARGEST, ping_interval=None)  # type: ignore[list-item]

    def close(self) -> None:
        """Close the tab."""
        self.socket.close()

    def open_part(self, part: str, **query: str) -> None:
        """Open a part of the lab by its link; raises AssertionError for an exception on the page."""
        page, parameters = find_link(part, **query)
        self.page = "" if part == "home" else page.rpartition("/")[2].removesuffix(".py")
        self.query = urlencode(parameters)
        self.widgets.clear()
        self.states.clear()
        self._rerun("")

    def change_setting(self, rng: random.Random) -> str:
        """Change a random setting of the page to another value; return its label, "" if there is none
        to change.
        """
        settings = (one for one in self.widgets.values() if one.kind in KINDS)
        found = [one for one in settings if not one.proto.disabled]
        rng.shuffle(found)
        for widget in found:
            state = choose_other_value(widget, rng)
            if state is not None:
                self.states[widget.proto.id] = state
                self._rerun(widget.fragment)
                return str(widget.proto.label)
        return ""

    def press(self, label: str) -> None:
        """Press the button with this label, once."""
        button = next(
            one
            for one in self.widgets.values()
            if one.kind == "button" and one.proto.label == label
        )
        self.states[button.proto.id] = WidgetState(id=button.proto.id, trigger_value=True)
        try:
            self._rerun(button.fragment)
        finally:
            self.states.pop(button.proto.id, None)

    def _rerun(self, fragment: str) -> None:
        """Rerun the page, or a fragment of it, and read what it draws until it is complete."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = self.page
        message.rerun_script.fragment_id = fragment
        message.rerun_script.widget_states.CopyFrom(WidgetStates(widgets=self.states.values()))
        self.socket.send(message.SerializeToString())
        self.texts = []
        if not fragment:
            self.widgets.clear()
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(self.socket.recv(timeout=PATIENCE))  # type: ignore[arg-type]
            kind = answer.WhichOneof("type")
            if kind == "delta":
                self._read(answer.delta)
            elif kind == "page_info_changed":  # the server writes selections into the address
                self.query = answer.page_info_changed.query_string
            # A script that stops early for another run is followed by that run.
            elif (
                kind == "script_finished"
                and answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
            ):
                break

    def _read(self, delta: Any) -> None:
        """Remember the widgets and texts of a drawn element."""
        if delta.WhichOneof("type") != "new_element":
            return
        kind = delta.new_element.WhichOneof("type")
        if kind is None:
            return
        proto = getattr(delta.new_element, kind)
        if kind == "exception":
            raise AssertionError(f"{self.page}?{self.query}: {proto.type}: {proto.message}")
        if (kind in KINDS or kind == "button") and not proto.form_id:
            self.widgets[proto.id] = Widget(kind, proto, delta.fragment_id)
            # As in a browser, a value that the server sets replaces the visitor's.
            if getattr(proto, "set_value", False):
                self.states.pop(proto.id, None)
        if kind in ("markdown", "alert", "heading", "text"):
            self.texts.append(proto.body)


def choose_other_value(widget: Widget, rng: random.Random) -> WidgetState | None:
    """Return another value of a widget; None if it has only one."""
    proto, state = widget.proto, WidgetState(id=widget.proto.id)
    if widget.kind == "checkbox":
        state.bool_value = rng.random() < 0.5
    elif widget.kind in ("radio", "selectbox"):
        if len(proto.options) < 2:
            return None
        state.string_value = rng.choice(list(proto.options))
    elif widget.kind in ("multiselect", "button_group"):
        options = list(proto.options)
        if len(options) < 2:
            return None
        chosen = rng.choice(options)
        state.string_array_value.data.append(getattr(chosen, "content", chosen))
    elif widget.kind == "slider":
        if len(proto.default) != 1 or proto.options:
            return None
        steps = round((proto.max - proto.min) / proto.step)
        state.double_array_value.data.append(proto.min + proto.step * rng.randint(0, min(steps, 9)))
    else:
        if not (proto.has_min and proto.has_max):
            return None
        high = min(proto.max, proto.default + 3 * proto.step)
        state.double_value = rng.choice([max(proto.min, proto.default - proto.step), high])
    return state


def list_parts() -> list[str]:
    """List all parts of the lab, in the order of the navigation."""
    return list(PARTS)
