"""Step: everything that is declared about one step, and the registry of all of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.workspace import Artifact, check_name
from vocadapt.settings import CheckedSettings
from vocadapt.text.corpus import CorpusSettings

Numbers = dict[str, Any]


@dataclass(frozen=True)
class TextStep(CheckedSettings):
    """Settings of steps that read a text: which of its lines are read."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True)
class Role:
    """An input of a step: its name in a spec, and its flag on the command line ("": positional).

    `kind`: kind of the artifacts that can be given ("": a file); `several`: more than one path is
    allowed; `bare`: a bare vocab.txt is enough of a model; `help`: of the option.
    """

    name: str
    flag: str
    label: str
    kind: str = ""
    several: bool = False
    bare: bool = False
    help: str = ""
    choose_flag: Callable[[str], str] | None = None  # path → its flag, if there are several


MODEL = Role("model", "--model", "Model", "models")
TARGET = Role("target", "--target", "Target model", "models")
TEXT = Role("text", "--corpus", "Text", "corpora", several=True)
VECTORS = Role("vectors", "--vectors", "Word vectors", "vectors")
WORDS = Role("words", "--words", "Word list")


@dataclass(frozen=True)
class Step:
    """One step, as its file declares it.

    `run` is a function of a StepContext and the settings; it fills the draft folder of its
    StepContext and returns the headline figures. The functions below `takes` have defaults that fit
    most steps.
    """

    name: str
    about: str  # title of its jobs
    settings: type[Any]  # a frozen dataclass
    run: Callable[[Any, Any], Numbers]
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

    # Its page.
    page: str = ""  # "": a form on the page Jobs, and the result there
    selected_by: str = ""  # query parameter of the page that selects a result by its name

    # Its jobs.
    resumes: bool = False  # it leaves checkpoints in the folder that its StepContext names
    steady: bool = False  # its progress keeps one pace, so that the time left follows from it
    start_up: float = (
        0.0  # seconds until the first progress of a tiny job, measured (see estimates)
    )
    estimate: Callable[[Artifact], float] = lambda artifact: 0.0  # seconds of its work; 0: unknown
    writes: Callable[[Any], int] = lambda spec: 0  # bytes, or somewhat fewer
    keeps_inputs: Callable[[Any], bool] = lambda settings: False  # does its result hold a copy?

    @property
    def roles(self) -> dict[str, Role]:
        """All inputs by name, the required ones first."""
        return {role.name: role for role in (*self.needs, *self.takes)}

    def read_seed(self, settings: Any) -> int | None:
        """Return the seed that the step's randomness comes from; None if it has none."""
        if not self.seed:
            return None
        seed = attrgetter(self.seed)(settings)
        if isinstance(seed, tuple):
            seed = seed[0]
        return int(seed)


STEPS: dict[str, Step] = {}


def register_step(step: Step) -> None:
    """Add a step to the registry, and the kind of artifact it makes to those of a workspace.

    Raises InputError for a name that is taken or invalid.
    """
    register(STEPS, "a step", step.name, step)
    ARTIFACTS.setdefault(step.makes, check_name(step.makes))


def find_step(name: str) -> Step:
    """Return the step of a name; raises InputError if it is unknown."""
    if name not in STEPS:
        raise InputError(f"Unknown step {name!r}.", f"Choose one of: {', '.join(STEPS)}.")
    return STEPS[name]
