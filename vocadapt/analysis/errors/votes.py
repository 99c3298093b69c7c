"""Predictions of a run under each tokenization of an example, and the votes between them: which
tokenization the pooled prediction overrules, and by how many logits.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.training.encoding.model_tokenizers import ADAPTED, BASE
from vocadapt.training.examples.examples import Example, Prediction
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.finetune.tokenizations import (
    ALL_TOKENIZATIONS,
    POOLED,
    choose_main_tokenization,
)
from vocadapt.training.labels import Logits
from vocadapt.training.tasks.kinds.judgment import Unit

MAX_ANSWER = 60  # characters of an answer in `Vote.line`


@dataclass(frozen=True)
class Vote:
    """A disagreement between the base and the adapted tokenization on a word or a text.

    `at`: the word, "" for a whole text. `predicted`: the predictions of base, adapted and pooled.
    `margins`: by how many logits base and adapted prefer their own prediction to the other's.
    """

    at: str
    predicted: Mapping[str, str]
    margins: Mapping[str, float]

    @property
    def outvoted(self) -> tuple[str, ...]:
        """The tokenizations whose prediction differs from the pooled one."""
        pooled = self.predicted[POOLED]
        return tuple(name for name in (BASE, ADAPTED) if self.predicted[name] != pooled)

    @property
    def line(self) -> str:
        """Description: "base tokenization outvoted by adapted tokenization (2.1 against …)"."""
        if len(self.outvoted) != 1:
            pooled = self.predicted[POOLED] or "nothing"
            if len(pooled) > MAX_ANSWER:
                pooled = f"{pooled[:MAX_ANSWER]}…"
            return f"neither tokenization prevailed: their mean predicts {pooled}"
        loser = self.outvoted[0]
        winner = {BASE: ADAPTED, ADAPTED: BASE}[loser]
        return (
            f"{loser} tokenization outvoted by {winner} tokenization"
            f" ({self.margins[winner]:.1f} against {self.margins[loser]:.1f} logits)"
        )


def find_votes(
    outputs: Outputs,
    logits: Mapping[str, Logits],
    example: Example,
    units: Iterable[Unit] | None = None,
) -> Iterator[tuple[int, Vote]]:
    """Yield each disagreement between the two tokenizations: the row of the logits, and the vote.

    units: ignore disagreements that do not concern them. logits: tokenization → (rows, outputs)
    float32 of this example; nothing is yielded if a tokenization is missing.
    """
    if any(name not in logits for name in ALL_TOKENIZATIONS):
        return
    for choice in outputs.kind.find_choices(example, outputs.names, units):
        # 1. The choice of each tokenization and of their mean; one of them may make none.
        chosen = {name: choice.pick(logits[name]) for name in ALL_TOKENIZATIONS}
        if None in chosen.values():
            continue
        predicted = {name: choice.describe(option) for name, option in chosen.items()}
        if predicted[BASE] == predicted[ADAPTED]:
            continue

        # 2. The margin by which each of the two prefers its own choice to the other's.
        margins = {}
        for name, other in ((BASE, ADAPTED), (ADAPTED, BASE)):
            preferred = choice.score(logits[name], chosen[name])
            margins[name] = preferred - choice.score(logits[name], chosen[other])
        yield choice.row, Vote(choice.at, predicted, margins)


def find_vote(
    outputs: Outputs,
    logits: Mapping[str, Logits],
    example: Example,
    units: Iterable[Unit] | None = None,
) -> Vote | None:
    """Return the vote with the largest margin on an example, or on some of its units.

    None if the tokenizations agree, or if one is missing.
    """
    votes = [vote for _, vote in find_votes(outputs, logits, example, units)]
    return max(votes, key=lambda vote: max(vote.margins.values()), default=None)


@dataclass(frozen=True, eq=False)
class ExamplePrediction:
    """The logits of one example under each tokenization, and the resulting predictions.

    logits: tokenization → (rows, outputs) float32; NER has a row for each word, other tasks one.
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

        Each row sums to 1, except for multilabel tasks, whose labels are independent.
        """
        from scipy.special import expit, softmax

        logits = self.logits[tokenization].astype(np.float64)
        if self.outputs.kind.is_multilabel:
            return np.asarray(expit(logits))
        return np.asarray(softmax(logits, axis=1))

    @cached_property
    def votes(self) -> tuple[tuple[int, Vote], ...]:
        """The disagreements between the two tokenizations: row of the logits, and the vote."""
        return tuple(find_votes(self.outputs, self.logits, self.example))


def predict_example(run: SavedRun, example: Example) -> ExamplePrediction:
    """Predict one example under each tokenization of a run.

    Raises InputError if the run cannot read the example.
    """
    logits = {name: rows[0] for name, rows in run.logits([example]).items()}
    return ExamplePrediction(example, run.outputs, logits)


def find_disagreement(run: SavedRun) -> Example | None:
    """Return the first test example with different predictions under the tokenizations of a run.

    If there is none, return the first test example; None if the run was not tested.
    """
    if not run.tested:
        return None
    saved = run.test_predictions
    predicted = [own for name, own in saved.predicted.items() if name != POOLED]
    for place, example in enumerate(saved.split.examples):
        if len({str(own[place]) for own in predicted}) > 1:
            return example
    return saved.split.examples[0]
