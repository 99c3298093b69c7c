"""StepContext: what a step works with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.artifacts.open_space import OpenedSpace, open_space
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.step import Numbers
from vocadapt.lab.workspace.manifest import Input, record_input
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import Corpus
from vocadapt.training.tasks.task import files_of_task


@dataclass(frozen=True, eq=False)
class StepContext:
    """What a step works with: its spec, the folder to fill, the workspace (None if outside),
    progress.

    `checkpoint`: a folder that survives a killed process, for a job that is resumed; None outside a
    job.
    """

    spec: Spec
    draft: Path
    root: Path | None
    progress: Progress
    checkpoint: Path | None = None

    @cached_property
    def model(self) -> LanguageModel:
        """The language model of the spec."""
        # With a target the casing is the target's: that is the bare vocabulary.
        casing = None if self.spec.one("target") else self.spec.lowercase
        return open_model(self.spec.inputs["model"][0], self.spec.offline or None, casing)

    @cached_property
    def target(self) -> LanguageModel | None:
        """The model whose vocabulary is taken over, if any."""
        name = self.spec.one("target")
        return open_model(name, self.spec.offline or None, self.spec.lowercase) if name else None

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The word vectors of the spec."""
        return load_space(Path(self.spec.inputs["vectors"][0]))

    @cached_property
    def text(self) -> Corpus:
        """The text of the spec, as its settings `corpus` say."""
        return read_corpus(self.spec.inputs["text"], self.spec.settings.corpus)

    def opened(self, role: str) -> OpenedSpace:
        """Open the space of a role (embeddings of a model or word vectors); cached."""
        if role not in self._opened:
            self._opened[role] = open_space(self.spec.inputs[role][0], self.spec.offline or None)
        return self._opened[role]

    @cached_property
    def _opened(self) -> dict[str, OpenedSpace]:
        return {}

    def inputs(self) -> dict[str, Input]:
        """Return the stamps of all inputs."""
        opened: dict[str, Callable[[], list[Path]]] = {
            "model": lambda: [self.model.path],
            "target": lambda: [self.target.path] if self.target else [],
            "task": lambda: files_of_task(Path(self.spec.inputs["task"][0])),
        }
        for role in ("space", "other"):
            opened[role] = lambda role=role: [self.opened(role).folder]  # type: ignore[misc]
        return {
            role: record_input(
                opened[role]() if role in opened else [Path(path) for path in paths], self.root
            )
            for role, paths in self.spec.inputs.items()
        }


def summarize_space(space: EmbeddingSpace) -> Numbers:
    """Return number of words, dimension, and total count if the words are counted."""
    counted = {} if space.counts is None else {"occurrences": int(space.counts.sum())}
    return {"words": len(space), "dim": space.dim, **counted}
