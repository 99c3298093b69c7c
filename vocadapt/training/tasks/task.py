"""Task: examples with their splits, labels and score, the same value whatever its kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.scoring.registry import scorer_of
from vocadapt.training.tasks.examples import SPLITS, WORTH_SAYING, Example, Split
from vocadapt.training.tasks.tags import type_of

KINDS = {
    "ner": "entities in sentences: a word and its tag a line",
    "relations": "the relation between two marked or masked entities of a text",
    "classification": "one label for a text",
    "multilabel": "any number of labels for a text, or for the document it is a sentence of",
    "nli": "whether one sentence follows from another",
    "qa": "the answer to a question, as a stretch of a context",
}


@dataclass(frozen=True)
class Task:
    """A task: its kind, labels, splits and score.

    labels: entity types (ner, "" for bare tags), classes, or none (qa). unit: "example", or
    (multilabel) "document" for all sentences of a document together.
    """

    name: str
    kind: str
    splits: Mapping[str, Split]
    labels: tuple[str, ...]
    score: str = ""
    rules: Rules = DEFAULT_RULES
    unit: str = "example"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"There is no kind of task {self.kind!r}.", f"Choose one of: {', '.join(KINDS)}."
            )
        if odd := [name for name in self.splits if name not in SPLITS]:
            raise InputError(
                f"{self.name}: there is no split {odd[0]!r}.", f"Splits are {', '.join(SPLITS)}."
            )
        scorer_of(self.kind, self.score)

    @property
    def scorer(self) -> Scorer:
        """Its scorer."""
        return scorer_of(self.kind, self.score)

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


def labels_of(kind: str, examples: Iterable[Example]) -> frozenset[str]:
    """Return the labels of examples: entity types, or classes; none for questions."""
    if kind == "qa":
        return frozenset()
    gold = (example.gold or () for example in examples)
    if kind == "ner":
        return frozenset(type_of(tag) for tags in gold for tag in tags if tag != "O")
    return frozenset(label for labels in gold for label in labels)


def _findings(task: Task) -> Iterable[str]:
    seen = labels_of(task.kind, task.splits["train"].examples) if "train" in task.splits else None
    for name, split in task.splits.items():
        held = labels_of(task.kind, split.examples)
        if not split.labeled:
            yield f"{name} holds no labels: it can be predicted on, not scored."
        elif task.kind != "qa" and len(held) == 1 and task.kind != "ner":
            yield f"{name} holds one class only ({_listed(held)}): a score on it says little."
        elif task.kind == "ner" and not held:
            yield f"{name} holds no entity: precision and recall are 0 by convention."
        if seen is not None and (unseen := held - seen):
            yield (
                f"{name} holds labels that train lacks, so no model can find them:"
                f" {_listed(unseen)}."
            )
        yield from (
            f"{name}: {count:,} {what}."
            for what, count in split.notes.items()
            if what in WORTH_SAYING and count
        )


def _listed(labels: Iterable[str], most: int = 5) -> str:
    names: Sequence[str] = sorted(label or "an entity" for label in labels)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
