"""Inputs for declared settings: number, choice, checkbox or text, by the declaration."""

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any, TypeVar

from vocadapt.settings import Setting, groups_of, settings_of
from vocadapt.ui.components.optional_input import optional_number

T = TypeVar("T")


def draw_setting(
    place: Any,
    settings: Any,
    name: str,
    key: str | None = None,
    *,
    label: str = "",
    least: float | None = None,
    most: float | None = None,
    **options: Any,
) -> Any:
    """Draw the input of one setting and return its value.

    place: a container, or `st` itself. settings: the class, or an instance with the initial values.
    least, most: narrower bounds of a number. options: further arguments of the widget.
    """
    made = settings() if isinstance(settings, type) else settings
    declared, value = settings_of(made)[name], getattr(made, name)
    options = {"key": key, "help": describe(declared), **options}
    label = label or declared.label
    if declared.kind is bool:
        return place.checkbox(label, value, **options)
    if declared.is_number and not declared.several:
        return _draw_number(place, declared, label, value, least, most, options)
    choices = list(declared.choices)
    if declared.several:
        return tuple(place.multiselect(label, choices, list(value), **options))
    if not choices:
        return str(place.text_input(label, value, **options)).strip()
    if declared.empty:
        choices = ["", *choices]
        options["format_func"] = lambda name: name or declared.empty
    return place.selectbox(label, choices, choices.index(value), **options)


def _draw_number(
    place: Any,
    declared: Setting,
    label: str,
    value: Any,
    least: float | None,
    most: float | None,
    options: dict[str, Any],
) -> Any:
    """Draw the input of a number, whole or not; it may be left empty if that has a meaning."""
    bounds, kind = declared.bounds, declared.kind
    lowest = bounds.lowest if least is None else kind(max(bounds.lowest, least))
    highest = bounds.highest if most is None else kind(min(bounds.highest, most))
    value = min(value, highest)
    if declared.empty:
        limits = (lowest, highest)
        return kind(optional_number(label, limits, value, declared.empty, place, **options))
    return kind(place.number_input(label, lowest, highest, value, **options))


def draw_settings(place: Any, settings: T, key: str, names: Collection[str] | None = None) -> T:
    """Draw the inputs of all settings of a dataclass, nested ones included; return their values.

    settings: an instance with the initial values. key: prefix of the keys. names: of the fields to
    draw; None: all.
    """
    declared, groups, changes = settings_of(settings), groups_of(settings), {}
    for one in fields(settings):  # type: ignore[arg-type]
        if names is not None and one.name not in names:
            continue
        value, own_key = getattr(settings, one.name), f"{key}_{one.name}"
        if one.name in declared:
            changes[one.name] = draw_setting(place, settings, one.name, own_key)
        elif one.name in groups:
            changes[one.name] = draw_settings(place, value, own_key, groups[one.name][1])
    return replace(settings, **changes)  # type: ignore[type-var]


def describe(declared: Setting) -> str:
    """Return the help text of an input: what the setting is, and what an empty input means."""
    empty = f" Empty: {declared.empty}." if declared.empty and declared.is_number else ""
    return f"{declared.sentence}{empty}"
