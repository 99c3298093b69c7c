"""Command lines of steps, to repeat in a terminal what was done in the browser."""

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import UPLOADS, Artifact
from vocadapt.settings import Setting, build_settings, get_setting_groups, get_settings
from vocadapt.text.corpus import CorpusSettings

PROGRAM = ("python", "-m", "vocadapt")


def build_command(spec: Spec, folder: Path) -> str:
    """Return the command line that runs `spec` into `folder`; "" if there is none."""
    expressed = spec.declaration.express(spec, folder)
    if expressed is None or not spec.declaration.command:
        return ""
    # Uploads are removed when the job is done: they are called by the names of the files.
    uploads = folder.parent.parent / UPLOADS
    named = {
        role: tuple(Path(path).name if Path(path).parent == uploads else path for path in paths)
        for role, paths in expressed.inputs.items()
    }
    return shlex.join(build_arguments(replace(expressed, inputs=named), folder))


def build_artifact_command(artifact: Artifact) -> str:
    """Return the command line that made an artifact, with absolute paths of its inputs."""
    root = artifact.folder.parents[1]
    parts = shlex.split(artifact.manifest.command)
    return shlex.join(
        [
            str(root / part) if "/" in part and os.path.exists(root / part) else part
            for part in parts
        ]
    )


def build_context_command(
    word: str, text: Sequence[str | Path], corpus: Mapping[str, Any], model: str
) -> str:
    """Return the command line that shows a word in context; `corpus`: settings of the text."""
    chosen = setting_arguments(build_settings(CorpusSettings, corpus), CorpusSettings())
    given = ["--corpus", *map(str, text), "--model", model, *chosen]
    return shlex.join([*PROGRAM, "context", *given, "--", word])


def build_arguments(spec: Spec, folder: Path) -> list[str]:
    """Return the command line of a spec as a list of arguments."""
    # The order of a person: what to do, with which inputs, how, where to.
    step = spec.declaration
    arguments = [*PROGRAM, *step.command, *_input_arguments(spec)]
    arguments += step.own_arguments(spec.settings, folder)
    arguments += setting_arguments(spec.settings, step.settings())
    if spec.casing:
        arguments += ["--casing", spec.casing]
    if spec.offline:
        arguments.append("--offline")
    if step.out:
        arguments += [step.out, str(folder)]
    return arguments


def _input_arguments(spec: Spec) -> Iterator[str]:
    for name, paths in spec.inputs.items():
        role = spec.declaration.roles[name]
        flag = role.flag if role.choose_flag is None else role.choose_flag(paths[0])
        if flag:
            yield flag
        yield from paths


def setting_arguments(
    settings: Any, defaults: Any, names: Collection[str] | None = None, prefix: str = ""
) -> Iterator[str]:
    """Yield the command-line arguments of the settings that are not at their defaults.

    names: of the fields to include; None: all. Settings that the instance names as
    `unused_settings` are left out. prefix: before the name of each flag; a mapping of settings has
    its names there.
    """
    declared = get_settings(settings)
    groups = get_setting_groups(settings)
    unused = getattr(settings, "unused_settings", ())
    for field in fields(settings):
        if field.name in unused or (names is not None and field.name not in names):
            continue
        value = getattr(settings, field.name)
        default = getattr(defaults, field.name)
        # A setting itself; a group, which may show only some of its settings; or a mapping from
        # names to settings, such as those of each initializer.
        if field.name in declared:
            yield from _arguments_of(declared[field.name], value, default, prefix)
        elif field.name in groups:
            yield from setting_arguments(value, default, groups[field.name][1], prefix)
        elif isinstance(value, Mapping):
            for name, own in value.items():
                yield from setting_arguments(own, type(own)(), prefix=f"{name}-")


def _arguments_of(declared: Setting, value: Any, default: Any, prefix: str = "") -> list[str]:
    """Return the arguments of one setting; none if it is at its default."""
    flag = declared.flag
    if not flag or (value == default and not declared.always):
        return []
    if prefix:  # a short flag such as -k becomes a long one
        flag = f"--{prefix}{flag.lstrip('-')}"
    if declared.kind is bool:
        return [flag]
    if declared.several:
        texts = [str(one) for one in value]
        if any(text.startswith("-") for text in texts):  # see below
            return [f"{flag}={text}" for text in texts]
        return [flag, *texts]
    words = [word for word, number in declared.words.items() if number == value]
    text = words[0] if words else str(value)
    # A value that looks like a flag stays a value.
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]
