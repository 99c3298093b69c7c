"""Spec: one step of the walk as a value: which step, with which settings, from which inputs; to and from strict JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from vocadapt.analysis.leaderboard import LeaderboardSettings
from vocadapt.errors import InputError
from vocadapt.lab import strict_json
from vocadapt.models.occurrences import ContextualSettings
from vocadapt.recipe import PRESETS, Recipe, settings_from
from vocadapt.spaces.alignment import AlignmentSettings
from vocadapt.spaces.choosing import TokenChoice
from vocadapt.spaces.projectors import ProjectionSettings
from vocadapt.spaces.word2vec import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings
from vocadapt.training.finetune_settings import FinetuneSettings
from vocadapt.training.further import FurtherSettings
from vocadapt.training.pretrain import ScratchSettings


class Unseeded:
    """Settings of a step in which nothing is drawn at random."""

    seed: ClassVar[int | None] = None


@dataclass(frozen=True)
class CorpusStep(Unseeded):
    """How text enters the workspace: by reference to the files, or with `copy` as copies of them."""

    copy: bool = False
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True)
class VectorsStep:
    """Which lines are read, and how the vectors are trained; `resample`: on lines drawn anew with this seed, 0 for the text."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    word2vec: Word2VecSettings = field(default_factory=Word2VecSettings)
    resample: int = 0

    def __post_init__(self) -> None:
        if self.resample < 0:
            raise InputError(f"The seed of the lines drawn anew is {self.resample}.", "Give 0 (the text as it is) or more.")

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.word2vec.seed


@dataclass(frozen=True)
class ContextualStep:
    """Which lines are read, and which vectors in context are made of them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    contextual: ContextualSettings = field(default_factory=ContextualSettings)

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.contextual.seed


@dataclass(frozen=True)
class ImportStep(Unseeded):
    """How foreign vectors are read: the first `limit` words (0: all), cased words folded onto an uncased model.

    `collisions` says how cased spellings of one word are merged. `corpus`: see `only words of this text`.
    """

    limit: int = 0
    fold: bool = False
    collisions: str = "first"
    corpus: CorpusSettings = field(default_factory=CorpusSettings)

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise InputError(f"The row limit is {self.limit}.", "Give 0 (all rows) or a positive number.")


@dataclass(frozen=True)
class AlignmentStep:
    """Which map is kept, how many folds judge it, and whether all maps are judged beside it."""

    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    folds: int = 10
    compare: bool = False

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.alignment.seed


@dataclass(frozen=True)
class ModelStep:
    """The recipe of an adapted model, which lines of a text are read, and whether the certificate is made at once."""

    recipe: Recipe = field(default_factory=lambda: PRESETS["green-bert"])
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    certify: bool = True

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.recipe.vectors.seed


@dataclass(frozen=True)
class LeaderboardStep:
    """How initialisers are judged, and which lines are read of the texts that vectors are trained on and losses asked of."""

    leaderboard: LeaderboardSettings = field(default_factory=LeaderboardSettings)
    corpus: CorpusSettings = field(default_factory=CorpusSettings)

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.leaderboard.seed


@dataclass(frozen=True)
class PretrainStep:
    """Which lines are read, what is built on them from scratch and how it is trained; with `half` saved in float16."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    scratch: ScratchSettings = field(default_factory=ScratchSettings)
    half: bool = False

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.scratch.training.seed


ALL_FOLDS = -1


