"""Spec: one step as a value (which step, settings, inputs), to and from strict JSON."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.lab.steps.step import STEPS, Step, find_step
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import FLOOR, measure_weights
from vocadapt.settings import settings_from

CASINGS = ("cased", "uncased")


@dataclass(frozen=True)
class Spec:
    """One step to run. `inputs` gives the paths of each role (a hub name is allowed for `model`).

    A single path may be given as a string. `casing`: of a model given as a bare vocab.txt, "" to
    infer it. Raises InputError for an unknown step, role or casing, and for a missing input.
    """

    step: str
    settings: Any
    inputs: Mapping[str, tuple[str, ...]]
    offline: bool = False
    casing: str = ""

    def __post_init__(self) -> None:
        step = find_step(self.step)
        if not isinstance(self.settings, step.settings):
            raise TypeError(
                f"the step {self.step} takes {step.settings.__name__}, not"
                f" {type(self.settings).__name__}"
            )
        object.__setattr__(
            self, "inputs", {role: _as_paths(value) for role, value in self.inputs.items() if value}
        )
        _check_roles(step, self.inputs)
        if self.casing and self.casing not in CASINGS:
            raise InputError(
                f"Unknown casing {self.casing!r}.", f"Choose one of: {', '.join(CASINGS)}."
            )
        if self.casing and "model" not in self.inputs:
            raise InputError(
                "A casing applies only to a bare vocab.txt, and none was given.",
                "Give a model, or no casing.",
            )

    @property
    def declaration(self) -> Step:
        """What is declared about the step."""
        return STEPS[self.step]

    @property
    def kind(self) -> str:
        """The kind of artifact the step makes."""
        return self.declaration.makes

    @property
    def seed(self) -> int | None:
        """The seed that the step's randomness comes from; None if it has none."""
        return self.declaration.read_seed(self.settings)

    @property
    def lowercase(self) -> bool | None:
        """The casing as `open_model` takes it; None if inferred."""
        if not self.casing:
            return None
        return self.casing == "uncased"

    def estimate_bytes(self) -> int:
        """Estimate the bytes that the step writes, from below, so that no step is refused that
        would fit.
        """
        return FLOOR + self.declaration.writes(self)

    def one(self, role: str) -> str | None:
        """Return the single input of a role, None if there is none."""
        return self.inputs.get(role, (None,))[0]

    def absolute(self) -> "Spec":
        """Return the spec with absolute paths, valid in any working directory; hub names are kept."""
        inputs = {
            role: tuple(_absolute_path(path) for path in paths)
            for role, paths in self.inputs.items()
        }
        return replace(self, inputs=inputs)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain values."""
        inputs = {role: list(paths) for role, paths in self.inputs.items()}
        return {**asdict(self), "inputs": inputs}

    def to_json(self) -> str:
        """Return the spec as strict JSON."""
        return strict_json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "spec") -> "Spec":
        """Build a spec from plain values; raises InputError, with the name, for unknown ones."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise InputError(f"{where}: there is no {unknown[0]!r} in a spec.")
        if "step" not in values:
            raise InputError(f"{where}: the step is missing.")
        step = find_step(str(values["step"]))
        settings, inputs = values.get("settings", {}), values.get("inputs", {})
        if not isinstance(settings, Mapping) or not isinstance(inputs, Mapping):
            raise InputError(f"{where}: expected tables under settings and inputs.")
        offline, casing = values.get("offline", False) is True, str(values.get("casing", ""))
        chosen = settings_from(step.settings, settings, f"{where}: settings")
        return cls(str(values["step"]), chosen, dict(inputs), offline, casing)

    @classmethod
    def from_json(cls, text: str, where: str = "spec") -> "Spec":
        """Read what `to_json` wrote."""
        return cls.from_dict(strict_json.loads(text, where), where)


def measure_model(spec: Spec) -> int:
    """Return the bytes of the weights of the model, for steps that write a changed copy of it."""
    return measure_weights(spec.inputs["model"][0])


def _check_roles(step: Step, inputs: Mapping[str, tuple[str, ...]]) -> None:
    for name, paths in inputs.items():
        role = step.roles.get(name)
        if role is None:
            raise InputError(
                f"The step {step.name} takes no {name!r}.", f"It takes: {', '.join(step.roles)}."
            )
        if len(paths) > 1 and not role.several:
            raise InputError(f"The step {step.name} takes one {name}, got {len(paths)}.")
    for role in step.needs:
        if role.name not in inputs:
            raise InputError(f"The step {step.name} needs {role.name}, and none was given.")


def _as_paths(value: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    if isinstance(value, str | Path):
        value = (value,)
    return tuple(str(path) for path in value)


def _absolute_path(path: str) -> str:
    found = expand_path(path)
    if not os.path.exists(found):  # a hub name
        return path
    return str(found.resolve())
