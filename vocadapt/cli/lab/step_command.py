"""The command of a step, built from the step's declaration: inputs, settings, output folder."""

from typing import Any

from vocadapt.cli.command import (
    AddOption,
    Answer,
    Command,
    Options,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CASING,
    CHECKPOINTS,
    OFFLINE,
    TEXT,
    WITH_WEIGHTS,
    ArtifactAnswer,
    M,
    build_answer,
    destination_options,
    write_artifact,
)
from vocadapt.lab.steps.step import Role, Spec, Step

# By kind of artifact; DIR for others.
METAVARS = {"models": "M", "corpora": "TEXT", "packs": "PACK", "": "FILE"}


def build_step_command(step: Step) -> Command:
    """Build a command that writes the artifact of a step and prints its figures."""
    # 1. The inputs, then what depends on their kind.
    options = [_declare_input(role, required=role in step.needs) for role in step.roles.values()]
    if any(role.bare for role in step.roles.values()):
        options.append(CASING)
    if any(role.kind == "models" for role in step.roles.values()):
        options.append(OFFLINE)
    # 2. The settings, and where to write.
    options.append(setting_options(step.settings))
    if step.resumes:
        options.append(CHECKPOINTS)

    def run(options: Options) -> Answer[Any]:
        # Inputs have a prefix in the namespace: a setting may have the name of an input.
        inputs = {name: getattr(options, f"input_{name}") for name in step.roles}
        offline = getattr(options, "offline", False)
        casing = getattr(options, "casing", "")
        spec = Spec(read_settings(options, step.settings), inputs, offline, casing)
        return build_answer(write_artifact(spec, options))

    return Command(
        run,
        [*options, *destination_options(step.out)],
        step.description,
        declared_answer=ArtifactAnswer[step.numbers],  # type: ignore[name-defined]
    )


def _declare_input(role: Role, required: bool) -> AddOption:
    """Declare the option of an input, or the positional argument of one without a flag."""
    help = {"models": WITH_WEIGHTS, "corpora": TEXT}.get(role.kind, role.label.lower())
    if role.kind == "models" and role.bare:
        help = M
    arguments: dict[str, Any] = {
        "metavar": METAVARS.get(role.kind, "DIR"),
        "help": role.help or help,
    }
    if role.several:
        arguments["nargs"] = "+"
    name = f"input_{role.name}"
    if not role.flag:
        return option(name, **arguments)
    return option(role.flag, dest=name, required=required, **arguments)
