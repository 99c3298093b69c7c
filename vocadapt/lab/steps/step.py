"""Step: everything that is declared about one step, and the registry of all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from vocadapt.errors import InputError

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Role:
    """An input of a step: its name in a spec, and its flag on the command line ("": positional).

    `kind`: kind of the artifacts that can be given; `several`: more than one path is allowed.
    """

    name: str
    flag: str
    label: str
    kind: str = ""
    several: bool = False


MODEL = Role("model", "--model", "Model", "models")
TARGET = Role("target", "--target", "Target model", "models")
TEXT = Role("text", "--corpus", "Text", "corpora", several=True)
VECTORS = Role("vectors", "--vectors", "Word vectors", "vectors")
WORDS = Role("words", "--words", "Word list")


@dataclass(frozen=True)
class Step:
    """One step, as its file declares it.

    `run` is a function of a Task and the settings that fills the draft folder of the task and
    returns the headline figures.

    `about`: title of its jobs; `settings`: its settings dataclass; `makes`: kind of its artifact;
    `needs` and `takes`: required and optional inputs; `libraries`: those whose versions are
    recorded; `seed`: attribute path of the seed in the settings ("": no randomness); `steady`: its
    progress keeps one pace, so that the time left follows from it.
    """

    name: str
    about: str
    settings: type[Any]
    run: Callable[[Any, Any], Numbers]
    makes: str
    needs: tuple[Role, ...]
    takes: tuple[Role, ...] = ()
    libraries: tuple[str, ...] = ("numpy", "tokenizers", "safetensors")
    seed: str = ""
    steady: bool = False

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
    """Add a step to the registry; raises InputError if its name is taken."""
    if step.name in STEPS:
        raise InputError(f"There is a step {step.name!r} already.", "Choose another name.")
    STEPS[step.name] = step


def find_step(name: str) -> Step:
    """Return the step of a name; raises InputError if it is unknown."""
    if name not in STEPS:
        raise InputError(f"Unknown step {name!r}.", f"Choose one of: {', '.join(STEPS)}.")
    return STEPS[name]
