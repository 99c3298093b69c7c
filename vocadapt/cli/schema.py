"""The JSON Schema (draft 2020-12) of a command: its arguments and its answer.

`python -m vocadapt COMMAND --schema` prints it. The arguments come from the parser of the command,
the answer from the type that the command's function returns: `Answer[CountAnswer]`. A schema
contains no references, so that its two parts can be used separately, such as the input and output
schema of a tool.
"""

from argparse import Action, BooleanOptionalAction
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import combinations
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import vocadapt
from vocadapt.cli.command import Command
from vocadapt.cli.parser import Number, Parser
from vocadapt.settings import ABOVE_ZERO
from vocadapt.system.json_values import get_json_name

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NOT_ARGUMENTS = {"help", "json", "schema"}  # options that print something else, or are implied
PLAIN = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    Path: "string",
    NoneType: "null",
}
RULE = (
    "Command line: the values of the properties without dashes, in this order, then each property"
    " with dashes and its value; true: the property alone; false: nothing. A list: its values after"
    " the property, or, with x-repeat, the property before each of them."
)


def build_command_schema(name: str, command: Command, parser: Parser) -> Schema:
    """Return the schema of a command: an object of its arguments and its answer with --json."""
    return {
        "$schema": DIALECT,
        "title": f"vocadapt {name}",
        "description": parser.description,
        "type": "object",
        "properties": {
            "arguments": build_arguments_schema(parser),
            "answer": build_type_schema(command.answer),
        },
        "required": ["arguments"],
        "additionalProperties": False,
    }


def build_overview(commands: Mapping[str, tuple[str, str]]) -> Schema:
    """Return the list of all commands, with how to get the schema of each."""
    return {
        "program": "vocadapt",
        "version": vocadapt.__version__,
        "commands": [
            {
                "command": name,
                "description": sentence,
                "schema": f"python -m vocadapt {name} --schema",
            }
            for name, (_, sentence) in commands.items()
        ],
        "exit_codes": {
            "0": "done",
            "1": "done, with a negative verdict",
            "2": "bad input; nothing was written",
            "130": "canceled",
        },
        "json": "--json: the answer on stdout, as strict JSON; --json-errors: errors on stderr, as JSON",
    }


# 1. Arguments, from the parser.


def build_arguments_schema(parser: Parser) -> Schema:
    """Return the schema of a command's arguments, by the names that are typed."""
    actions = [action for action in parser._actions if action.dest not in NOT_ARGUMENTS]
    actions.sort(key=lambda action: bool(action.option_strings))  # positional arguments first
    schema: Schema = {
        "type": "object",
        "description": RULE,
        "properties": {name_argument(action): build_action_schema(action) for action in actions},
        "required": [name_argument(action) for action in actions if action.required],
        "additionalProperties": False,
    }
    # Of the options of an exclusive group, no two may be given together.
    pairs = [
        {"not": {"required": [name_argument(one), name_argument(other)]}}
        for group in parser._mutually_exclusive_groups
        for one, other in combinations(group._group_actions, 2)
    ]
    if pairs:
        schema["allOf"] = pairs
    return schema


def name_argument(action: Action) -> str:
    """Return the name of an argument in a schema: its longest flag, or that of a positional one."""
    return max(action.option_strings, key=len, default=action.dest.removeprefix("input_"))


def build_action_schema(action: Action) -> Schema:
    """Return the schema of the value of one argument, with its help text and default."""
    about: Schema = {"description": (action.help or "").replace("%%", "%")}
    default = getattr(action, "shown_default", action.default)
    # 1. A switch. One that has a flag for each of its values is on by its first flag.
    if action.nargs == 0:
        about["type"] = "boolean"
        if isinstance(action, BooleanOptionalAction):
            about["x-false"] = action.option_strings[1]
            if isinstance(action.default, bool):
                about["default"] = action.default
            return about
        return {**about, "default": False}
    # 2. A value, or a list of values.
    schema = build_value_schema(action)
    repeated = type(action).__name__ in ("_AppendAction", "_ExtendAction")
    if action.nargs is not None and action.nargs != "?":
        schema = {"type": "array", "items": schema}
        if isinstance(action.nargs, int):
            schema |= {"minItems": action.nargs, "maxItems": action.nargs}
        elif action.nargs == "+":
            schema["minItems"] = 1
        if type(action).__name__ == "_AppendAction":
            schema = {"type": "array", "items": schema, "x-repeat": True}
    elif repeated:
        schema = {"type": "array", "items": schema, "minItems": 1, "x-repeat": True}
    if default is not None and default != "":
        schema["default"] = list(default) if isinstance(default, tuple) else default
    return {**about, **schema}


def build_value_schema(action: Action) -> Schema:
    """Return the schema of a single value of an argument: a number, a choice, or text."""
    if isinstance(action.type, Number):
        schema = build_number_schema(action.type)
        if action.type.words:
            return {"anyOf": [schema, {"enum": list(action.type.words)}]}
        return schema
    if action.choices is not None:
        return {"enum": [str(choice) for choice in action.choices]}
    return {"type": "string"}


