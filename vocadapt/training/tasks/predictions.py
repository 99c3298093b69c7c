"""Predictions of any program, in a file → one for each gold example, in the order of the gold file.

ner        the gold file's form: a word and its predicted tag a line, or JSON lines {"words": […], "tags": […]}
labels     JSON lines {"id": …, "label": …} (multilabel: a list), or tab-separated id and label; or label alone, in gold order
qa         SQuAD's form, one JSON object {id: answer}; or JSON lines {"id": …, "answer": …}
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import parse_json
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer, Tally
from vocadapt.training.scoring.registry import scorer_of
from vocadapt.training.scoring.summary import Baseline, constant_answers
from vocadapt.training.tasks.examples import Question, Sentence, Split, Text
from vocadapt.training.tasks.kinds.labeled_texts import labels_in, united
from vocadapt.training.tasks.kinds.ner import read_sentences
from vocadapt.training.tasks.table_rows import PREDICTIONS, json_rows, rows_of


@dataclass(frozen=True)
class Predictions:
    """Predictions for each gold example, in the form that its kind's scorers take; `notes` counts
    missing and superfluous ones.
    """

    predicted: tuple[Any, ...]
    notes: Mapping[str, int] = field(default_factory=dict)


MISSING = "questions without a prediction, counted as wrong"
TOO_MUCH = "predictions for nothing that is in the gold file, passed over"
BY_ORDER = "predictions without ids, taken in the order of the gold file"


def read_predictions(path: Path, kind: str, gold: Split) -> Predictions:
    """Read the predictions for a gold file; raises InputError if they are for other examples, or
    missing.
    """
    if kind == "ner":
        return _tags(path, gold)
    return _answers(path, gold) if kind == "qa" else _labels(path, kind, gold)


def tally_of(
    gold: Split, said: Sequence[Any], scorer: Scorer, rules: Rules = DEFAULT_RULES, unit: str = ""
) -> Tally:
    """Count predictions by example or by document; the counted units are those that intervals and
    tests resample.

    By document, example-f1 merges the labels of all sentences of a document (as BLUE does; it is
    the default if every sentence names its document); other scores sum their counts. Raises
    InputError if documents are requested but unknown.
    """
    documents = gold.documents
    if unit == "document" and not all(documents):
        raise InputError(
            f"{gold.path}: does not say which document each example is of.", "Count by example."
        )
    whole = unit == "document" or (not unit and scorer.name == "example-f1" and all(documents))
    if whole and scorer.name == "example-f1":
        return scorer.tally(_merged(documents, gold.gold), _merged(documents, said), rules)
    tally = scorer.tally(gold.gold, said, rules)
    return tally.grouped(documents) if whole else tally


def baseline_of_split(
    kind: str, gold: Split, scorer: str = "", rules: Rules = DEFAULT_RULES
) -> Baseline:
    """Score constant predictions in the default units of `tally_of`."""
    chosen = scorer_of(kind, scorer)
    guesses = constant_answers(kind, gold.gold)
    scores = [chosen.of(tally_of(gold, guess, chosen, rules), rules).value for guess in guesses]
    return Baseline(scores[0], tuple(scores))


def _merged(documents: Sequence[str], labels: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    parts: dict[str, list[tuple[str, ...]]] = {}
    for name, own in zip(documents, labels, strict=True):
        parts.setdefault(name, []).append(own)
    return [united(own) or () for own in parts.values()]


def _tags(path: Path, gold: Split) -> Predictions:
    predicted = read_sentences(path, iob2=False)
    if not predicted.labeled:
        raise InputError(
            f"{path}: has no tags, only words.", "Give a word and its predicted tag on each line."
        )
    if len(predicted) != len(gold):
        problem = f"{path}: holds {len(predicted):,} sentences, the gold file {len(gold):,}."
        raise InputError(problem, "Predict on the gold file's own sentences.")
    for number, (ours, theirs) in enumerate(
        zip(gold.examples, predicted.examples, strict=True), start=1
    ):
        assert isinstance(ours, Sentence) and isinstance(theirs, Sentence)
        if ours.words != theirs.words:
            raise InputError(
                f"{path}: sentence {number:,} differs: {_first(ours.words, theirs.words)}.",
                SAME_WORDS,
            )
    return Predictions(tuple(example.gold for example in predicted.examples))


SAME_WORDS = "Give the gold file's own words; if a model truncated a sentence, give O for the rest."


def _first(ours: Sequence[str], theirs: Sequence[str]) -> str:
    for place, (gold, said) in enumerate(zip(ours, theirs, strict=False), start=1):
        if gold != said:
            return f"word {place} is {gold!r:.40} in the gold file, {said!r:.40} here"
    return f"{len(ours)} words in the gold file, {len(theirs)} here"


def _labels(path: Path, kind: str, gold: Split) -> Predictions:
    said: list[tuple[str, tuple[str, ...]]] = []
    places: list[str] = []
    for place, row in rows_of(path, shape=PREDICTIONS):
        labels = labels_in(row, kind, place)
        if labels is None:
            raise InputError(
                f"{place}: no label.", 'Each line looks like {"id": "12", "label": "yes"}.'
            )
        said.append((str(row.get("id", "")), labels))
        places.append(place)
    names = [example.id for example in gold.examples if isinstance(example, Text)]
    named = next(
        (
            f"{place}: id {name!r:.60}"
            for place, (name, _) in zip(places, said, strict=True)
            if name
        ),
        "",
    )
    if named and (repeated := [name for name, count in Counter(names).items() if count > 1]):
        raise InputError(
            f"{named}, but ids do not tell the examples of {gold.path} apart: {len(repeated):,}"
            f" stand more than once there, {repeated[0]!r:.60} for one.",
            "Make the gold file's ids unique, or give the labels alone, in the order of the gold"
            " file.",
        )
    if named:
        return _by_id(names, said, path)
    if len(said) != len(names):
        raise InputError(
            f"{path}: holds {len(said):,} predictions, the gold file {len(names):,} examples.",
            "One for each.",
        )
    return Predictions(tuple(labels for _, labels in said), {BY_ORDER: len(said)})


def _by_id(names: Sequence[str], said: Sequence[tuple[str, Any]], path: Path) -> Predictions:
    known = dict(said)
    if len(known) < len(said):
        twice = next(name for place, (name, _) in enumerate(said) if name in dict(said[:place]))
        raise InputError(
            f"{path}: {twice!r:.60} is predicted twice.", "One prediction for each id."
        )
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"{path}: no prediction for {len(missing):,} of {len(names):,} gold examples,"
            f" {missing[0]!r:.60} for one.",
            "Predict on every gold example, under its id.",
        )
    return Predictions(
        tuple(known[name] for name in names), {TOO_MUCH: len(set(known) - set(names))}
    )


def _answers(path: Path, gold: Split) -> Predictions:
    known = _answers_by_id(path)
    names = [example.id for example in gold.examples if isinstance(example, Question)]
    held = sum(name in known for name in names)
    if not held:
        raise InputError(
            f"{path}: no prediction is for a question of the gold file.",
            "Use the gold file's question ids.",
        )
    notes = {MISSING: len(names) - held, TOO_MUCH: len(set(known) - set(names))}
    return Predictions(tuple(known.get(name, "") for name in names), notes)


def _answers_by_id(path: Path) -> dict[str, str]:
    """Read answers by question id, from either form."""
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        rows = json_rows(path, '{"id": "…", "answer": "…"}')
        pairs: list[tuple[Any, Any]] = [(row.get("id"), row.get("answer")) for _, row in rows]
    else:
        with open_text_file(path) as source:
            text = source.read_document()
        content = parse_json(text, str(path), "Give one object {id: answer}, or .jsonl.")
        pairs = list(content.items()) if isinstance(content, dict) else [(None, None)]
    odd = [
        name
        for name, answer in pairs
        if not isinstance(name, str | int) or not isinstance(answer, str)
    ]
    if odd or not pairs:
        raise InputError(
            f"{path}: expected an answer as text for each question id.",
            'Such as {"56be4db0": "in 2012"}.',
        )
    return {str(name): answer for name, answer in pairs}