@dataclass(frozen=True)
class FurtherStep:
    """Which lines are read, and how a model is pretrained further on them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    further: FurtherSettings = field(default_factory=FurtherSettings)

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.further.training.seed


@dataclass(frozen=True)
class FinetuneStep:
    """How a task is trained on, under which tokenization ("": the model's usual one) and seeds.

    `kind` is that of loose files (train, dev, test), `unit` what an example of them is; `scorer` overrules the task's, `fold` is
    one of a k-fold task (1 is the first, ALL_FOLDS all of them), `limit` the examples of each split at most (0: all).
    """

    finetune: FinetuneSettings = field(default_factory=FinetuneSettings)
    tokenization: str = ""
    seeds: tuple[int, ...] = (1,)
    kind: str = ""
    scorer: str = ""
    fold: int = 0
    limit: int = 0
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.seeds or min(self.seeds) < 0:
            raise InputError("Fine-tuning needs seeds of 0 or more.", "Such as --seeds 1 2 3.")
        if self.limit < 0:
            raise InputError(f"The limit is {self.limit}.", "Give 0 (all examples) or a positive number.")

    @property
    def seed(self) -> int:
        """The first seed that the step's randomness comes from."""
        return self.seeds[0]


@dataclass(frozen=True)
class ConvertStep(Unseeded):
    """Turning a model's .bin weights into safetensors has no settings."""


@dataclass(frozen=True)
class MapStep:
    """Which tokens of a space are shown, and how they are laid out in the plane."""

    choice: TokenChoice = field(default_factory=TokenChoice)
    projection: ProjectionSettings = field(default_factory=ProjectionSettings)

    @property
    def seed(self) -> int:
        """The seed that the step's randomness comes from."""
        return self.projection.seed


Settings = (
    CorpusStep | VectorsStep | ContextualStep | ImportStep | AlignmentStep | ModelStep | LeaderboardStep | PretrainStep
    | FurtherStep | FinetuneStep | ConvertStep | MapStep
)


@dataclass(frozen=True)
class Form:
    """What a step is: the settings it takes, the kind of artefact it makes, and its inputs by role."""

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
    "leaderboard": Form(LeaderboardStep, "leaderboards", ("model",), ("vectors", "target", "text", "held_out")),
    "pretrain": Form(PretrainStep, "models", ("text",)),
    "further": Form(FurtherStep, "models", ("model", "text")),
    "finetune": Form(FinetuneStep, "runs", ("model",), ("task", "train", "dev", "test")),
    "convert": Form(ConvertStep, "models", ("model",)),
    "map": Form(MapStep, "maps", ("space",), ("other",)),
}
CASINGS = ("", "cased", "uncased")
SEVERAL = ("text", "held_out")  # the roles that take more than one path


@dataclass(frozen=True)
class Spec:
    """One step to be run. `inputs` gives for each role its paths (a hub name for the role `model`).

    A single path may be given as plain text. `casing` is that of a model given as a bare vocab.txt; empty: inferred.
    Raises InputError for an unknown step, role or casing, and for an input that lacks.
    """

    step: str
    settings: Any
    inputs: Mapping[str, tuple[str, ...]]
    offline: bool = False
    casing: str = ""

    def __post_init__(self) -> None:
        form = form_of(self.step)
        if not isinstance(self.settings, form.settings):
            raise TypeError(f"the step {self.step} takes {form.settings.__name__}, not {type(self.settings).__name__}")
        object.__setattr__(self, "inputs", {role: _several(value) for role, value in self.inputs.items() if value})
        _check_roles(self.step, form, self.inputs)
        if self.casing not in CASINGS:
            raise InputError(f"Unknown casing {self.casing!r}.", f"Choose one of: {', '.join(filter(None, CASINGS))}.")
        if self.casing and "model" not in self.inputs:
            raise InputError("A casing is that of a bare vocab.txt, and none was given.", "Give --model, or no --casing.")

    @property
    def kind(self) -> str:
        """The kind of artefact the step makes."""
        return FORMS[self.step].kind

    @property
    def lowercase(self) -> bool | None:
        """The casing as `open_model` takes it; None where it is inferred."""
        return self.casing == "uncased" if self.casing else None

    def one(self, role: str) -> str | None:
        """The single input of a role, None where there is none."""
        return self.inputs[role][0] if role in self.inputs else None

    def absolute(self) -> "Spec":
        """The same spec with absolute paths, so that it means the same in another working folder; hub names stay."""
        inputs = {role: tuple(_absolute(path) for path in paths) for role, paths in self.inputs.items()}
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
        """Build a spec from plain values; raises InputError for anything it does not know, by name."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown or "step" not in values:
            raise InputError(f"{where}: " + (f"there is no {unknown[0]!r} in a spec." if unknown else "the step is missing."))
        form = form_of(str(values["step"]))
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


def form_of(step: str) -> Form:
    """The form of a step; raises InputError for an unknown one."""
    if step not in FORMS:
        raise InputError(f"Unknown step {step!r}.", f"Choose one of: {', '.join(FORMS)}.")
    return FORMS[step]


def _check_roles(step: str, form: Form, inputs: Mapping[str, tuple[str, ...]]) -> None:
    known = (*form.needs, *form.takes)
    for role, paths in inputs.items():
        if role not in known:
            raise InputError(f"The step {step} takes no {role!r}.", f"It takes: {', '.join(known)}.")
        if len(paths) > 1 and role not in SEVERAL:
            raise InputError(f"The step {step} takes one {role}, got {len(paths)}.")
    for role in form.needs:
        if role not in inputs:
            raise InputError(f"The step {step} needs {role}, and none was given.")


def _several(value: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | Path) else tuple(str(path) for path in value)


def _absolute(path: str) -> str:
    found = Path(path).expanduser()
    return str(found.resolve()) if found.exists() else path
