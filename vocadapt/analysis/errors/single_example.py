"""One example tried on a run: what each cut says of it, how surely, and where the cuts disagree."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.analysis.errors.votes import Vote, find_vote
from vocadapt.training.finetune.mixture import POOLED, choose_main_tokenization
from vocadapt.training.finetune.outputs import Logits, Outputs, Prediction
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.base import Example, Sentence


@dataclass(frozen=True, eq=False)
class ExamplePrediction:
    """The logits of one example under every cut, rows being words or 1, and what they say."""

    example: Example
    outputs: Outputs
    logits: Mapping[str, Logits]

    @property
    def cut(self) -> str:
        """The cut that counts."""
        return choose_main_tokenization(self.logits)

    @cached_property
    def said(self) -> dict[str, Prediction]:
        """What is predicted under every cut."""
        return {cut: self.outputs.said(rows, self.example) for cut, rows in self.logits.items()}

    def shares(self, cut: str) -> NDArray[np.float64]:
        """The probability of every output, (rows, outputs): of all outputs together 1, for
        multilabel each by itself.
        """
        logits = self.logits[cut].astype(np.float64)
        if self.outputs.kind == "multilabel":
            return np.asarray(1 / (1 + np.exp(-logits)))
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    @cached_property
    def votes(self) -> tuple[tuple[int, Vote], ...]:
        """Every place where the two cuts disagree: the number of the word (or 0), and who was
        outvoted.
        """
        if isinstance(self.example, Sentence):
            asked = [
                (row, find_vote(self.outputs, self.logits, self.example, [row]))
                for row in range(len(self.example.words))
            ]
        elif self.outputs.kind == "multilabel":
            asked = [
                (0, find_vote(self.outputs, self.logits, self.example, label=label))
                for label in self.outputs.names
            ]
        else:
            asked = [(0, find_vote(self.outputs, self.logits, self.example))]
        return tuple((row, vote) for row, vote in asked if vote is not None)


def predict_example(run: SavedRun, example: Example) -> ExamplePrediction:
    """Predict one example under every cut of a run; raises InputError for what the run cannot
    read.
    """
    return ExamplePrediction(
        example, run.outputs, {cut: rows[0] for cut, rows in run.logits([example]).items()}
    )


def find_disagreement(run: SavedRun) -> Example | None:
    """The first test example of a run of which its two cuts said different things, else the first
    one; None without any.
    """
    if not run.tested:
        return None
    kept = run.kept
    names = [cut for cut in kept.said if cut != POOLED]
    for place, example in enumerate(kept.split.examples):
        if len({str(kept.said[cut][place]) for cut in names}) > 1:
            return example
    return kept.split.examples[0]
