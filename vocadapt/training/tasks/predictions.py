"""Counts of predictions for a split, and scores of constant predictions."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from vocadapt.errors import InputError
from vocadapt.training.examples.examples import DOCUMENT, Split
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer, Tally
from vocadapt.training.scoring.summary import Baseline
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.training.tasks.kinds.multilabel import merge_labels


def build_tally(
    gold: Split,
    predicted: Sequence[Any],
    scorer: Scorer,
    rules: Rules = DEFAULT_RULES,
    unit: str = "",
) -> Tally:
    """Count predictions by example or by document; the counted units are those that intervals and
    tests resample.

    By document, example-f1 merges the labels of all sentences of a document (as BLUE does; it is
    the default if every sentence names its document); other scores sum their counts. Raises
    InputError if documents are requested but unknown.
    """
    documents = gold.documents
    if unit == DOCUMENT and not all(documents):
        raise InputError(
            f"{gold.path}: does not say which document each example is of.",
            "Count by example.",
            code="no-documents",
        )
    whole = unit == DOCUMENT or (not unit and scorer.merges_documents and all(documents))
    if whole and scorer.merges_documents:
        return scorer.tally(_merged(documents, gold.gold), _merged(documents, predicted), rules)
    tally = scorer.tally(gold.gold, predicted, rules)
    return tally.grouped(documents) if whole else tally


def score_baseline(
    kind: TaskKind, gold: Split, scorer: Scorer, rules: Rules = DEFAULT_RULES
) -> Baseline:
    """Score constant predictions in the default units of `build_tally`."""
    predictions = kind.constant_predictions(gold.gold)
    scores = [
        scorer.score_tally(build_tally(gold, one, scorer, rules), rules).value
        for one in predictions
    ]
    return Baseline(scores[0], tuple(scores))


def _merged(documents: Sequence[str], labels: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    parts = defaultdict[str, list[tuple[str, ...]]](list)
    for name, own in zip(documents, labels, strict=True):
        parts[name].append(own)
    return [merge_labels(own) or () for own in parts.values()]
