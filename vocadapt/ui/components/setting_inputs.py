"""Input widgets for declared settings: a number, choice, checkbox or text field for each."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.steps.guards import Change, find_setting
from vocadapt.settings import Setting, get_setting_groups, get_settings, show_value
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.text.number_formats import count

T = TypeVar("T")

LABELS = "setting_labels"  # session key: labels of the drawn inputs, for error messages
KEYS = "setting_keys"  # session key: (class, setting) → key of its drawn input


def forget_inputs() -> None:
    """Forget the inputs of the part that was drawn before."""
    st.session_state[LABELS], st.session_state[KEYS] = {}, {}


def draw_setting(
    place: Any,
    settings: Any,
    name: str,
    key: str | None = None,
    *,
    label: str = "",
    least: float | None = None,
    most: float | None = None,
    toggle: bool = False,
    buttons: bool = False,
    bounded: bool = True,
    choices: Collection[str] = (),
    **options: Any,
) -> Any:
    """Draw the input of a setting and return its value.

    settings: the class, or an instance with the initial values. least, most: narrower bounds of a
    number; with `least`, the input must not be empty. bounded: False accepts any number, which the
    settings then check: the browser sends no number outside of the bounds of its input. toggle: a
    toggle, not a checkbox. buttons: choices side by side. choices: those to offer, empty for all.
    """
    declared = get_settings(settings)[name]
    value = getattr(settings, name)
    label = label or declared.label
    options = {"key": key, "help": explain(label, describe(declared)), **options}
    st.session_state.setdefault(LABELS, {})[name] = label
    register_input(settings, name, key)
    if declared.kind is bool:
        draw = place.toggle if toggle else place.checkbox
        return bool(draw(label, value, **options))
    if declared.several:
        return _draw_several(place, declared, label, value, options)
    if declared.is_number:
        limits = (least, most) if bounded else None
        return _draw_number(place, declared, label, value, limits, options)
    if not declared.choices:
        return str(place.text_input(label, value, **options)).strip()
    offered = list(choices or declared.choices)
    return _draw_choice(place, declared, offered, label, value, buttons, options)


def draw_linked_setting(settings: Any, name: str, key: str, place: Any = st, **options: Any) -> Any:
    """Draw the input of a setting as `draw_setting` does; its value is kept in the address.

    key: of the input, and query parameter.
    """
    return draw_setting(place, settings, name, key, bind="query-params", **options)


def draw_preset(presets: Iterable[str], key: str) -> str:
    """Draw the menu of presets of a form, whose value is kept in the address; return the preset."""
    names = list(presets)
    return str(st.selectbox("Settings", names, key=key, bind="query-params", width=150))


def register_input(settings: Any, name: str, key: str | None) -> None:
    """Record the key of the input of a setting, so that `change_inputs` can change it;
    `draw_setting` does it for the inputs that it draws.
    """
    kind = settings if isinstance(settings, type) else type(settings)
    st.session_state.setdefault(KEYS, {})[kind.__name__, name] = key


def can_change(settings: Any, change: Change) -> bool:
    """Return whether each setting of a change has an input on the page."""
    return all(_find_key(settings, path) for path in change)


def change_inputs(settings: Any, change: Change) -> None:
    """Change the inputs of settings; a callback, called before the page is drawn."""
    for path, value in change.items():
        declared = find_setting(settings, path)
        if declared.several:
            value = " ".join(map(str, value))
        elif declared.is_number and not value:
            value = None  # an empty input
        st.session_state[_find_key(settings, path)] = value


def format_change(settings: Any, change: Change) -> str:
    """Format a change for a button: limit 1 000, epochs 15."""
    parts = []
    for path, value in change.items():
        declared = find_setting(settings, path)
        shown = str(value)
        if declared.several:
            shown = " ".join(map(str, value))
        elif not value and declared.empty:
            shown = declared.empty
        elif declared.kind is int:
            shown = count(value)
        parts.append(f"{declared.noun} {shown}")
    return ", ".join(parts)


def _find_key(settings: Any, path: str) -> str:
    """Return the key of the input of a setting; "" if it is not drawn."""
    *groups, name = path.split(".")
    for group in groups:
        settings = getattr(settings, group)
    return st.session_state.get(KEYS, {}).get((type(settings).__name__, name)) or ""


def _draw_choice(
    place: Any,
    declared: Setting,
    choices: list[str],
    label: str,
    value: Any,
    buttons: bool,
    options: dict[str, Any],
) -> Any:
    """Draw the given choices of a setting as a menu, or side by side."""
    if buttons:
        options.setdefault("format_func", str.capitalize)
        return place.segmented_control(label, choices, default=value, required=True, **options)
    if declared.empty:
        choices = ["", *choices]
    options.setdefault("format_func", partial(_format_choice, declared))
    return place.selectbox(label, choices, choices.index(value), **options)


def _draw_number(
    place: Any,
    declared: Setting,
    label: str,
    value: Any,
    limits: tuple[float | None, float | None] | None,
    options: dict[str, Any],
) -> Any:
    """Draw the input of an integer or a float; it may be empty, for 0, if the declaration allows
    it.

    limits: narrower bounds than the declared ones; with a lower one, the input must not be empty.
    None: no bounds.
    """
    kind = declared.kind
    bounds = declared.bounds
    lowest = None
    highest = None
    is_optional = bool(declared.empty)
    # 1. The bounds; Streamlit rejects an initial value outside of them.
    if limits is not None:
        least, most = limits
        is_optional = is_optional and least is None
        lowest = bounds.lowest if least is None else kind(max(bounds.lowest, least))
        highest = bounds.highest if most is None else kind(min(bounds.highest, most))
        value = max(lowest, min(value, highest))
    # 2. Streamlit shows two decimals: a learning rate of 5e-5 would be 0.00.
    step = 1 if kind is int else value / 10 or 0.01
    options.setdefault("step", kind(step))
    if kind is float:
        options.setdefault("format", "%g")
    # 3. An initial value that can be cleared is set by the session.
    if is_optional:
        key = options["key"]
        if value and key not in st.session_state and key not in st.query_params:
            st.session_state[key] = value
        options.setdefault("placeholder", declared.empty)
        value = None
    return kind(place.number_input(label, lowest, highest, value, **options) or 0)


def _draw_several(
    place: Any, declared: Setting, label: str, value: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Draw the input of several values: choices, or typed values separated by spaces."""
    if declared.choices:
        return tuple(place.multiselect(label, declared.choices, list(value), **options))
    typed = place.text_input(label, " ".join(map(str, value)), **options)
    try:
        return tuple(declared.kind(part) for part in typed.split())
    except ValueError:
        problem = f"{label}: expected numbers, got {show_value(typed)}."
        raise InputError(problem, "Separate them with spaces.", declared.name) from None