def build_number_schema(number: Number) -> Schema:
    """Return the schema of a number within its bounds."""
    bounds = number.bounds
    schema: Schema = {"type": "integer" if bounds.whole else "number"}
    if bounds.lowest == ABOVE_ZERO:
        schema["exclusiveMinimum"] = 0
    elif abs(bounds.lowest) != float("inf"):
        schema["minimum"] = bounds.lowest
    if bounds.highest == 1 - ABOVE_ZERO:
        schema["exclusiveMaximum"] = 1
    elif abs(bounds.highest) != float("inf"):
        schema["maximum"] = bounds.highest
    return schema


def format_command_line(schema: Schema, arguments: Mapping[str, Any]) -> list[str]:
    """Return the command line of arguments, by RULE; the reverse of parsing it."""
    positional = list[Any]()
    options = list[Any]()
    for name, declared in schema["properties"].items():
        if name not in arguments:
            continue
        value = arguments[name]
        values = value if isinstance(value, list) else [value]
        if not name.startswith("-"):
            positional += values
        elif value is True:
            options.append(name)
        elif value is False:
            options += filter(None, [declared.get("x-false")])
        elif declared.get("x-repeat"):
            for one in values:
                options += [name, *(one if isinstance(one, list) else [one])]
        else:
            options += [name, *values]
    return [str(one) for one in (*positional, *options)]


# 2. The answer, from a type.


def build_type_schema(kind: Any, bound: Mapping[Any, Any] | None = None) -> Schema:
    """Return the schema of the JSON of a type: a TypedDict or dataclass, a list, mapping or union
    of types, a plain type, or Any.

    bound: the types of type variables.
    """
    kind = (bound or {}).get(kind, kind)
    origin = get_origin(kind)
    arguments = get_args(kind)
    if kind is Any or kind is object or isinstance(kind, TypeVar):
        return {}
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if origin is Annotated:
        return {**build_type_schema(arguments[0], bound), "description": arguments[1]}
    if origin in (Required, NotRequired):
        return build_type_schema(arguments[0], bound)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return _join([build_type_schema(one, bound) for one in arguments])
    if is_typeddict(kind) or is_typeddict(origin) or is_dataclass(kind):
        return _build_object_schema(kind, bound or {})
    return _build_container_schema(kind, origin, arguments, bound)


def _build_container_schema(
    kind: Any, origin: Any, arguments: tuple[Any, ...], bound: Mapping[Any, Any] | None
) -> Schema:
    base = origin or kind
    if not isinstance(base, type):
        raise TypeError(f"{kind} has no JSON")
    if issubclass(base, tuple) and arguments and arguments[-1] is not Ellipsis:
        parts = [build_type_schema(one, bound) for one in arguments]
        return {
            "type": "array",
            "prefixItems": parts,
            "minItems": len(parts),
            "maxItems": len(parts),
        }
    if issubclass(base, Mapping):
        value = arguments[1] if arguments else Any
        return {"type": "object", "additionalProperties": build_type_schema(value, bound) or True}
    if issubclass(base, Sequence | set | frozenset):
        schema: Schema = {"type": "array"}
        if arguments:
            schema["items"] = build_type_schema(arguments[0], bound)
        return schema
    raise TypeError(f"{kind} has no JSON")


def _build_object_schema(kind: Any, bound: Mapping[Any, Any]) -> Schema:
    """Return the schema of a TypedDict or a dataclass: its fields, and no others."""
    declared = get_origin(kind) or kind
    # A generic type, such as StepAnswer[ModelNumbers], binds the variables of its declaration.
    variables = getattr(declared, "__parameters__", ())
    bound = {**bound, **dict(zip(variables, get_args(kind), strict=False))}
    hints = get_type_hints(declared, include_extras=True)
    if is_typeddict(declared):
        required = [name for name in hints if name in declared.__required_keys__]
    else:
        hints = {get_json_name(one): hints[one.name] for one in fields(declared)}
        required = list(hints)
    schema: Schema = {"type": "object"}
    about = describe_type(declared)
    if about:
        schema["description"] = about
    others = getattr(declared, "__other_fields__", None)
    return {
        **schema,
        "properties": {name: build_type_schema(one, bound) for name, one in hints.items()},
        "required": required,
        "additionalProperties": False if others is None else build_type_schema(others),
    }


def describe_type(kind: Any) -> str:
    """Return the first paragraph of a class's docstring on one line; "" if it has none."""
    text = (kind.__doc__ or "").strip().split("\n\n")[0]
    # A dataclass without a docstring gets its signature as one.
    return "" if text.startswith(f"{kind.__name__}(") else " ".join(text.split())


def _join(schemas: Sequence[Schema]) -> Schema:
    """Return the schema of a union; plain types are listed in one `type`."""
    if all(list(one) == ["type"] for one in schemas):
        return {"type": list(dict.fromkeys(one["type"] for one in schemas))}
    return {"anyOf": list(schemas)}
