"""Values as JSON and back: a dataclass is an object of its fields."""

import math
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from vocadapt.settings import CheckedSettings, build_settings

JSON_NAME = "json name"


def json_name(name: str) -> dict[str, str]:
    """Return the metadata of a field whose name in JSON is no name of Python: p@5."""
    return {JSON_NAME: name}


def get_json_name(field: "Field[Any]") -> str:
    """Return the name of a field in JSON."""
    name: str = field.metadata.get(JSON_NAME, field.name)
    return name


def plain(value: Any) -> Any:
    """Convert a value to the types of JSON; what is not a finite number becomes None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {get_json_name(one): plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def list_changed_values(value: Any) -> dict[str, Any]:
    """List the values of a dataclass that differ from their defaults, by name in JSON."""
    changed = [one for one in fields(value) if getattr(value, one.name) != one.default]
    return {get_json_name(one): plain(getattr(value, one.name)) for one in changed}


def list_known_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not None, as JSON values."""
    return {name: one for name, one in plain(value).items() if one is not None}


def build_value(kind: Any, value: Any) -> Any:
    """Build a value of a type from what `plain` made of it: dataclasses, tuples and mappings of
    them.

    Entries without a field are left out. A missing entry is None if its type allows that, else the
    default of its field. Raises TypeError if it has none, and InputError for settings as
    `build_settings` does.
    """
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return build_value(arguments[0], value)
    if origin in (Union, UnionType):
        kinds = [one for one in arguments if one is not type(None)]
        return None if value is None else build_value(kinds[0], value)
    if origin is tuple:
        return tuple(build_value(arguments[0], one) for one in value)
    if origin in (dict, Mapping):
        return {name: build_value(arguments[1], one) for name, one in value.items()}
    if not is_dataclass(kind):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, got {type(value).__name__}")
    assert isinstance(kind, type)
    if issubclass(kind, CheckedSettings):
        return build_settings(kind, value)
    return kind(
        **{
            name: build_value(hint, value.get(key))
            for name, (key, hint) in _list_fields(kind).items()
            if key in value or type(None) in get_args(hint)
        }
    )


def has_type(value: Any, kind: Any) -> bool:
    """Return whether a value and all that it contains have the declared type, which `build_value`
    supports. A whole number is accepted as a float; a boolean is not a number.
    """
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin in (Union, UnionType):
        return any(has_type(value, one) for one in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(has_type(one, arguments[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(
            has_type(one, arguments[1]) for one in value.values()
        )
    if is_dataclass(kind):
        assert isinstance(kind, type)
        hints = _list_fields(kind).items()
        return isinstance(value, kind) and all(
            has_type(getattr(value, name), hint) for name, (_, hint) in hints
        )
    if isinstance(value, bool):
        return kind in (bool, Any)
    return kind is Any or isinstance(value, int | float if kind is float else kind)


@lru_cache(maxsize=256)
def _list_fields(kind: type) -> dict[str, tuple[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: (get_json_name(one), hints[one.name]) for one in fields(kind)}