def _format_choice(declared: Setting, name: str) -> str:
    """Return a choice with its explanation."""
    about = declared.explained_choices.get(name)
    return f"{name}: {about}" if about else name or declared.empty


def draw_settings(
    settings: T,
    form: str,
    drawn: Collection[str] = (),
    options: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    names: Collection[str] | None = None,
) -> T:
    """Draw the inputs of the settings of a dataclass, nested ones included: numbers in two columns,
    the others below each other. Return the settings with the values of the inputs.

    settings: an instance with the initial values. form: the form and its preset, such as
    finetune_quick: the end of the inputs' keys. Forms of other pages must have another one, because
    Streamlit gives inputs with the same key the same value. drawn: settings that keep their values,
    because they have an input elsewhere on the page, or do not apply; a setting that is added to
    the class is drawn without an edit of its page. options: other arguments of `draw_setting`, by
    setting. names: fields to draw, None for all.
    """
    declared = get_settings(settings)
    groups = get_setting_groups(settings)
    columns = st.columns(2)
    values: dict[str, Any] = {}
    n_numbers = 0
    for one in fields(settings):  # type: ignore[arg-type]
        name = one.name
        key = f"{one.name}_{form}"
        if name in drawn or (names is not None and name not in names):
            continue
        if name in groups:
            inner = getattr(settings, name)
            values[name] = draw_settings(inner, key, names=groups[name][1])
        elif name in declared:
            place: Any = st
            if declared[name].is_number and not declared[name].several:
                place = columns[n_numbers % 2]
                n_numbers += 1
            values[name] = draw_setting(place, settings, name, key, **options.get(name, {}))
    return replace(settings, **values)  # type: ignore[type-var]


def add_label(error: InputError) -> InputError:
    """Add the label of the setting to an error, if its input is drawn and not named yet."""
    label = st.session_state.get(LABELS, {}).get(error.setting, "")
    if not label or label in str(error):
        return error
    return InputError(f"{error.problem.rstrip('.')} ({label}).", error.remedy, code=error.code)


def describe(declared: Setting) -> str:
    """Return the help text of an input: what the setting is, and what an empty input means."""
    empty = f" Empty: {declared.empty}." if declared.empty and declared.is_number else ""
    return f"{declared.sentence}{empty}"
