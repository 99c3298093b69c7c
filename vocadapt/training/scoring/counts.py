"""Counts that scores are computed from: one row for each sentence, document or question; scores
depend on their sums only.

Therefore a bootstrap is a product of random weights with the rows, and a paired permutation test is
an exchange of rows.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import setting

MAX_CELLS = 50_000_000  # units × labels: three columns of 8 bytes each, 1.2 GB
Array = NDArray[np.float64]
Items = frozenset[tuple[str, Hashable]]  # (label, what carries it)
# Forms of the gold labels of an example: a tag for each word, one label, any number of labels, or
# the accepted answers.
TAGS, LABEL, LABELS, ANSWERS = "tags", "label", "labels", "answers"


@dataclass(frozen=True)
class Rules:
    """Conventions of scores."""

    negative: tuple[str, ...] = setting(
        ("false", "DDI-false"), "negative classes, which the -positive scores exclude"
    )
    positive: str = setting("1", "positive class of binary-f1")
    untyped: bool = setting(False, "ignore entity types")


DEFAULT_RULES = Rules()


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of every unit, rows (units, labels, columns) float64; columns depend on the scorer,
    mostly gold, predicted, right.
    """

    rows: Array
    labels: tuple[str, ...] = ("",)

    @property
    def totals(self) -> Array:
        """Sums over units, (labels, columns) float64."""
        sums: Array = self.rows.sum(axis=0)
        return sums

    def grouped(self, groups: Sequence[str]) -> "Tally":
        """Sum the counts of units with the same group (such as the sentences of a document), in the
        order of first occurrence.
        """
        if len(groups) != len(self.rows):
            raise ValueError(f"{len(groups)} groups for {len(self.rows)} units")
        index = {name: number for number, name in enumerate(dict.fromkeys(groups))}
        rows = np.zeros((len(index), *self.rows.shape[1:]))
        np.add.at(rows, [index[name] for name in groups], self.rows)
        return Tally(rows, self.labels)


