"""The inputs of a step, opened: its model, text, word vectors and spaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.inputs.open_space import OpenedSpace, open_space
from vocadapt.lab.workspace.manifest import Input, record_input
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.training.tasks.task import list_task_files

SPACE_ROLES = ("space", "other", "before", "after", "noise")  # inputs that are spaces of any kind


@dataclass(frozen=True, eq=False)
class OpenedInputs:
    """The inputs of a step by role, each opened when it is first used.

    paths: the paths of each role; a hub name is allowed for `model` and `target`. corpus: which
    lines of the text are read. offline: whether nothing may be downloaded. lowercase: the casing of
    a bare vocab.txt; None if it is inferred.
    """

    paths: Mapping[str, tuple[str, ...]]
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    offline: bool = False
    lowercase: bool | None = None

    @cached_property
    def model(self) -> LanguageModel:
        """The language model."""
        # With a target the casing is the target's: that is the bare vocabulary.
        casing = None if "target" in self.paths else self.lowercase
        return open_model(self.paths["model"][0], self.offline or None, casing)

    @cached_property
    def target(self) -> LanguageModel | None:
        """The model whose vocabulary is taken over, if any."""
        if "target" not in self.paths:
            return None
        return open_model(self.paths["target"][0], self.offline or None, self.lowercase)

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The word vectors."""
        return load_space(Path(self.paths["vectors"][0]))

    @cached_property
    def text(self) -> Corpus:
        """The text."""
        return read_corpus(self.paths["text"], self.corpus)

    def open_space(self, role: str, place: int = 0) -> OpenedSpace:
        """Open the space of a role, embeddings or word vectors, or one of several; cached."""
        path = self.paths[role][place]
        if path not in self._opened:
            self._opened[path] = open_space(path, self.offline or None)
        return self._opened[path]

    def record(self, root: Path | None) -> dict[str, Input]:
        """Return what a manifest records of each input. root: of the workspace; None outside one."""
        return {role: record_input(self._list_paths(role), root) for role in self.paths}

    def _list_paths(self, role: str) -> list[Path]:
        """Return the places of the inputs of a role, which may be given as hub names."""
        given = self.paths[role]
        if role == "model":
            return [self.model.path]
        if role == "target" and self.target:
            return [self.target.path]
        if role == "task":
            return list_task_files(Path(given[0]))
        if role in SPACE_ROLES:
            return [self.open_space(role, place).folder for place in range(len(given))]
        return [Path(path) for path in given]

    @cached_property
    def _opened(self) -> dict[str, OpenedSpace]:
        return {}
