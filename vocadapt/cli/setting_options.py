"""Options of a command from declared settings, and settings from the options that were given.

An option that is not given is None, and leaves the setting as it is in the base: the defaults, or a
preset. In the namespace an option has the name of its flag.
"""

from argparse import Action, Namespace, _ActionsContainer
from collections.abc import Collection
from dataclasses import replace
from typing import Any, TypeVar

from vocadapt.cli.parser import Number
from vocadapt.settings import Setting, groups_of, settings_of, walk_settings

T = TypeVar("T")

MAX_EXPLAINED = 600  # characters of the explanations of choices; beyond, only names are listed


def add_settings(
    parser: _ActionsContainer,
    settings: Any,
    *names: str,
    except_: Collection[str] = (),
    default: str = "",
    prefix: str = "",
    other_flags: bool = True,
) -> None:
    """Add the options of a settings dataclass, nested ones included.

    settings: the class, or an instance with the default values to show. names: of the settings to
    add (default: all but `except_`). default: text that replaces the default values. prefix: before
    the name of each flag. other_flags: also accept the flags of other settings whose values these
    fall back to, if they are not among these.
    """
    chosen = names or [name for name in settings.__dataclass_fields__ if name not in except_]
    walked = list(walk_settings(settings, chosen))
    flags = {one.flag for one, _ in walked}
    for one, value in walked:
        if not one.flag:
            continue
        also = [one.other_flag] if other_flags and one.other_flag not in (*flags, "") else []
        _add_option(parser, one, describe_setting(one, value, default), prefix, also)


def add_setting(parser: _ActionsContainer, settings: Any, name: str, **changes: Any) -> None:
    """Add the option of one setting; `changes`: arguments of add_argument that differ, such as a
    help text of its own.
    """
    declared = settings_of(settings)[name]
    help = changes.pop("help", None) or describe_setting(declared, getattr(settings, name))
    _add_option(parser, declared, help, **changes)


def _add_option(
    parser: _ActionsContainer,
    declared: Setting,
    help: str,
    prefix: str = "",
    also: Collection[str] = (),
    **changes: Any,
) -> None:
    flag, _, value = _flag_of(declared, prefix).partition("=")
    if value:
        shared = parser._option_string_actions.get(flag)
        if shared is None:
            about = f"{declared.help}; may be repeated"
            shared = parser.add_argument(flag, action="append", choices=[], help=about)
        shared.choices = [*(shared.choices or ()), value]
        return
    option: dict[str, Any] = {"dest": _name_of(flag), "default": None, "help": help}
    if declared.kind is bool:
        option["action"] = "store_false" if declared.default else "store_true"
    elif declared.is_number:
        option["type"] = Number(declared.bounds, declared.words)
        option["metavar"] = "N" if declared.kind is int else "X"
    elif choices := declared.choices:
        option["choices"] = list(choices)
        option["metavar"] = "NAME" if declared.explained_choices else None
    else:
        option["metavar"] = declared.name.upper()
    if declared.several:
        option |= {"nargs": "+", "action": "extend"}
    action: Action = parser.add_argument(flag, *also, **(option | changes))
    action.setting = declared.name  # type: ignore[attr-defined]


def number_of(settings: Any, name: str) -> Number:
    """Return the parser of numbers within the bounds of a setting, for an option of its own."""
    declared = settings_of(settings)[name]
    return Number(declared.bounds, declared.words)


def describe_setting(declared: Setting, value: Any, default: str = "") -> str:
    """Return the help text of an option: what it is, its choices, what 0 means, and the default."""
    parts = [declared.help]
    explained = "; ".join(f"{name}: {s}" for name, s in declared.explained_choices.items())
    if len(explained) > MAX_EXPLAINED:
        explained = ", ".join(declared.choices)
    if explained:
        parts = [f"{declared.help}. {explained}"]
    if declared.empty and declared.is_number:
        parts.append(f"; 0: {declared.empty}")
    shown = _show_value(declared, value)
    mark = ""
    if default or not shown:
        shown, mark = default or declared.empty, ":"
    if shown and declared.kind is not bool:
        parts.append(f" (default{mark} {shown})")
    return "".join(parts).replace("%", "%%")


def _show_value(declared: Setting, value: Any) -> str:
    """Return a value as it is given on the command line."""
    if declared.several:
        return " ".join(map(str, value))
    named = [word for word, number in declared.words.items() if number == value]
    return named[0] if named else str(value)


def read_settings(
    options: Namespace,
    settings: type[T],
    base: T | None = None,
    names: Collection[str] | None = None,
    prefix: str = "",
) -> T:
    """Return the base (by default the defaults) with the settings that were given.

    names: of the settings and groups to read; None: all. prefix: as in `add_settings`.
    """
    made = settings() if base is None else base
    changes = read_given(options, settings, names, prefix)
    for name, (kind, shown) in groups_of(settings).items():
        if names is None or name in names:
            inner = getattr(made, name)
            read = read_settings(options, kind, inner, shown, prefix)
            if read != inner:
                changes[name] = read
    change = getattr(made, "with_changes", None)
    if change is not None:
        return change(**changes)  # type: ignore[no-any-return]
    return replace(made, **changes)  # type: ignore[type-var]


def read_given(
    options: Namespace, settings: type, names: Collection[str] | None = None, prefix: str = ""
) -> dict[str, Any]:
    """Return the settings that were given, by name; nested ones are not read."""
    given = {}
    for name, declared in settings_of(settings).items():
        if not declared.flag or (names is not None and name not in names):
            continue
        value = _read_option(options, _flag_of(declared, prefix))
        if value is None and declared.other_flag:
            value = _read_option(options, declared.other_flag)
        if value is not None:
            given[name] = _read_list(declared, value) if declared.several else value
    return given


def _read_list(declared: Setting, values: list[Any]) -> tuple[Any, ...]:
    """Return the values of a list; names that were given twice count once."""
    return tuple(values) if declared.is_number else tuple(dict.fromkeys(values))


def _read_option(options: Namespace, flag: str) -> Any:
    """Return the value of a flag, None if it was not given."""
    flag, _, wanted = flag.partition("=")
    value = getattr(options, _name_of(flag), None)
    if wanted:
        return wanted in (value or ()) or None
    return value


def _flag_of(declared: Setting, prefix: str) -> str:
    flag = declared.flag or ""
    return f"--{prefix}{flag.lstrip('-')}" if prefix else flag


def _name_of(flag: str) -> str:
    """Return the name of a flag's option in the namespace."""
    return flag.lstrip("-").replace("-", "_")
