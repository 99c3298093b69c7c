"""Materials that the user has to reproduce tables: vocabularies, texts, tasks, models, word
vectors.

A folder of data is searched by name:

    DIR/vocab/bert-base-uncased.txt     vocabulary of a model
    DIR/models/bert-base-uncased/       its weights
    DIR/text/…abstracts….txt.gz         a text
    DIR/ner/NCBI-disease/train.tsv      a benchmark, in any folder of DIR, with test.tsv beside it

A model is compared with a published one if its content fits that model (`base_models`), if it was
downloaded under its name, or if the user states it (NAME=DIR).
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.tasks import DOWNLOAD
from vocadapt.lab.workspace.workspace import Workspace, list_adapted_models
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.model_folder import name_of
from vocadapt.published.base_models import find_contradiction, shorten_name
from vocadapt.system.files import expand_path, show_path
from vocadapt.training.tasks.benchmarks import Card, cards, checksum
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.task import TASK, Task, build_task, read_task

WEIGHTS, BENCHMARK = "the weights of ", "the benchmark "  # beginnings of what is missing
SPLIT_NAMES = {"train": ("train",), "dev": ("dev", "devel"), "test": ("test",)}


@dataclass(frozen=True)
class NamedModel:
    """A model folder. name: the name that its scores are reported under, the published name only if
    it is compared with that model; remark: why it has that name, "" if its content shows it.
    """

    name: str
    folder: str
    remark: str = ""


@dataclass(frozen=True)
class NamedVocabulary:
    """A vocabulary. name, remark: as of a NamedModel."""

    name: str
    model: LanguageModel
    remark: str = ""


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
    """The user's data and models, in addition to those in the workspace.

    data: folders; models: base model → folder; stand_in: model that takes the place of a table's
    first base model if that is missing; target, vectors: folders that recipes need.
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
            if folder and not os.path.exists(expand_path(folder)):
                raise InputError(
                    f"{show_path(folder)}: there is no such folder.", "Give an existing folder."
                )
        for place in self.data:
            if not os.path.isdir(expand_path(place)):
                raise InputError(f"{show_path(place)}: is not a folder.", "Give a folder of data.")
        for name, folder in self.models.items():
            if contradiction := find_contradiction(name, open_model(folder)):
                raise InputError(
                    f"{show_path(folder)} is not {name}: {contradiction}.",
                    "Give it without a name: it then stands in for the model, and is not compared.",
                    code="another-model",
                )

    def find_vocabulary(self, name: str) -> NamedVocabulary | None:
        """Return the vocabulary of a model: that of its folder if there is one, else a bare file
        that is named after it and whose content does not contradict the name.
        """
        model = self.find_model(name)
        if model is not None:
            opened = open_model(model.folder, offline=True)
            return NamedVocabulary(model.name, opened, model.remark)
        files = [path for folder in self.data for path in sorted((folder / "vocab").glob("*.txt"))]
        for path in files:
            if is_name_of(path.stem, name):
                opened = open_model(path)
                if named := _choose_name(name, opened, f"the file {path.name}"):
                    return NamedVocabulary(named, opened)
        return None

    def find_model(self, name: str, stand_in: bool = False) -> NamedModel | None:
        """Return the folder of a model by its published name; None if there is none.

        stand_in: whether another model may take its place.
        """
        # 1. As stated by the user; the content was checked above.
        for given, model in self.models.items():
            if given in (name, shorten_name(name)):
                remark = f"taken to be {shorten_name(name)} as you stated"
                return NamedModel(name, model, remark=remark)

        # 2. In a folder of data, or in the workspace. A name alone is not enough.
        for place in self._model_folders:
            if is_name_of(place.name, name):
                named = _choose_name(name, open_model(place), f"the folder {place.name}")
                if named:
                    return NamedModel(named, str(place))

        # 3. Downloaded earlier, from the repository of this name.
        with suppress(InputError):
            opened = open_model(name, offline=True)
            if opened.hub_name:
                return NamedModel(name, str(opened.path))

        # 4. A stand-in keeps its own name.
        if stand_in and self.stand_in:
            own = name_of(expand_path(self.stand_in).resolve())
            return NamedModel(own, self.stand_in)
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
        if self.workspace is not None:
            files += [one.folder for one in self.workspace.artifacts("corpora")]
        return next((path for path in files if word in path.name.lower()), None)

    @cached_property
    def _model_folders(self) -> tuple[Path, ...]:
        """The folders of models: of data, then those of the workspace that were not adapted."""
        places: list[Path] = []
        for folder in self.data:
            places += sorted(path for path in (folder / "models").glob("*") if path.is_dir())
        if self.workspace is not None:
            adapted = {one.folder for one in list_adapted_models(self.workspace)}
            own = [one.folder for one in self.workspace.artifacts("models")]
            places += [folder for folder in own if folder not in adapted]
        return tuple(places)

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
    short = place.name.lower()
    same = [card for name, card in cards().items() if name.partition("/")[2].lower() == short]
    exact = next((card for card in same if _has_files_of(card, files)), None)
    data = exact.name if exact else f"the folder {place.name}, of unknown version"
    inputs = {split: str(path) for split, path in files.items()}
    kind = (exact or same[0]).kind
    return NamedTask(place.name, data, inputs, kind, files["train"].stat().st_size)


def _has_files_of(card: Card, files: Mapping[str, Path]) -> bool:
    for split in ("train", "test"):
        expected = card.files[split].sha256 if split in card.files else ""
        if not expected or checksum(files[split]) != expected:
            return False
    return True


def _choose_name(name: str, model: LanguageModel, place: str) -> str:
    """Return the name to report a model under: the published one if its content fits it, its place
    if nothing is known of the published one, "" if its content contradicts it.
    """
    contradiction = find_contradiction(name, model)
    if contradiction is None:
        return f"{place} (only its name says that it is {shorten_name(name)})"
    return "" if contradiction else name


def is_name_of(short: str, name: str) -> bool:
    """Return whether a file or folder is named after a model, some words of which may be left out.

    Its last word must be that of the model, and so must be the order of its words. Example:
    pubmedbert-abstract-fulltext for …/BiomedNLP-PubMedBERT-base-uncased-abstract-fulltext.
    """
    own = _split_name(short)
    full = _split_name(shorten_name(name))
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
    return f"{WEIGHTS}{shorten_name(name)}"


def advise_task(card: str) -> str:
    """Return what is missing for a benchmark."""
    if card not in cards():
        return f"the data {card}"
    return f"{BENCHMARK}{card}"


def list_needs(missing: Iterable[str]) -> tuple[str, ...]:
    """Return what cells lack: each thing once, weights and benchmarks in one line each.

    missing: of each cell, with "; " between several things.
    """
    groups: dict[str, list[str]] = {WEIGHTS: [], BENCHMARK: []}
    others: list[str] = []
    for one in dict.fromkeys(part for each in missing for part in each.split("; ")):
        kind = next((name for name in groups if one.startswith(name)), "")
        if kind:
            groups[kind].append(one.removeprefix(kind))
        else:
            others.append(one)
    needs = [f"{kind}{', '.join(names)}" for kind, names in groups.items() if names]
    if groups[BENCHMARK]:
        needs.append(f"{shlex.join(DOWNLOAD)} NAME downloads or imports a benchmark")
    return (*others, *needs)