@dataclass(frozen=True)
class Score:
    """Scores from 0 to 1 with their definition: by name, and for each label.

    classes: the scored classes, if there are two. units: number of sentences, documents or
    questions. rules: scoring conventions. 0/0 counts as 0.
    """

    scorer: str
    definition: str
    headline: str
    values: Mapping[str, float]
    units: int
    by_label: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    classes: str = ""

    @property
    def value(self) -> float:
        """The headline figure."""
        return self.values[self.headline]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, figures first."""
        labels = {name: dict(values) for name, values in self.by_label.items()}
        named = {
            "scorer": self.scorer,
            "definition": self.definition,
            "rules": dict(self.rules),
            "metric": self.headline,
        }
        if self.classes:
            named["classes"] = self.classes
        return {**self.values, **named, "units": self.units, "by_label": labels}


@dataclass(frozen=True)
class Scorer:
    """A scorer by name: its definition, the forms of gold labels that it takes, how units are
    counted, and how sums become figures.

    count(gold, predicted, rules) returns a Tally. compute(sums, labels, rules) maps sums (…,
    labels, columns) to figures (…). counted: the columns are gold, predicted, right, so that every
    label has its own figures. uses: names of the rules it depends on. merges_documents: if all
    documents are known, the labels of a document's examples are merged before they are counted.
    """

    name: str
    about: str
    takes: tuple[str, ...]
    count: Callable[[Sequence[Any], Sequence[Any], Rules], Tally]
    compute: Callable[[Array, Sequence[str], Rules], dict[str, Array]]
    headline: str = "f1"
    counted: bool = True
    uses: tuple[str, ...] = ()
    merges_documents: bool = False

    def tally(
        self, gold: Sequence[Any], predicted: Sequence[Any], rules: Rules = DEFAULT_RULES
    ) -> Tally:
        """Count every unit; raises InputError if gold and predictions differ in number, or there
        are none.
        """
        check_lengths(gold, predicted)
        if not gold:
            raise InputError(
                "There is nothing to score: no gold example.",
                "Give a file with examples.",
                code="nothing-to-score",
            )
        return self.count(gold, predicted, rules)

    def score(
        self, gold: Sequence[Any], predicted: Sequence[Any], rules: Rules = DEFAULT_RULES
    ) -> Score:
        """Score predictions; raises InputError if they cannot be compared."""
        return self.score_tally(self.tally(gold, predicted, rules), rules)

    def score_tally(self, tally: Tally, rules: Rules = DEFAULT_RULES) -> Score:
        """Score counts."""
        values = {
            name: float(value)
            for name, value in self.compute(tally.totals, tally.labels, rules).items()
        }
        labels = score_labels(tally) if self.counted else {}
        used = {name: getattr(rules, name) for name in self.uses}
        return Score(
            self.name,
            self.defined(tally.labels, rules),
            self.headline,
            values,
            len(tally.rows),
            labels,
            used,
            self.classes(tally.labels, rules),
        )

    def defined(self, labels: Sequence[str], rules: Rules = DEFAULT_RULES) -> str:
        """Return the definition; for binary tasks with the positive class."""
        classes = self.classes(labels, rules)
        return f"{self.about}; here {classes}" if classes else self.about

    def classes(self, labels: Sequence[str], rules: Rules = DEFAULT_RULES) -> str:
        """Describe the scored classes; "" unless there are two or the rules name one."""
        if "positive" in self.uses:
            lacking = "" if rules.positive in labels else ", which no example has"
            return f"of the class {rules.positive!r}{lacking}"
        # The mean over two classes and the figure of one of them differ, and both are called F1.
        if len(labels) != 2 or not self.counted or LABEL not in self.takes:
            return ""
        left_out = rules.negative if "negative" in self.uses else ()
        kept = [label for label in labels if label not in left_out]
        if len(kept) == 1:
            return f"of the class {kept[0]!r}"
        return f"over both classes, {labels[0]!r} and {labels[1]!r}"

    def headlines(self, sums: Array, labels: Sequence[str], rules: Rules = DEFAULT_RULES) -> Array:
        """Compute the headline figure of many sums (many, labels, columns): (many,) float64."""
        return self.compute(sums, labels, rules)[self.headline]


def count_items(gold: Sequence[Items], predicted: Sequence[Items]) -> Tally:
    """Count gold, predicted and right items per unit and label; an item is right if gold and
    prediction both contain it.
    """
    # 1. The labels of both sides, in a fixed order.
    labels = sorted({label for items in (*gold, *predicted) for label, _ in items})
    check_cells(len(gold), len(labels))
    index = {label: place for place, label in enumerate(labels)}
    # 2. Gold, predicted and right of each unit; check_cells limits the size of the array.
    rows = np.zeros((len(gold), len(labels), 3))
    for row, ours, theirs in zip(rows, gold, predicted, strict=True):
        for column, items in enumerate((ours, theirs, ours & theirs)):
            for label, _ in items:
                row[index[label], column] += 1
    return Tally(rows, tuple(labels))


def check_lengths(gold: Sequence[Any], predicted: Sequence[Any]) -> None:
    """Raise InputError unless there is one prediction for each gold example."""
    if len(gold) != len(predicted):
        raise InputError(
            f"Expected a prediction for each of {len(gold):,} gold examples, got"
            f" {len(predicted):,}.",
            "Give predictions for the same file, in its order.",
            code="other-length",
        )


def check_cells(units: int, labels: int) -> None:
    """Raise InputError if the counts of units × labels do not fit in memory."""
    if units * labels > MAX_CELLS:
        raise InputError(
            f"{units:,} examples × {labels:,} labels are {units * labels:,} counts; at most"
            f" {MAX_CELLS:,} can be scored.",
            "Merge rare labels, or score fewer examples.",
            code="too-many-counts",
        )


def safe_divide(part: Array, whole: Array) -> Array:
    """Divide elementwise, 0 if `whole` is 0."""
    return np.divide(
        part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0
    )


def compute_prf(sums: Array) -> dict[str, Array]:
    """Compute precision, recall and F1 from sums (…, 3) of gold, predicted and right: each (…)
    float64.
    """
    gold, predicted, right = (
        np.asarray(sums[..., column], dtype=np.float64) for column in range(3)
    )
    return {
        "precision": safe_divide(right, predicted),
        "recall": safe_divide(right, gold),
        "f1": safe_divide(2 * right, gold + predicted),
    }


def score_labels(tally: Tally) -> dict[str, dict[str, float]]:
    """Return precision, recall, F1 and the counts of every label."""
    figures = compute_prf(tally.totals)
    totals = tally.totals
    counts = {name: totals[:, column] for column, name in enumerate(("gold", "predicted", "right"))}
    return {
        label: {
            **{name: float(values[place]) for name, values in figures.items()},
            **{name: int(values[place]) for name, values in counts.items()},
        }
        for place, label in enumerate(tally.labels)
    }


def micro(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    """Micro average: the counts of all labels are summed first."""
    return compute_prf(np.asarray(sums.sum(axis=-2)))


def macro(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    """Macro average over the labels that occur in gold or predictions, as in scikit-learn's
    f1_score(average="macro").
    """
    held = (sums[..., 0] + sums[..., 1] > 0).astype(np.float64)
    return {
        name: safe_divide((values * held).sum(axis=-1), held.sum(axis=-1))
        for name, values in compute_prf(sums).items()
    }
