"""A step: what is declared about it (`Step`), one step to run (`Spec`), and what it works with
(`StepContext`; before it starts, `PlannedStep`). STEPS is the registry of all of them.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, get_type_hints

from vocadapt.errors import InputError, check_choice
from vocadapt.extensions import register
from vocadapt.lab.inputs.opened import OpenedInputs
from vocadapt.lab.steps.guards import Guard
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import Artifact, check_name
from vocadapt.models.language_model import begins_with_folder, is_cached
from vocadapt.progress import Progress
from vocadapt.settings import CheckedSettings, build_settings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import expand_path, show_path
from vocadapt.system.forecasts import Work
from vocadapt.system.json_values import build_value
from vocadapt.text.corpus import CorpusSettings

Numbers = dict[str, Any]  # headline figures of an artifact
CASINGS = ("cased", "uncased")


@dataclass(frozen=True, kw_only=True)
class SpaceNumbers:
    """Figures of word vectors; occurrences: None if the words are not counted."""

    words: int
    dim: int
    occurrences: int | None


@dataclass(frozen=True)
class TextStep(CheckedSettings):
    """Settings of steps that read a text: which of its lines are read."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True)
class Role:
    """An input of a step: its name in a spec, and its flag on the command line ("": positional).

    `kind`: kind of the artifacts that can be given ("": a file); `several`: more than one path is
    allowed; `bare`: a bare vocab.txt is enough of a model; `help`: of the option; `source_role`:
    role of the artifact that this one was made from ("": none), which must be another one;
    `is_suitable`: whether an artifact with a recorded input `source_role` may be selected first.
    """

    name: str
    flag: str
    label: str
    kind: str = ""
    several: bool = False
    bare: bool = False
    help: str = ""
    choose_flag: Callable[[str], str] | None = None  # path → its flag, if there are several
    source_role: str = ""
    is_suitable: Callable[[Artifact], bool] = lambda artifact: True


MODEL = Role("model", "--model", "Model", "models")
TARGET = Role("target", "--target", "Target model", "models")
TEXT = Role("text", "--corpus", "Text", "corpora", several=True)
VECTORS = Role("vectors", "--vectors", "Word vectors", "vectors")
WORDS = Role("words", "--words", "Word list")
GLOSSARY = Role("glossary", "--glossary", "Glossary", "corpora", several=True)


@dataclass(frozen=True)
class Step:
    """One step, as its file declares it.

    `run` is a function of a StepContext and the settings; it fills the draft folder of its
    StepContext and returns the headline figures, whose names its return type declares: a dataclass,
    or a mapping. The functions below `takes` have defaults that fit most steps.
    """

    name: str
    about: str  # title of its jobs
    settings: type[Any]  # a frozen dataclass
    run: Callable[[Any, Any], Any]
    makes: str  # kind of its artifact
    needs: tuple[Role, ...]
    takes: tuple[Role, ...] = ()  # optional inputs
    seed: str = ""  # attribute path of the seed in the settings; "": no randomness
    libraries: tuple[str, ...] = ("numpy", "tokenizers", "safetensors")  # with recorded versions

    # Its command line.
    command: tuple[str, ...] = ()  # words of its command
    description: str = ""  # longer than `about`, for help
    out: str = "--out"  # flag of the output folder; "": the command only prints
    # (spec, output folder) → the spec whose command line is shown; None: there is none
    express: Callable[[Any, Path], Any] = lambda spec, folder: spec
    # (settings, output folder) → arguments of settings that are written another way than by a flag
    own_arguments: Callable[[Any, Path], list[str]] = lambda settings, folder: []

    # Its jobs.
    resumes: bool = False  # it leaves checkpoints in the folder that its StepContext names
    start_up: float = 0.0  # seconds until the first progress of a tiny job, measured
    # PlannedStep → what it has to do, found without long work; None: unknown
    work: Callable[[Any], Work | None] = lambda planned: None
    writes: Callable[[Any], int] = lambda spec: 0  # bytes, or somewhat fewer
    keeps_inputs: Callable[[Any], bool] = lambda settings: False  # does its result hold a copy?
    grows: bool = False  # its folder is filled in place over several runs, by one process at a time
    # PlannedStep → what to know before it starts, found without long work; None: it has no guards
    guards: Callable[[Any], Iterable[Guard]] | None = None
    # its headline figures → what it came to, shown in place of "done"; "": done
    outcome: Callable[[Mapping[str, Any]], str] = lambda numbers: ""

    @property
    def roles(self) -> dict[str, Role]:
        """All inputs by name, the required ones first."""
        return {role.name: role for role in (*self.needs, *self.takes)}

    @property
    def numbers(self) -> Any:
        """The type of its headline figures."""
        return get_type_hints(self.run).get("return", Numbers)


