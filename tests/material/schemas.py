"""Every answer that a command gives in the tests is checked against the schema of the command."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema

from vocadapt.cli.command import Answer, Command, Options
from vocadapt.cli.run import load_command
from vocadapt.cli.schema import build_type_schema
from vocadapt.lab.workspace.strict_json import dumps


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the schema of a command's answer; it is the same in all tests."""
    return build_type_schema(load_command(name).answer)


def check_answers(load: Callable[[str], Command]) -> Callable[[str], Command]:
    """Return a loader of commands whose answers must fit their schemas, with no other field."""

    def load_checked(name: str) -> Command:
        command = load(name)

        def run(options: Options) -> Answer[Any]:
            answer = command.run(options)
            schema = build_type_schema(command.answer)
            jsonschema.validate(
                json.loads(dumps(answer.json)), schema, jsonschema.Draft202012Validator
            )
            return answer

        return replace(command, run=run, declared_answer=command.answer)

    return load_checked
