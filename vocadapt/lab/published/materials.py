"""What the user has for reproducing tables: vocabularies, texts, tasks, models and word vectors.

A folder of data is searched by name:

    DIR/vocab/bert-base-uncased.txt     vocabulary of a model
    DIR/models/bert-base-uncased        its weights
    DIR/text/…abstracts….txt.gz         a text
    DIR/ner/NCBI-disease/train.tsv      a benchmark, in any folder of DIR, with test.tsv beside it
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import expand_path, show_path
from vocadapt.lab.artifacts.tasks import DOWNLOAD
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.training.tasks.benchmarks import Card, cards, checksum
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.task import TASK, Task, build_task, read_task

SPLIT_NAMES = {"train": ("train",), "dev": ("dev", "devel"), "test": ("test",)}
GENERIC = ("model", "final", "checkpoint")  # names of folders that any model may have


@dataclass(frozen=True)
class NamedModel:
    """A model folder. name: what its scores are reported under; is_stand_in: whether it takes the
    place of a model that is not there.
    """

    name: str
    folder: str
    is_stand_in: bool = False


@dataclass(frozen=True)
class NamedTask:
    """A benchmark on this machine. data: its card, if the files are those of the card; else a
    description. inputs, kind: as in a task of a study. bytes: of its training examples.
    """

    name: str
    data: str
    inputs: Mapping[str, str]
    kind: str
    bytes: int

    def read(self) -> Task:
        """Read the examples."""
        if "task" in self.inputs:
            return read_task(Path(self.inputs["task"]))
        files = {split: Path(path) for split, path in self.inputs.items()}
        return build_task(find_kind(self.kind), files)


@dataclass(frozen=True)
class Materials:
    """What the user has. data: folders; models: base model → folder; stand_in: model that takes the
    place of a table's first base model if that is not there; target, vectors: folders that recipes
    need.
    """

    workspace: Workspace | None = None
    data: tuple[Path, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    stand_in: str = ""
    target: str = ""
    vectors: str = ""

    def __post_init__(self) -> None:
        others = (*self.models.values(), self.stand_in, self.target, self.vectors)
        for folder in (*map(str, self.data), *others):
            if folder and not expand_path(folder).exists():
                raise InputError(
                    f"{show_path(folder)}: there is no such folder.", "Give a folder that is there."
                )
        for place in self.data:
            if not expand_path(place).is_dir():
                raise InputError(f"{show_path(place)}: is not a folder.", "Give a folder of data.")

    def find_vocabulary(self, name: str) -> LanguageModel | None:
        """Return the vocabulary of a model: of its weights if they are there, else a bare file."""
        model = self.find_model(name)
        if model is not None:
            return open_model(model.folder, offline=True)
        files = [path for folder in self.data for path in sorted((folder / "vocab").glob("*.txt"))]
        found = next((path for path in files if is_name_of(path.stem, name)), None)
        return open_model(found) if found else None

    def find_model(self, name: str, stand_in: bool = False) -> NamedModel | None:
        """Return the weights of a model by its published name; None if they are not there.

        stand_in: whether another model may take its place.
        """
        # 1. As given, in a folder of data, or downloaded earlier.
        for given, model in self.models.items():
            if given in (name, shorten_name(name)):
                return NamedModel(name, model)
        for folder in self.data:
            for place in sorted((folder / "models").glob("*")):
                if place.is_dir() and is_name_of(place.name, name):
                    return NamedModel(name, str(place))
        with suppress(InputError):
            return NamedModel(name, str(open_model(name, offline=True).path))

        # 2. A stand-in keeps its own name.
        if stand_in and self.stand_in:
            return NamedModel(name_model(self.stand_in), self.stand_in, is_stand_in=True)
        return None

    def find_task(self, card: str) -> NamedTask | None:
        """Return a benchmark: with the files of its card, else another version of the same name."""
        short = card.partition("/")[2].lower()
        fitting = [task for task in self.tasks if task.name.lower() == short]
        exact = [task for task in fitting if task.data == card]
        return next(iter((*exact, *fitting)), None)

    def find_text(self, word: str) -> Path | None:
        """Return the first text whose name contains a word."""
        files = [path for folder in self.data for path in sorted((folder / "text").glob("*"))]
        return next((path for path in files if word in path.name.lower()), None)

    @cached_property
    def tasks(self) -> tuple[NamedTask, ...]:
        """The benchmarks in the workspace, then those in the folders of data."""
        return (*self._list_own_tasks(), *self._list_folders())

    def _list_own_tasks(self) -> Iterator[NamedTask]:
        if self.workspace is None:
            return
        for artifact in self.workspace.artifacts("tasks"):
            card = str(artifact.manifest.settings.get("card") or "")
            data = card or f"task {artifact.name}"
            name = card.partition("/")[2] or artifact.name
            size = sum(path.stat().st_size for path in artifact.folder.glob("train*"))
            yield NamedTask(name, data, {"task": str(artifact.folder)}, "", size)

    def _list_folders(self) -> Iterator[NamedTask]:
        """Yield the benchmarks of the folders of data, by the names of their folders."""
        names = {name.partition("/")[2].lower() for name in cards()}
        for folder in self.data:
            for place in sorted((*folder.glob("*/"), *folder.glob("*/*/"))):
                if place.name.lower() not in names:
                    continue
                if (place / TASK).is_file():
                    size = sum(path.stat().st_size for path in place.glob("train*"))
                    data = f"the folder {place.name}"
                    yield NamedTask(place.name, data, {"task": str(place)}, "", size)
                elif task := _describe_files(place):
                    yield task


def _describe_files(place: Path) -> NamedTask | None:
    """Describe a folder with single files; None if it lacks training or test examples."""
    files: dict[str, Path] = {}
    for split, names in SPLIT_NAMES.items():
        found = [path for name in names for path in sorted(place.glob(f"{name}.*"))]
        if found:
            files[split] = found[0]
    if "train" not in files or "test" not in files:
        return None
    same = [card for name, card in cards().items() if is_benchmark(name, place.name)]
    exact = next((card for card in same if _has_files_of(card, files)), None)
    data = exact.name if exact else f"the folder {place.name}, of unknown version"
    inputs = {split: str(path) for split, path in files.items()}
    kind = (exact or same[0]).kind
    return NamedTask(place.name, data, inputs, kind, files["train"].stat().st_size)


def is_benchmark(card: str, name: str) -> bool:
    """Return whether a card is of the benchmark of a name, in any version."""
    return card.partition("/")[2].lower() == name.lower()


def _has_files_of(card: Card, files: Mapping[str, Path]) -> bool:
    """Return whether training and test files are, to the bit, those of a card."""
    for split in ("train", "test"):
        expected = card.files[split].sha256 if split in card.files else ""
        if not expected or checksum(files[split]) != expected:
            return False
    return True


def name_model(folder: str) -> str:
    """Return the name of a model folder, or of its parent if it has a generic name."""
    place = expand_path(folder).resolve()
    return place.parent.name if place.name in GENERIC else place.name


def shorten_name(name: str) -> str:
    """Return a base model's name without its owner and without a remark."""
    return name.partition(";")[0].rpartition("/")[2]


def is_name_of(short: str, name: str) -> bool:
    """Return whether a file or folder is named after a model, some words of which may be left out.

    Its last word must be that of the model, and so must be the order of its words. Example:
    pubmedbert-abstract-fulltext for …/BiomedNLP-PubMedBERT-base-uncased-abstract-fulltext.
    """
    own, full = _split_name(short), _split_name(shorten_name(name))
    if own == full or (len(full) == 1 and own[:1] == full):
        return True
    if len(own) < 2 or own[-1] != full[-1]:
        return False
    rest = iter(full)
    return all(word in rest for word in own)


def _split_name(name: str) -> Sequence[str]:
    return re.split(r"[-_]+", name.lower())


def advise_model(name: str) -> str:
    """Return what is missing for a model, and how to get it."""
    return f"the weights of {shorten_name(name)}"


def advise_task(card: str) -> str:
    """Return what is missing for a benchmark, and the command that gets it."""
    known = cards().get(card)
    if known is None:
        return f"the data {card}"
    verb = "downloads" if known.free else "imports"
    return f"the benchmark {card}; {shlex.join(DOWNLOAD)} {card} {verb} it"
