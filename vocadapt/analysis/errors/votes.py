"""Votes between the two tokenizations of a run: what each predicts, what their mean predicts, and
which one is outvoted, by how many logits.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocadapt.training.finetune.encoding import ADAPTED, BASE
from vocadapt.training.finetune.mixture import ALL_TOKENIZATIONS, POOLED
from vocadapt.training.finetune.outputs import Logits, Outputs
from vocadapt.training.tasks.context_windows import AnswerSettings, best_spans, word_bounds
from vocadapt.training.tasks.examples import Question

MAX_ANSWER = 60  # characters of an answer in `Vote.line`
Option = Any  # index of an output, or a pair of words (start, end)


@dataclass(frozen=True)
class Vote:
    """A disagreement of the base and the adapted tokenization at one place.

    `at`: the word, "" for a whole text. `predicted`: the prediction of base, adapted and pooled.
    `margins`: by how many logits base and adapted prefer their own prediction to the other's.
    """

    at: str
    predicted: Mapping[str, str]
    margins: Mapping[str, float]

    @property
    def outvoted(self) -> tuple[str, ...]:
        """The tokenizations whose prediction differs from the pooled one."""
        return tuple(
            name for name in (BASE, ADAPTED) if self.predicted[name] != self.predicted[POOLED]
        )

    @property
    def line(self) -> str:
        """In words: "base tokenization outvoted by adapted tokenization (2.1 against …)"."""
        if len(self.outvoted) != 1:
            pooled = self.predicted[POOLED] or "nothing"
            if len(pooled) > MAX_ANSWER:
                pooled = f"{pooled[:MAX_ANSWER]}…"
            return f"neither tokenization prevailed: their mean predicts {pooled}"
        loser = self.outvoted[0]
        winner = ADAPTED if loser == BASE else BASE
        return (
            f"{loser} tokenization outvoted by {winner} tokenization"
            f" ({self.margins[winner]:.1f} against {self.margins[loser]:.1f} logits)"
        )


def find_vote(
    outputs: Outputs,
    logits: Mapping[str, Logits],
    example: Any,
    places: Collection[int] = (),
    label: str = "",
) -> Vote | None:
    """Return the vote on an example, or None if the tokenizations agree or one is missing.

    ner: the vote with the largest margin among the words at `places`; multilabel: on `label`.
    logits: tokenization → (rows, outputs) float32 of this example.
    """
    if any(name not in logits for name in ALL_TOKENIZATIONS):
        return None
    if isinstance(example, Question):
        return _vote_on_answer(logits, example)
    if outputs.kind == "multilabel":
        return _vote_on_label(outputs, logits, label)
    rows = [0]
    if outputs.kind == "ner":
        rows = [row for row in sorted(places) if row < len(logits[POOLED])]
    candidates = (_vote_at_row(outputs, logits, row, example) for row in rows)
    votes = [vote for vote in candidates if vote is not None]
    return max(votes, key=lambda vote: max(vote.margins.values()), default=None)


def _vote_at_row(
    outputs: Outputs, logits: Mapping[str, Logits], row: int, example: Any
) -> Vote | None:
    best = {name: int(logits[name][row].argmax()) for name in ALL_TOKENIZATIONS}
    at = example.words[row] if outputs.kind == "ner" else ""
    return _build_vote(
        at,
        best,
        lambda name, place: float(logits[name][row, place]),
        lambda place: outputs.names[place],
    )


def _vote_on_label(outputs: Outputs, logits: Mapping[str, Logits], label: str) -> Vote | None:
    if label not in outputs.index:
        return None
    place = outputs.index[label]
    values = {name: float(logits[name][0, place]) for name in ALL_TOKENIZATIONS}
    predicted = {name: label if value > 0 else f"not {label}" for name, value in values.items()}
    if predicted[BASE] == predicted[ADAPTED]:
        return None
    return Vote("", predicted, {name: abs(values[name]) for name in (BASE, ADAPTED)})


def _vote_on_answer(logits: Mapping[str, Logits], example: Question) -> Vote | None:
    bounds = word_bounds(example.context, example.word_rule)
    best: dict[str, Option] = {}
    for name in ALL_TOKENIZATIONS:
        scores = logits[name].astype(np.float64)
        spans = best_spans(scores[:, 0], scores[:, 1], bounds, AnswerSettings().characters)
        if not spans:
            return None
        best[name] = spans[0][:2]

    def score(name: str, span: Option) -> float:
        return float(logits[name][span[0], 0]) + float(logits[name][span[1], 1])

    def span_text(span: Option) -> str:
        return example.context[bounds[span[0], 0] : bounds[span[1], 1]]

    return _build_vote("", best, score, span_text)


def _build_vote(
    at: str,
    best: Mapping[str, Option],
    score: Callable[[str, Option], float],
    describe: Callable[[Option], str],
) -> Vote | None:
    """Return the vote between the best options of the base and the adapted tokenization."""
    predicted = {name: describe(best[name]) for name in ALL_TOKENIZATIONS}
    if predicted[BASE] == predicted[ADAPTED]:
        return None
    others = {BASE: best[ADAPTED], ADAPTED: best[BASE]}
    margins = {name: score(name, best[name]) - score(name, other) for name, other in others.items()}
    return Vote(at, predicted, margins)
