"""The command of a step, built from the step's declaration: inputs, settings, output folder."""

from argparse import Namespace
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    TEXT,
    M,
    add_casing,
    add_checkpoints,
    add_offline,
    add_out,
    build_answer,
    write,
)
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.step import Role, Step
from vocadapt.progress import Progress

METAVARS = {"models": "M", "corpora": "TEXT", "": "FILE"}  # by kind of artifact; else DIR


def build_step_command(step: Step) -> Command:
    """Build a command that writes the artifact of a step and prints its figures."""
    takes_model = any(role.kind == "models" for role in step.roles.values())
    takes_vocabulary = any(role.bare for role in step.roles.values())

    def add_options(parser: Parser) -> None:
        if step.description:
            parser.description = step.description
        for role in step.roles.values():
            _add_input(parser, role, required=role in step.needs)
        if takes_vocabulary:
            add_casing(parser)
        if takes_model:
            add_offline(parser)
        add_settings(parser, step.settings)
        if step.resumes:
            add_checkpoints(parser)
        add_out(parser, step.out)

    def run(options: Namespace, progress: Progress) -> Answer:
        given = {name: getattr(options, f"input_{name}") for name in step.roles}
        inputs = {name: paths for name, paths in given.items() if paths}
        settings = read_settings(options, step.settings)
        offline, casing = getattr(options, "offline", False), getattr(options, "casing", "")
        spec = Spec(step.name, settings, inputs, offline, casing)
        return build_answer(write(spec, options, progress))

    return Command(add_options, run)


def _add_input(parser: Parser, role: Role, required: bool) -> None:
    """Add the option of an input, or the positional argument of one without a flag."""
    option: dict[str, Any] = {
        "metavar": METAVARS.get(role.kind, "DIR"),
        "help": role.help or _describe(role),
    }
    if role.several:
        option["nargs"] = "+"
    destination = f"input_{role.name}"
    if role.flag:
        parser.add_argument(role.flag, dest=destination, required=required, **option)
    else:
        parser.add_argument(destination, **option)


def _describe(role: Role) -> str:
    """Return the help text of an input that declares none."""
    if role.kind == "models" and not role.bare:
        return "hub name or model folder"
    return {"models": M, "corpora": TEXT}.get(role.kind, role.label.lower())
