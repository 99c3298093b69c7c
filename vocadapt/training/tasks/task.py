"""Task: examples with their splits, labels and score, the same value whatever its kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.tasks.examples import SPLITS, Split
from vocadapt.training.tasks.kinds import TaskKind


@dataclass(frozen=True)
class Task:
    """A task: its kind, labels, splits and score.

    labels: entity types (ner, "" for bare tags), classes, or none (qa). unit: "example", or
    (multilabel) "document" for all sentences of a document together.
    """

    name: str
    kind: TaskKind
    splits: Mapping[str, Split]
    labels: tuple[str, ...]
    score: str = ""
    rules: Rules = DEFAULT_RULES
    unit: str = "example"

    def __post_init__(self) -> None:
        if odd := [name for name in self.splits if name not in SPLITS]:
            raise InputError(
                f"{self.name}: there is no split {odd[0]!r}.", f"Splits are {', '.join(SPLITS)}."
            )
        self.kind.scorer(self.score)

    @property
    def scorer(self) -> Scorer:
        """Its scorer."""
        return self.kind.scorer(self.score)

    def split(self, name: str) -> Split:
        """Return a split by name; raises InputError if the task does not have it."""
        if name not in self.splits:
            raise InputError(
                f"{self.name} has no {name} split.", f"It has: {', '.join(self.splits)}."
            )
        return self.splits[name]

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences to report before training: labels unseen in training, splits with one class or
        no labels, repairs.
        """
        return tuple(_findings(self))


def _findings(task: Task) -> Iterable[str]:
    seen = None
    if "train" in task.splits:
        seen = task.kind.labels_of(task.splits["train"].examples)
    for name, split in task.splits.items():
        held = task.kind.labels_of(split.examples)
        if not split.labeled:
            yield f"{name} holds no labels: it can be predicted on, not scored."
        elif described := task.kind.describe_labels(held):
            yield f"{name} {described}"
        if seen is not None and (unseen := held - seen):
            yield (
                f"{name} holds labels that train lacks, so no model can find them:"
                f" {_listed(unseen)}."
            )
        yield from (
            f"{name}: {count:,} {what}."
            for what, count in split.notes.items()
            if what in task.kind.reported_notes and count
        )


def _listed(labels: Iterable[str], most: int = 5) -> str:
    names: Sequence[str] = sorted(label or "an entity" for label in labels)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
