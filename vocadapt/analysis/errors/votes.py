"""Two cuts of the same words by one run: what each of them says, what their mean says, and who was
outvoted, by how much.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocadapt.training.finetune.encoding import ADAPTED, BASE
from vocadapt.training.finetune.mixture import CUTS, POOLED
from vocadapt.training.finetune.outputs import Logits, Outputs
from vocadapt.training.tasks.base import Question
from vocadapt.training.tasks.context_windows import AnswerSettings, best_spans, word_bounds

SHOWN = 60  # characters of an answer in a line
Option = Any  # the place of an output; a pair of words


@dataclass(frozen=True)
class Vote:
    """What each cut says at one place (a word; "" for a whole text), and by how many logits it
    prefers that to the other's.

    `margins` has the base and the adapted cut; where the two agree there is no vote.
    """

    at: str
    said: Mapping[str, str]
    margins: Mapping[str, float]

    @property
    def outvoted(self) -> tuple[str, ...]:
        """The cuts that did not have their way."""
        return tuple(cut for cut in (BASE, ADAPTED) if self.said[cut] != self.said[POOLED])

    @property
    def line(self) -> str:
        """In words: "base cut outvoted by adapted cut (2.1 against 0.7 logits)"."""
        if len(self.outvoted) != 1:
            said = self.said[POOLED] or "nothing"
            return (
                "neither cut had its way: their mean says"
                f" {said if len(said) <= SHOWN else f'{said[:SHOWN]}…'}"
            )
        loser = self.outvoted[0]
        winner = ADAPTED if loser == BASE else BASE
        return (
            f"{loser} cut outvoted by {winner} cut ({self.margins[winner]:.1f} against"
            f" {self.margins[loser]:.1f} logits)"
        )


def find_vote(
    outputs: Outputs,
    logits: Mapping[str, Logits],
    example: Any,
    places: Collection[int] = (),
    label: str = "",
) -> Vote | None:
    """The vote on an example: for ner at the word among `places` where it was decided most firmly,
    for multilabel on a label.

    `logits`: cut → (rows, outputs) of this example. None where the cuts agree, and where there are
    not two cuts and their mean.
    """
    if any(cut not in logits for cut in CUTS):
        return None
    if isinstance(example, Question):
        return _vote_on_answer(logits, example)
    if outputs.kind == "multilabel":
        return _vote_on_label(outputs, logits, label)
    rows = (
        [row for row in sorted(places) if row < len(logits[POOLED])]
        if outputs.kind == "ner"
        else [0]
    )
    votes = [
        vote for row in rows if (vote := _vote_at_row(outputs, logits, row, example)) is not None
    ]
    return max(votes, key=lambda vote: max(vote.margins.values()), default=None)


def _vote_at_row(
    outputs: Outputs, logits: Mapping[str, Logits], row: int, example: Any
) -> Vote | None:
    best = {cut: int(logits[cut][row].argmax()) for cut in CUTS}
    at = example.words[row] if outputs.kind == "ner" else ""
    return _build_vote(
        at,
        best,
        lambda cut, place: float(logits[cut][row, place]),
        lambda place: outputs.names[place],
    )


def _vote_on_label(outputs: Outputs, logits: Mapping[str, Logits], label: str) -> Vote | None:
    if label not in outputs.index:
        return None
    place = outputs.index[label]
    values = {cut: float(logits[cut][0, place]) for cut in CUTS}
    said = {cut: label if value > 0 else f"not {label}" for cut, value in values.items()}
    if said[BASE] == said[ADAPTED]:
        return None
    return Vote("", said, {cut: abs(values[cut]) for cut in (BASE, ADAPTED)})


def _vote_on_answer(logits: Mapping[str, Logits], example: Question) -> Vote | None:
    bounds = word_bounds(example.context, example.word_rule)
    best: dict[str, Option] = {}
    for cut in CUTS:
        scores = logits[cut].astype(np.float64)
        found = best_spans(scores[:, 0], scores[:, 1], bounds, AnswerSettings().characters)
        if not found:
            return None
        best[cut] = found[0][:2]

    def score(cut: str, span: Option) -> float:
        return float(logits[cut][span[0], 0]) + float(logits[cut][span[1], 1])

    return _build_vote(
        "", best, score, lambda span: example.context[bounds[span[0], 0] : bounds[span[1], 1]]
    )


def _build_vote(
    at: str,
    best: Mapping[str, Option],
    score: Callable[[str, Option], float],
    named: Callable[[Option], str],
) -> Vote | None:
    """The vote between the option that the base cut likes best and the adapted cut's."""
    said = {cut: named(best[cut]) for cut in CUTS}
    if said[BASE] == said[ADAPTED]:
        return None
    others = {BASE: best[ADAPTED], ADAPTED: best[BASE]}
    margins = {cut: score(cut, best[cut]) - score(cut, other) for cut, other in others.items()}
    return Vote(at, said, margins)
