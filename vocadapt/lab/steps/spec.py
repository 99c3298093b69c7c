"""Spec: one step as a value (which step, settings, inputs), to and from strict JSON."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.lab.steps.settings import (
    ALL_FOLDS,
    AlignmentStep,
    ContextualStep,
    ContinuedPretrainingStep,
    ConvertStep,
    CorpusStep,
    FinetuneStep,
    ImportStep,
    LeaderboardStep,
    ModelStep,
    PretrainStep,
    ProjectionStep,
    Settings,
    VectorsStep,
)
from vocadapt.lab.workspace import strict_json
from vocadapt.settings import settings_from

__all__ = [
    "ALL_FOLDS",
    "CASINGS",
    "FORMS",
    "SEVERAL",
    "AlignmentStep",
    "ContextualStep",
    "ContinuedPretrainingStep",
    "ConvertStep",
    "CorpusStep",
    "FinetuneStep",
    "Form",
    "ImportStep",
    "LeaderboardStep",
    "ModelStep",
    "PretrainStep",
    "ProjectionStep",
    "Settings",
    "Spec",
    "VectorsStep",
    "get_form",
]


@dataclass(frozen=True)
class Form:
    """Signature of a step: its settings, the kind of artifact it makes, required and optional
    inputs.
    """

    settings: type[Settings]
    kind: str
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


FORMS: dict[str, Form] = {
    "corpus": Form(CorpusStep, "corpora", ("text",), ("model",)),
    "vectors": Form(VectorsStep, "vectors", ("text", "model")),
    "contextual": Form(ContextualStep, "vectors", ("text", "model"), ("words",)),
    "import": Form(ImportStep, "vectors", ("file",), ("words", "model", "text")),
    "alignment": Form(AlignmentStep, "alignments", ("vectors", "model")),
    "model": Form(ModelStep, "models", ("model",), ("vectors", "text", "target")),
    "leaderboard": Form(
        LeaderboardStep, "leaderboards", ("model",), ("vectors", "target", "text", "held_out")
    ),
    "pretrain": Form(PretrainStep, "models", ("text",)),
    "further": Form(ContinuedPretrainingStep, "models", ("model", "text")),
    "finetune": Form(FinetuneStep, "runs", ("model",), ("task", "train", "dev", "test")),
    "convert": Form(ConvertStep, "models", ("model",)),
    "map": Form(ProjectionStep, "maps", ("space",), ("other",)),
}
CASINGS = ("", "cased", "uncased")
SEVERAL = ("text", "held_out")  # the roles that take more than one path


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
        form = get_form(self.step)
        if not isinstance(self.settings, form.settings):
            raise TypeError(
                f"the step {self.step} takes {form.settings.__name__}, not"
                f" {type(self.settings).__name__}"
            )
        object.__setattr__(
            self, "inputs", {role: _as_paths(value) for role, value in self.inputs.items() if value}
        )
        _check_roles(self.step, form, self.inputs)
        if self.casing not in CASINGS:
            raise InputError(
                f"Unknown casing {self.casing!r}.",
                f"Choose one of: {', '.join(filter(None, CASINGS))}.",
            )
        if self.casing and "model" not in self.inputs:
            raise InputError(
                "A casing applies only to a bare vocab.txt, and none was given.",
                "Give a model, or no casing.",
            )

    @property
    def kind(self) -> str:
        """The kind of artifact the step makes."""
        return FORMS[self.step].kind

    @property
    def lowercase(self) -> bool | None:
        """The casing as `open_model` takes it; None if inferred."""
        return self.casing == "uncased" if self.casing else None

    def one(self, role: str) -> str | None:
        """Return the single input of a role, None if there is none."""
        return self.inputs[role][0] if role in self.inputs else None

    def absolute(self) -> "Spec":
        """Return the spec with absolute paths, valid in any working directory; hub names are kept."""
        inputs = {
            role: tuple(_absolute_path(path) for path in paths)
            for role, paths in self.inputs.items()
        }
        return replace(self, inputs=inputs)

    def to_dict(self) -> dict[str, Any]:
        """The spec as plain values."""
        inputs = {role: list(paths) for role, paths in self.inputs.items()}
        named = {"step": self.step, "settings": asdict(self.settings), "inputs": inputs}
        return {**named, "offline": self.offline, "casing": self.casing}

    def to_json(self) -> str:
        """The spec as strict JSON."""
        return strict_json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "spec") -> "Spec":
        """Build a spec from plain values; raises InputError, with the name, for unknown ones."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown or "step" not in values:
            raise InputError(
                f"{where}: "
                + (f"there is no {unknown[0]!r} in a spec." if unknown else "the step is missing.")
            )
        form = get_form(str(values["step"]))
        settings, inputs = values.get("settings", {}), values.get("inputs", {})
        if not isinstance(settings, Mapping) or not isinstance(inputs, Mapping):
            raise InputError(f"{where}: expected tables under settings and inputs.")
        offline, casing = values.get("offline", False) is True, str(values.get("casing", ""))
        chosen = settings_from(form.settings, settings, f"{where}: settings")
        return cls(str(values["step"]), chosen, dict(inputs), offline, casing)

    @classmethod
    def from_json(cls, text: str, where: str = "spec") -> "Spec":
        """Read what `to_json` wrote."""
        return cls.from_dict(strict_json.loads(text, where), where)


def get_form(step: str) -> Form:
    """Return the form of a step; raises InputError for an unknown step."""
    if step not in FORMS:
        raise InputError(f"Unknown step {step!r}.", f"Choose one of: {', '.join(FORMS)}.")
    return FORMS[step]


def _check_roles(step: str, form: Form, inputs: Mapping[str, tuple[str, ...]]) -> None:
    known = (*form.needs, *form.takes)
    for role, paths in inputs.items():
        if role not in known:
            raise InputError(
                f"The step {step} takes no {role!r}.", f"It takes: {', '.join(known)}."
            )
        if len(paths) > 1 and role not in SEVERAL:
            raise InputError(f"The step {step} takes one {role}, got {len(paths)}.")
    for role in form.needs:
        if role not in inputs:
            raise InputError(f"The step {step} needs {role}, and none was given.")


def _as_paths(value: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | Path) else tuple(str(path) for path in value)


def _absolute_path(path: str) -> str:
    found = expand_path(path)
    return str(found.resolve()) if os.path.exists(found) else path
