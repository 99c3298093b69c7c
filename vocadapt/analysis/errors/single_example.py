"""The prediction of a run for one example: under each tokenization, with probabilities and votes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.analysis.errors.votes import Vote, find_votes
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.finetune.tokenizations import POOLED, choose_main_tokenization
from vocadapt.training.labels import Logits
from vocadapt.training.tasks.examples import Example, Prediction


@dataclass(frozen=True, eq=False)
class ExamplePrediction:
    """The logits of one example under each tokenization, and the predictions they give.

    logits: tokenization → (rows, outputs) float32; ner has a row for each word, others one row.
    """

    example: Example
    outputs: Outputs
    logits: Mapping[str, Logits]

    @property
    def tokenization(self) -> str:
        """The tokenization whose prediction counts."""
        return choose_main_tokenization(self.logits)

    @cached_property
    def predictions(self) -> dict[str, Prediction]:
        """The prediction under each tokenization."""
        return {
            name: self.outputs.predict(rows, self.example) for name, rows in self.logits.items()
        }

    def probabilities(self, tokenization: str) -> NDArray[np.float64]:
        """Return the probability of each output, (rows, outputs) float64.

        The outputs of a row sum to 1; for multilabel each has a probability of its own.
        """
        from scipy.special import expit, softmax

        logits = self.logits[tokenization].astype(np.float64)
        if self.outputs.kind.several_labels:
            return np.asarray(expit(logits))
        return np.asarray(softmax(logits, axis=1))

    @cached_property
    def votes(self) -> tuple[tuple[int, Vote], ...]:
        """Each disagreement of the two tokenizations: row of the logits, and the vote."""
        return tuple(find_votes(self.outputs, self.logits, self.example))


def predict_example(run: SavedRun, example: Example) -> ExamplePrediction:
    """Predict one example under each tokenization of a run.

    Raises InputError if the run cannot read the example.
    """
    logits = {name: rows[0] for name, rows in run.logits([example]).items()}
    return ExamplePrediction(example, run.outputs, logits)


def find_disagreement(run: SavedRun) -> Example | None:
    """Return the first test example that the two tokenizations of a run predict differently.

    If there is none, return the first test example; None if the run was not tested.
    """
    if not run.tested:
        return None
    kept = run.kept
    names = [name for name in kept.predicted if name != POOLED]
    for place, example in enumerate(kept.split.examples):
        if len({str(kept.predicted[name][place]) for name in names}) > 1:
            return example
    return kept.split.examples[0]
