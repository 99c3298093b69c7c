"""Votes between the two tokenizations of a run: what each predicts, what their mean predicts, and
which one is outvoted, by how many logits.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vocadapt.training.finetune.encoding import ADAPTED, BASE
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS, POOLED
from vocadapt.training.labels import Logits
from vocadapt.training.tasks.examples import Example
from vocadapt.training.tasks.kinds.judgment import Choice, Unit

MAX_ANSWER = 60  # characters of an answer in `Vote.line`


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


def find_votes(
    outputs: Outputs,
    logits: Mapping[str, Logits],
    example: Example,
    units: Iterable[Unit] | None = None,
) -> Iterator[tuple[int, Vote]]:
    """Yield each disagreement of the two tokenizations: the row of the logits, and the vote.

    units: leave out what does not concern them. logits: tokenization → (rows, outputs) float32 of
    this example; nothing is yielded if a tokenization is missing.
    """
    if any(name not in logits for name in ALL_TOKENIZATIONS):
        return
    for choice in outputs.kind.find_choices(example, outputs.names, units):
        vote = _build_vote(choice, logits)
        if vote is not None:
            yield choice.row, vote


def find_vote(
    outputs: Outputs,
    logits: Mapping[str, Logits],
    example: Example,
    units: Iterable[Unit] | None = None,
) -> Vote | None:
    """Return the vote with the largest margin on an example, or on some of its units; None if the
    tokenizations agree or one is missing.
    """
    votes = [vote for _, vote in find_votes(outputs, logits, example, units)]
    return max(votes, key=lambda vote: max(vote.margins.values()), default=None)


def _build_vote(choice: Choice, logits: Mapping[str, Logits]) -> Vote | None:
    """Return the vote between what the base and the adapted tokenization choose."""
    chosen = {name: choice.pick(logits[name]) for name in ALL_TOKENIZATIONS}
    if None in chosen.values():
        return None
    predicted = {name: choice.describe(option) for name, option in chosen.items()}
    if predicted[BASE] == predicted[ADAPTED]:
        return None
    others = {BASE: chosen[ADAPTED], ADAPTED: chosen[BASE]}
    margins = {
        name: choice.score(logits[name], chosen[name]) - choice.score(logits[name], other)
        for name, other in others.items()
    }
    return Vote(choice.at, predicted, margins)