STEPS: dict[str, Step] = {}


def register_step(step: Step) -> None:
    """Add a step to the registry, and the kind of artifact it makes to those of a workspace.

    Raises InputError for a name that is taken or invalid, and for settings of another step.
    """
    for other in STEPS.values():
        if other.settings is step.settings and other.name != step.name:
            raise InputError(
                f"{step.settings.__name__} are the settings of the step {other.name}.",
                "Give each step a settings class of its own.",
                code="taken-settings",
            )
    register(STEPS, "a step", step.name, step)
    ARTIFACTS.setdefault(step.makes, check_name(step.makes))


def find_step(name: str) -> Step:
    """Return the step of a name; raises InputError if it is unknown."""
    check_choice("step", name, STEPS)
    return STEPS[name]


def read_numbers(artifact: Artifact) -> Any:
    """Return the headline figures of an artifact in the type that its step declares."""
    return build_value(find_step(artifact.manifest.step).numbers, artifact.manifest.numbers)


@dataclass(frozen=True)
class Spec:
    """One step to run: which one, the class of its settings says. `inputs` gives the paths of each
    role (a hub name is allowed for `model`).

    A single path may be given as a string. `casing`: of a model given as a bare vocab.txt, "" to
    infer it. Raises InputError for an unknown role or casing, and for a missing input.
    """

    settings: Any
    inputs: Mapping[str, tuple[str, ...]]
    offline: bool = False
    casing: str = ""

    def __post_init__(self) -> None:
        step = self.declaration
        object.__setattr__(
            self, "inputs", {role: _as_paths(value) for role, value in self.inputs.items() if value}
        )
        _check_roles(step, self.inputs)
        if self.casing:
            check_choice("casing", self.casing, CASINGS)
        if self.casing and "model" not in self.inputs:
            raise InputError(
                "A casing applies only to a bare vocab.txt, and none was given.",
                "Give a model, or no casing.",
                code="unneeded-casing",
            )

    @property
    def declaration(self) -> Step:
        """What is declared about the step; raises InputError if it is not registered any more."""
        for step in STEPS.values():
            if step.settings is type(self.settings):
                return step
        raise InputError(f"No step has the settings {type(self.settings).__name__}.")

    @property
    def step(self) -> str:
        """The name of the step."""
        return self.declaration.name

    @property
    def kind(self) -> str:
        """The kind of artifact the step makes."""
        return self.declaration.makes

    @property
    def seed(self) -> int | None:
        """The seed that the step's randomness comes from; None if it has none."""
        if not self.declaration.seed:
            return None
        seed = attrgetter(self.declaration.seed)(self.settings)
        if isinstance(seed, tuple):
            seed = seed[0]
        return int(seed)

    @property
    def lowercase(self) -> bool | None:
        """The casing as `open_model` takes it; None if inferred."""
        return self.casing == "uncased" if self.casing else None

    def estimate_bytes(self) -> int:
        """Estimate the bytes that the step writes, from below, so that no step is refused that
        would fit; beside them, FLOOR bytes are assumed for any step.
        """
        return self.declaration.writes(self)

    def find_guards(
        self, root: Path | None = None, folder: Path | None = None
    ) -> tuple[Guard, ...]:
        """Return what to know before the step starts; folder: of its artifact, which may grow.

        Empty if an input cannot be read, which the step itself reports.
        """
        if self.declaration.guards is None:
            return ()
        with suppress(InputError):
            return tuple(self.declaration.guards(self.plan(root, folder)))
        return ()

    def plan(
        self, root: Path | None, folder: Path | None = None, threads: int = 0
    ) -> "PlannedStep":
        """Return the step as it is planned; arguments as in `PlannedStep`."""
        spec = self.absolute()
        return PlannedStep(spec, spec.open_inputs(), folder or Path(), root, threads)

    def open_inputs(self) -> OpenedInputs:
        """Return the inputs, each opened when it is first used."""
        corpus = getattr(self.settings, "corpus", CorpusSettings())
        return OpenedInputs(self.inputs, corpus, self.offline, self.lowercase)

    def one(self, role: str) -> str | None:
        """Return the single input of a role, None if there is none."""
        return self.inputs.get(role, (None,))[0]

    def check_distinct_inputs(self) -> None:
        """Raise InputError if an artifact and the one that it was made from are the same.

        Not checked when a spec is built: jobs that an earlier version started must stay readable.
        """
        for role in self.declaration.roles.values():
            made = self.one(role.name)
            source = self.one(role.source_role)
            if made is None or source is None:
                continue
            if os.path.realpath(_absolute_path(made)) == os.path.realpath(_absolute_path(source)):
                source_label = self.declaration.roles[role.source_role].label.lower()
                label = role.label.lower()
                raise InputError(
                    f"The {source_label} and the {label} are the same: {show_path(Path(made))}.",
                    f"Give as {label} one that was made from the {source_label}.",
                    role.name,
                    code="same-inputs",
                )

    def absolute(self) -> "Spec":
        """Return the spec with absolute paths, valid in any working directory; hub names are kept."""
        inputs = {
            role: tuple(_absolute_path(path) for path in paths)
            for role, paths in self.inputs.items()
        }
        return replace(self, inputs=inputs)

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain values."""
        return {
            "step": self.step,
            **asdict(self),
            "inputs": {role: list(paths) for role, paths in self.inputs.items()},
        }

    def to_json(self) -> str:
        """Return the spec as strict JSON."""
        return strict_json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "spec") -> "Spec":
        """Build a spec from plain values; raises InputError, with the name, for unknown ones."""
        unknown = sorted(set(values) - {"step", *(field.name for field in fields(cls))})
        if unknown:
            raise InputError(
                f"{where}: there is no {unknown[0]!r} in a spec.", code="unknown-entry"
            )
        if "step" not in values:
            raise InputError(f"{where}: the step is missing.", code="no-step")
        step = find_step(str(values["step"]))
        settings = values.get("settings", {})
        inputs = values.get("inputs", {})
        if not isinstance(settings, Mapping) or not isinstance(inputs, Mapping):
            raise InputError(
                f"{where}: expected tables under settings and inputs.", code="no-tables"
            )
        offline = values.get("offline", False) is True
        casing = str(values.get("casing", ""))
        chosen = build_settings(step.settings, settings, f"{where}: settings")
        return cls(chosen, dict(inputs), offline, casing)

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
                f"The step {step.name} takes no {name!r}.",
                f"It takes: {', '.join(step.roles)}.",
                code="unknown-role",
            )
        if len(paths) > 1 and not role.several:
            raise InputError(
                f"The step {step.name} takes one {name}, got {len(paths)}.", code="several-inputs"
            )
    for role in step.needs:
        if role.name not in inputs:
            raise InputError(
                f"The step {step.name} needs {role.name}, and none was given.", code="missing-input"
            )


def _as_paths(value: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    if isinstance(value, str | Path):
        value = (value,)
    return tuple(str(path) for path in value)


def _absolute_path(path: str) -> str:
    found = expand_path(path)
    if os.path.exists(found) or (begins_with_folder(path) and not is_cached(path)):
        return str(found.resolve())
    return path  # a hub name


@dataclass(frozen=True, eq=False)
class PlannedStep:
    """A step before it starts, as its guards and its work see it: spec, inputs, folder of its
    artifact, workspace (None if outside).

    threads: the number that it will use; 0 if it is not fixed.
    """

    spec: Spec
    inputs: OpenedInputs
    folder: Path
    root: Path | None
    threads: int = 0

    def measure_work(self) -> Work | None:
        """Return what the step has to do; None if unknown."""
        return self.spec.declaration.work(self)


@dataclass(frozen=True, eq=False)
class StepContext:
    """What a step works with: its spec, its inputs as they were recorded, the folder to fill, the
    workspace (None if outside), progress.

    `checkpoint`: a folder that survives a killed process, for a job that is resumed; None outside a
    job. `used`: the settings that the manifest records, if the step chose some of them itself.
    """

    spec: Spec
    inputs: OpenedInputs
    draft: Path
    root: Path | None
    progress: Progress
    checkpoint: Path | None = None
    used: list[Any] = field(default_factory=list)


def summarize_space(space: EmbeddingSpace) -> SpaceNumbers:
    """Return number of words, dimension, and total count if the words are counted."""
    occurrences = None if space.counts is None else int(space.counts.sum())
    return SpaceNumbers(words=len(space), dim=space.dim, occurrences=occurrences)
