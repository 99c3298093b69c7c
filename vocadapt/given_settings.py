"""Settings as a user gives them: values by the names of their flags.

The command line gives them as parsed options, a study as the keys of its file: the key of
`--num-epochs` is `num_epochs`. A setting that was not given is missing or None, and keeps its value
from the base: the defaults, or a preset.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

from vocadapt.errors import InputError
from vocadapt.settings import (
    MAX_FLOAT_BITS,
    ExtensibleSettings,
    Setting,
    get_own_settings,
    get_setting_groups,
    get_settings,
    list_own_settings,
    show_value,
    walk_settings,
)

KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
T = TypeVar("T")
Given = Mapping[str, Any]  # key → value


class Values(Protocol):
    """Values by key, such as a mapping, or the options of a command."""

    def get(self, key: str, /) -> Any:
        """Return a value; None if it was not given."""


def read_settings(
    given: Values,
    settings: type[T],
    base: T | None = None,
    names: Collection[str] | None = None,
    prefix: str = "",
) -> T:
    """Return the base with the settings that were given.

    base: values of the other settings; None: their defaults. names: of the settings and groups to
    read; None: all. prefix: text before the name of each flag.
    """
    base = base or settings()
    # 1. The settings themselves, those of single methods, and the groups of settings inside.
    changes = read_given(given, settings, names, prefix)
    if isinstance(base, ExtensibleSettings):
        own = read_own_settings(given, base.methods(), base.options)
        if own != base.options:
            changes["options"] = own
    for name, (kind, shown) in get_setting_groups(settings).items():
        if names is None or name in names:
            inner = getattr(base, name)
            read = read_settings(given, kind, inner, shown, prefix)
            if read != inner:
                changes[name] = read
    # 2. A class whose settings depend on each other has the method `with_changes`.
    change: Callable[..., T] = getattr(base, "with_changes", partial(replace, base))  # type: ignore[type-var]
    return change(**changes)


def read_given(
    given: Values, settings: type, names: Collection[str] | None = None, prefix: str = ""
) -> dict[str, Any]:
    """Return the settings that were given, by name; nested ones are not read."""
    found = {}
    for name, declared in get_settings(settings).items():
        if not declared.flag or (names is not None and name not in names):
            continue
        value = _read_value(given, get_flag(declared, prefix))
        if value is None:
            value = _read_value(given, declared.other_flag)
        if value is None:
            continue
        if declared.several:  # drop repeated names
            value = tuple(value) if declared.is_number else tuple(dict.fromkeys(value))
        found[name] = value
    return found


def read_own_settings(
    given: Values, methods: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the own settings of methods, by method, changed by those that were given."""
    own = dict(options)
    for name, kind in get_own_settings(methods).items():
        if changes := read_given(given, kind, prefix=f"{name}-"):
            own[name] = replace(own.get(name) or kind(), **changes)
    return own


def declare_keys(
    settings: type, names: Collection[str] | None = None, prefix: str = ""
) -> dict[str, Setting]:
    """Return key → setting for what `read_settings` reads, nested settings included."""
    declared: dict[str, Setting] = {}
    for name, own in list_own_settings(settings, names):
        declared |= declare_keys(own, prefix=f"{name}-")
    for setting, _ in walk_settings(settings, names):
        for flag in (setting.other_flag, get_flag(setting, prefix)):
            if flag:
                declared[get_key(flag.partition("=")[0])] = setting
    return declared


def convert_value(declared: Setting, value: Any) -> Any:
    """Convert a value of a file to what an option of the command line would give.

    The key of a setting that is on by default turns it off: no_certificate = true. A word may stand
    for a number: fold = "all".
    """
    if declared.kind is bool and isinstance(value, bool):
        return value != bool(declared.default)
    if declared.several and isinstance(value, list):
        return [convert_value(replace(declared, several=False), one) for one in value]
    if isinstance(value, str):
        return declared.words.get(value, value)
    return value


def read_value(declared: Setting, value: Any) -> Any:
    """Convert a value of a file to the type of its setting, such as 1 to 1.0; raise InputError for
    any other type. A word may stand for a number.
    """
    if type(value) is declared.kind or (isinstance(value, str) and value in declared.words):
        return value
    if declared.kind is float and type(value) is int and value.bit_length() <= MAX_FLOAT_BITS:
        return float(value)
    problem = f"expected {KINDS[declared.kind]}, got {show_value(value)}."
    raise InputError(problem, code="wrong-type")


def get_flag(declared: Setting, prefix: str = "") -> str:
    """Return the flag of a setting, with a prefix before its name; "" if it has none."""
    flag = declared.flag or ""
    if not prefix:
        return flag
    return f"--{prefix}{flag.lstrip('-')}"


def get_key(flag: str) -> str:
    """Return the key of a flag: num_epochs for --num-epochs."""
    return flag.lstrip("-").replace("-", "_")


def _read_value(given: Values, flag: str) -> Any:
    """Return the value of a flag; None if it was not given, or for the flag ""."""
    flag, _, wanted = flag.partition("=")
    value = given.get(get_key(flag))
    if wanted:  # one of several booleans that share a flag
        return wanted in (value or ()) or None
    return value
