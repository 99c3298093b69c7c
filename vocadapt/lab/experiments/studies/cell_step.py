"""The steps of a study, identified by a digest of everything that determines their result:
settings, contents of the inputs, and number of threads.

The name of a step ends in its digest, so after a change of the file all results that did not change
are found again. A result keeps its first name, even if its variant is renamed.
"""

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from vocadapt.lab.experiments.studies.study_file import StudyTask
from vocadapt.lab.inputs.tasks import find_task
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import MANIFEST, record_input
from vocadapt.lab.workspace.workspace import Workspace, simplify_name
from vocadapt.models.language_model import open_model
from vocadapt.training.tasks.task import list_task_files

DIGEST = 16  # hexadecimal digits in a name: enough for the cells of many studies
STEP_NAME = re.compile(rf".+-([0-9a-f]{{{DIGEST}}})")  # the name of a step; group 1: its digest
LONGEST = 60  # characters of a name before its digest
MODELS = ("model", "target")  # roles of models
VECTORS = "vectors"  # name of the step that trains word vectors
# Settings added after the first studies, such as that of the demo → the value with which results do
# not change. With this value a setting is left out of digests, so that an update does not repeat
# studies: add new settings here, as group.name if another group has a setting of this name.
ADDED_SETTINGS: Mapping[str, object] = {
    "state_layer": 0,
    "trained": "all",
    "fill_reserved": False,
    "cover": 0.0,
    "keep": 0,
    "characters": "text",
    "vector_length": "method",
    "mlp_epochs": 40,
    "induction_rounds": 10,
    "induction_cutoff": 4000,
    "trainer": "gensim",
    "cbow_sum": False,
    "drop_copies": False,
    "alignment.options": {},
}


@dataclass(frozen=True)
class CellStep:
    """A step of a study.

    `name`: name of its artifact. `threads`: number of threads. `needs`: the step that makes one of
    its inputs (word vectors for a model, a model for a cell); None if the study makes none.
    `stamps`: role → stamp of the other inputs.
    """

    name: str
    spec: Spec
    threads: int
    needs: "CellStep | None" = None
    stamps: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The digest of everything that determines its result."""
        return self.name[-DIGEST:]

    @property
    def title(self) -> str:
        """Its name without the digest."""
        return self.name[: -DIGEST - 1]

    def find_folder(self, root: Path) -> Path:
        """Return the folder of its artifact in a study's folder."""
        return root / self.spec.kind / self.name

    def is_whole(self, root: Path) -> bool:
        """Return whether its artifact is complete: the manifest is written last."""
        return (self.find_folder(root) / MANIFEST).is_file()

    @property
    def chain(self) -> tuple["CellStep", ...]:
        """The steps that make its inputs, in the order in which they run, and the step itself."""
        if self.needs is None:
            return (self,)
        return (*self.needs.chain, self)

    def list_unfinished(self, root: Path) -> tuple["CellStep", ...]:
        """Return the steps that must run for its artifact, in order; () if it is complete."""
        if self.is_whole(root):
            return ()
        if self.needs is None:
            return (self,)
        return (*self.needs.list_unfinished(root), self)

    @property
    def given_spec(self) -> Spec:
        """Its spec as in the file of the study: for a model, with the text instead of the word
        vectors that the study trains on it.
        """
        if self.needs is None or self.needs.spec.step != VECTORS:
            return self.spec
        inputs = {role: paths for role, paths in self.spec.inputs.items() if role != "vectors"}
        return replace(self.spec, inputs=inputs | {"text": self.needs.spec.inputs["text"]})


def compute_digest(spec: Spec, stamps: Mapping[str, str], threads: int) -> str:
    """Return a digest of everything that determines the result of a step.

    stamps: role → stamp of its input. Seeds of a fine-tuning are left out: cells add their own.
    """
    settings = _leave_out_added(asdict(spec.settings))
    settings.pop("seeds", None)
    content = [spec.step, settings, spec.casing, dict(stamps), threads]
    text = json.dumps(content, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=DIGEST // 2).hexdigest()


def _leave_out_added(settings: Mapping[str, Any], group: str = "") -> dict[str, Any]:
    """Return the settings of a group, nested ones too, without the ADDED_SETTINGS that do not
    change results.
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        keys = ADDED_SETTINGS.keys() & {name, f"{group}.{name}"}
        if any(value == ADDED_SETTINGS[key] for key in keys):
            continue
        found[name] = _leave_out_added(value, name) if isinstance(value, dict) else value
    return found


class Names:
    """Names of steps in the folder of a study: a step whose digest is found there keeps its
    name.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._known: dict[str, str] = {}
        if root is None:
            return
        names: list[str] = []
        for kind in ("jobs", "models", "runs"):
            with suppress(OSError):  # there is no such folder yet
                names += sorted(os.listdir(root / kind))
        for name in names:
            if match := STEP_NAME.fullmatch(name):
                self._known[match[1]] = name

    def find(self, parts: Sequence[str], digest: str) -> str:
        """Return the name of a step: green-linnaeus-seed-1-0a1b2c3d4e5f6a7b."""
        if digest not in self._known:
            words = simplify_name("-".join(filter(None, parts)))
            self._known[digest] = f"{words[:LONGEST].rstrip('-_.')}-{digest}"
        return self._known[digest]


class Stamps:
    """Stamps of inputs, and tasks by name; each input is read once.

    offline: as in `open_model`.
    """

    def __init__(self, workspace: Workspace | None, offline: bool | None = None) -> None:
        self.workspace = workspace
        self.offline = offline
        self._find = cache(partial(stamp_input, offline=offline))

    def find_all(self, spec: Spec, made: Collection[str] = ()) -> dict[str, str]:
        """Return role → stamp. made: roles of inputs that the study makes itself, left out."""
        return {
            role: self._find(role, paths) for role, paths in spec.inputs.items() if role not in made
        }

    def find_task(self, task: StudyTask) -> dict[str, str]:
        """Return the inputs of a task, which may be one of the workspace."""
        if "task" not in task.inputs:
            return dict(task.inputs)
        return {"task": str(find_task(task.inputs["task"], self.workspace))}


def stamp_input(role: str, paths: tuple[str, ...], offline: bool | None = None) -> str:
    """Return the stamp of an input as it is now; raises InputError if it cannot be read.

    offline: as in `open_model`.
    """
    places = [Path(path) for path in paths]
    if role in MODELS:  # it may be the hub name of a model
        places = [open_model(paths[0], offline).path]
    elif role == "task":
        places = list_task_files(places[0])
    return record_input(places).stamp
