"""Scores of labeled texts. Gold and predictions are one set of labels per text; for single-label
tasks, sets of one.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from vocadapt.training.scoring.counts import (
    LABEL,
    LABELS,
    Array,
    Rules,
    Scorer,
    Tally,
    compute_prf,
    count_items,
    macro,
    micro,
    safe_divide,
)

Labels = Collection[str]
SINGLE = (LABEL,)
EVERY = (LABEL, LABELS)
Average = Callable[[Array, Sequence[str], Rules], dict[str, Array]]


def _count_labels(gold: Sequence[Labels], predicted: Sequence[Labels], rules: Rules) -> Tally:
    ours, theirs = (
        [frozenset((label, None) for label in labels) for labels in side]
        for side in (gold, predicted)
    )
    return count_items(ours, theirs)


def _count_right_texts(gold: Sequence[Labels], predicted: Sequence[Labels], rules: Rules) -> Tally:
    """Count per text: 1 if all labels are right, and 1."""
    right = [set(ours) == set(theirs) for ours, theirs in zip(gold, predicted, strict=True)]
    return Tally(np.array([[[float(was), 1.0]] for was in right]))


def _compute_accuracy(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    return {"accuracy": safe_divide(sums[..., 0, 0], sums[..., 0, 1])}


def _count_examples(gold: Sequence[Labels], predicted: Sequence[Labels], rules: Rules) -> Tally:
    """Count per text: its own precision, recall and F1, and 1."""
    rows = [
        [[*_score_example(set(ours), set(theirs)), 1.0]]
        for ours, theirs in zip(gold, predicted, strict=True)
    ]
    return Tally(np.array(rows))


def _score_example(gold: set[str], predicted: set[str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of one text; BLUE's script leaves texts without gold labels
    undefined: here, predicting none is right.
    """
    if not gold:
        return (0.0, 0.0, 0.0) if predicted else (1.0, 1.0, 1.0)
    right = len(gold & predicted)
    return (
        right / len(predicted) if predicted else 0.0,
        right / len(gold),
        2 * right / (len(gold) + len(predicted)),
    )


def _average_examples(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    precision, recall, own = (
        safe_divide(sums[..., 0, column], sums[..., 0, 3]) for column in range(3)
    )
    harmonic = safe_divide(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": harmonic, "mean_f1": own}


def _without_negative_classes(average: Average) -> Average:
    """Leave the negative classes out of an average."""

    def compute(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
        kept = [place for place, label in enumerate(labels) if label not in rules.negative]
        return average(sums[..., kept, :], [labels[place] for place in kept], rules)

    return compute


def _compute_binary(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    if rules.positive not in labels:
        return compute_prf(np.zeros((*sums.shape[:-2], 3)))
    return compute_prf(sums[..., list(labels).index(rules.positive), :])


LEFT_OUT = (
    "the classes of no relation (false, DDI-false, or those given) left out; without such a class,"
    " all of them"
)
LABEL_SCORERS = (
    Scorer(
        "accuracy",
        "share of texts whose label (all labels) is right",
        EVERY,
        _count_right_texts,
        _compute_accuracy,
        "accuracy",
        False,
    ),
    Scorer(
        "micro-f1",
        "micro F1 over all classes; with one label a text it is accuracy",
        EVERY,
        _count_labels,
        micro,
    ),
    Scorer(
        "micro-f1-positive",
        f"micro F1, {LEFT_OUT}",
        SINGLE,
        _count_labels,
        _without_negative_classes(micro),
        uses=("negative",),
    ),
    Scorer(
        "macro-f1",
        "mean over the classes that occur of each class's F1 (sklearn's macro)",
        EVERY,
        _count_labels,
        macro,
    ),
    Scorer(
        "macro-f1-positive",
        f"macro F1, {LEFT_OUT}",
        SINGLE,
        _count_labels,
        _without_negative_classes(macro),
        uses=("negative",),
    ),
    Scorer(
        "binary-f1",
        "precision, recall, F1 of the class under `positive`",
        SINGLE,
        _count_labels,
        _compute_binary,
        uses=("positive",),
    ),
    Scorer(
        "example-f1",
        "BLUE's for HoC: precision and recall of each example's label set, the mean of each over"
        " examples, and their harmonic mean (mean_f1 is the mean of each example's F1); an example"
        " is a document where documents are given, its labels those of any of its sentences; one"
        " without gold labels counts 1 where none is predicted, else 0",
        (LABELS,),
        _count_examples,
        _average_examples,
        counted=False,
        merges_documents=True,
    ),
)
