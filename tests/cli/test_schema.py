"""--schema: the JSON Schema of every command, and its agreement with the parser and the answers."""

import json
from argparse import Namespace
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, NotRequired, TypedDict, TypeVar

import jsonschema
import pytest

from tests.material.cases import check_each
from tests.material.schemas import check_answers, load_schema
from vocadapt.cli import main
from vocadapt.cli.command import Answer, Command, exclusive, option, setting_options
from vocadapt.cli.run import COMMANDS, HIDDEN, build_parser, load_command
from vocadapt.cli.schema import (
    DIALECT,
    build_arguments_schema,
    build_type_schema,
    format_command_line,
)
from vocadapt.errors import InputError
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.system.json_values import plain
from vocadapt.text.formats.readers import ReaderNotes
from vocadapt.text.words import IdenticalLines

OPEN = {"presets"}  # commands whose answer has values of any kind


def print_json(capsys, *arguments):
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


def list_objects(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for one in schema.values():
            yield from list_objects(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from list_objects(one)


@check_each("name", COMMANDS)
def test_every_command_prints_a_valid_schema(name, capsys):
    schema = print_json(capsys, *name.split(), "--schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT and schema["title"] == f"vocadapt {name}"
    assert schema["description"].endswith(".")
    arguments, answer = schema["properties"]["arguments"], schema["properties"]["answer"]
    assert all(one["description"] for one in arguments["properties"].values())
    # Every object either lists its fields and has no others, or says what its values are.
    if name not in OPEN:
        assert answer
        assert all("additionalProperties" in one for one in list_objects(answer))


@check_each("name", [*COMMANDS, *HIDDEN])
def test_the_arguments_are_those_of_the_parser(name):
    parser = build_parser(name, load_command(name))
    schema = build_arguments_schema(parser)
    properties = schema["properties"]
    for action in parser._actions:
        if action.dest in ("help", "json", "schema"):
            continue
        (own,) = [
            key
            for key in properties
            if key in action.option_strings or key == action.dest.removeprefix("input_")
        ]
        assert (own in schema["required"]) == action.required
        if action.choices is not None:
            found = properties[own]
            found = found.get("items", found)
            assert found.get("enum", found.get("items", {}).get("enum")) == list(
                map(str, action.choices)
            )


def make_example(schema: dict[str, Any]) -> Any:
    """Return a value that a schema accepts."""
    if "enum" in schema:
        return schema["enum"][-1]
    if "anyOf" in schema:
        return make_example(schema["anyOf"][0])
    if schema["type"] == "boolean":
        return True
    if schema["type"] == "array":
        return [make_example(schema["items"])] * schema.get("minItems", 1)
    if schema["type"] == "string":
        return "text"
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return low if low <= schema.get("maximum", low) else schema["maximum"] / 2


@check_each("name", COMMANDS)
def test_arguments_of_the_schema_are_accepted_by_the_parser(name):
    """Each argument of the schema, together with the required ones, as a command line."""
    parser = build_parser(name, load_command(name))
    schema = build_arguments_schema(parser)
    properties = schema["properties"]
    needed = {key: make_example(properties[key]) for key in schema["required"]}
    # `jobs cancel ID` and the like need a text; an argument of an exclusive group excludes others.
    for key, declared in properties.items():
        arguments = {**needed, key: make_example(declared)}
        if not jsonschema.Draft202012Validator(schema).is_valid(arguments):
            continue
        line = format_command_line(schema, arguments)
        parsed = vars(parser.parse_args(line))
        plain = vars(parser.parse_args(format_command_line(schema, needed)))
        changed = {dest for dest in parsed if parsed[dest] != plain[dest]}
        assert len(changed) <= 1, (line, changed)
        if not changed:  # the example is the default
            assert key in needed or declared.get("default") is not None or not arguments[key]


def list_refused(declared: dict[str, Any]) -> list[tuple[object, str]]:
    """Return values that a schema does not accept, each with the code of its refusal."""
    if "items" in declared:
        count = declared.get("minItems", 1)
        return [([value] * count, code) for value, code in list_refused(declared["items"])]
    declared = declared.get("anyOf", [declared])[0]
    if "enum" in declared:
        return [("no-such-choice", "unknown-choice")]
    if declared["type"] not in ("integer", "number"):
        return []
    lowest = [declared["minimum"] - 1] if "minimum" in declared else []
    highest = [2 * declared["maximum"] + 1] if "maximum" in declared else []
    bounds = [declared[key] for key in declared if key.startswith("exclusive")]
    return [(value, "out-of-range") for value in ("many", "nan", *lowest, *highest, *bounds)]


@check_each("name", COMMANDS)
def test_other_arguments_are_refused_with_their_code(name):
    parser = build_parser(name, load_command(name))
    schema = build_arguments_schema(parser)
    needed = {key: make_example(schema["properties"][key]) for key in schema["required"]}
    wrong = [(["--no-such-option"], "unknown-option")]
    for key in needed:
        if schema["properties"][key].get("type") != "array":
            others = {other: value for other, value in needed.items() if other != key}
            wrong.append((format_command_line(schema, others), "invalid-arguments"))
    for key, declared in schema["properties"].items():
        wrong += [
            (format_command_line(schema, {**needed, key: value}), code)
            for value, code in list_refused(declared)
        ]
    for arguments, code in wrong:
        with pytest.raises(InputError) as error:
            parser.parse(arguments)
        assert error.value.code == code, arguments


def test_a_default_of_the_schema_is_the_one_of_the_settings():
    schema = build_arguments_schema(build_parser("vectors train", load_command("vectors train")))
    defaults = Word2VecSettings()
    assert schema["properties"]["--epochs"]["default"] == defaults.epochs
    assert schema["properties"]["--min-count"]["default"] == defaults.min_count
    assert schema["properties"]["--min-count"]["type"] == "integer"
    assert schema["properties"]["--min-count"]["minimum"] == 1
    assert {"enum": ["auto"]} in schema["properties"]["--epochs"]["anyOf"]
    # A preset decides: there is no default to name.
    finetune = build_arguments_schema(build_parser("finetune", load_command("finetune")))
    assert "default" not in finetune["properties"]["--learning-rate"]


def test_an_exclusive_group_and_lists():
    def run(options: Namespace) -> Answer[None]:
        raise AssertionError

    command = Command(
        run,
        (
            option("place", nargs=2, help="two places"),
            exclusive(option("--one", help="one"), option("--other", help="the other")),
            option("--again", action="append", help="may be repeated"),
            option("--pair", nargs=2, action="append", help="pairs"),
            option("-n", "--number", between=(1, 3), help="a number"),
            setting_options(Word2VecSettings, "epochs"),
        ),
    )
    schema = build_arguments_schema(build_parser("jobs list", command))
    accepts = jsonschema.Draft202012Validator(schema).is_valid
    assert accepts({"place": ["a", "b"], "--one": "x"})
    assert not accepts({"place": ["a", "b"], "--one": "x", "--other": "y"})
    assert not accepts({"place": ["a"]}) and not accepts({"place": ["a", "b"], "--new": 1})
    assert accepts({"place": ["a", "b"], "--number": 3})
    assert not accepts({"place": ["a", "b"], "--number": 4})
    line = format_command_line(
        schema,
        {"--pair": [["a", "b"], ["c", "d"]], "--again": ["x", "y"], "place": ["p", "q"]},
    )
    assert line == [
        *["p", "q", "--again", "x", "--again", "y"],
        *["--pair", "a", "b", "--pair", "c", "d"],
    ]


T = TypeVar("T")


class Base(TypedDict):
    """A base."""

    a: int


class Both(Base, Generic[T]):
    b: NotRequired[Annotated[list[T], "several"]]
    c: dict[str, float | None]
    d: tuple[str, float]


@dataclass(frozen=True)
class Value:
    """A value.

    With details.
    """

    name: str
    kind: Literal["x", "y"] = "x"


def test_types_become_schemas():
    schema = build_type_schema(Both[Value])
    assert schema["required"] == ["a", "c", "d"] and not schema["additionalProperties"]
    value = schema["properties"]["b"]["items"]
    assert value["description"] == "A value." and value["required"] == ["name", "kind"]
    assert value["properties"]["kind"] == {"enum": ["x", "y"]}
    assert schema["properties"]["b"]["description"] == "several"
    accepts = jsonschema.Draft202012Validator(schema).is_valid
    good = {"a": 1, "b": [{"name": "n", "kind": "x"}], "c": {"k": None, "l": 0.5}, "d": ["s", 1]}
    assert accepts(good)
    assert not accepts({**good, "e": 1}) and not accepts({**good, "c": {"k": "text"}})
    assert not accepts({**good, "d": ["s"]}) and not accepts({**good, "b": [{"name": "n"}]})
    with pytest.raises(TypeError, match="has no JSON"):
        build_type_schema(complex)


def test_the_list_of_commands(capsys):
    overview = print_json(capsys, "--schema")
    assert [one["command"] for one in overview["commands"]] == list(COMMANDS)
    assert set(overview["exit_codes"]) == {"0", "1", "2", "130"}
    line = overview["commands"][2]["schema"].split()
    assert (
        print_json(capsys, *line[3:])["title"] == f"vocadapt {overview['commands'][2]['command']}"
    )


def test_errors_as_json(capsys):
    assert (
        main(["words", "count", "no\x1bfile", "--model", "nowhere", "--offline", "--json-errors"])
        == 2
    )
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    error = json.loads(err)["error"]
    assert set(error) == {"code", "problem", "remedy", "exit"} and error["exit"] == 2
    assert error["problem"] and error["remedy"]
    assert main(["align", "--folds", "1", "--json-errors"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "out-of-range"


def test_an_answer_with_an_undeclared_field_is_found():
    """The check of all answers, in tests/material/schemas.py, can fail."""
    validator = jsonschema.Draft202012Validator(load_schema("words count"))
    counts = {"words": 1, "distinct": 1, "lines": 1, "held_out_lines": 0, "files_left_out": 0}
    answer = plain(ReaderNotes()) | plain(IdenticalLines()) | counts
    answer |= {"megabytes": 0.1, "seconds": 1}
    assert validator.is_valid(answer)
    assert not validator.is_valid({**answer, "more": 1})
    assert not validator.is_valid({**answer, "words": "1"})
    del answer["lines"]
    assert not validator.is_valid(answer)

    def run(options: Namespace) -> Answer[Base]:
        return Answer(answer, "")

    checked = check_answers(lambda name: Command(run))("any")
    with pytest.raises(jsonschema.ValidationError):
        checked.run(Namespace())
