"""Base of the kinds whose examples are texts with labels, read from tab-separated columns or JSON
lines: classification, relations, multilabel, nli.

A kind of classification of one's own needs a name and a sentence only:

    class Sentiment(LabeledTexts):
        name = "sentiment"
        about = "the sentiment of a text"

    register_task_kind(Sentiment())

Columns and JSON fields have the names of `table_rows`, or those that a task file gives.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vocadapt.errors import InputError
from vocadapt.training.encoding.encoding import EncodedExamples, EncodingSettings, encode_texts
from vocadapt.training.examples.examples import (
    SUPERFLUOUS,
    Example,
    Prediction,
    Predictions,
    Split,
    SplitWords,
    Text,
)
from vocadapt.training.labels import Logits
from vocadapt.training.scoring.counts import LABEL, Rules
from vocadapt.training.tasks.formats.table_rows import (
    PREDICTIONS,
    TEXTS,
    Row,
    Shape,
    read_table_rows,
)
from vocadapt.training.tasks.kinds.judgment import (
    GOLD,
    NONE,
    RIGHT,
    WRONG,
    Choice,
    Claim,
    Claims,
    Judgment,
    Line,
    Unit,
    choose_in_row,
    choose_style,
    clip_line,
)
from vocadapt.training.tasks.kinds.kind import (
    SAMPLE_SENTENCE,
    TaskKind,
    TextInput,
    Tokenizers,
)

SENTENCE_OF = re.compile(r"(.+)_s\d+")  # HoC: 12553062_s3 – the fourth sentence of a document
NO_TEXT = "examples without a text, kept"
NO_AGREEMENT = "pairs without an agreed label, left out"
BY_ORDER = "predictions without ids, taken in the order of the gold file"
UNDECIDED = "-"  # SNLI and its kin: the annotators did not agree
MAX_CONSTANT_ANSWERS = 20  # sets of labels tried as the one answer to everything


class LabeledTexts(TaskKind):
    """A kind of task whose examples are Text; each has one label unless a subclass says more."""

    file_format = (
        "tab-separated columns with a header (text or sentence, label, perhaps id), or JSON lines"
        ' {"text": ..., "label": ...}'
    )
    prediction_format = (
        'JSON lines {"id": ..., "label": ...}, or tab-separated id and label, or labels alone in'
        " the order of the gold file"
    )
    gold_form = LABEL
    default_scorer = "macro-f1"
    # Measured with all-MiniLM-L6-v2 and 5 epochs (docs/evidence.md): with 10 examples of each
    # class, the best macro-F1 was .05 above a constant answer on GAD, .20 on ChemProt, .49 on HoC;
    # with 20, .22 to .66.
    min_per_label = 20
    target_per_label = 40
    reported_notes = frozenset({NO_TEXT, NO_AGREEMENT})
    error_kinds: ClassVar[Mapping[str, str]] = {WRONG: "another class"}
    inputs: ClassVar[tuple[TextInput, ...]] = (
        TextInput("sentence", "Text", SAMPLE_SENTENCE, height=110, offers_examples=True),
    )
    columns: ClassVar[Shape] = TEXTS

    # What a subclass may read in another way.

    def read_labels(self, value: Any, place: str) -> tuple[str, ...]:
        """Read the value of the label column; raises InputError for an empty label."""
        label = read_label(value, place)
        if not label:
            raise InputError(
                f"{place}: an empty label.",
                "Give every example a label, or none of them (to predict on).",
                code="empty-label",
            )
        return (label,)

    def check_row(self, row: Row, place: str) -> None:
        """Raise InputError for a row that lacks something that the kind needs."""

    def has_agreed_label(self, text: Text) -> bool:
        """Whether the annotators agreed on a label; other examples are left out."""
        return True

    def count_notes(self, texts: Sequence[Text]) -> dict[str, int]:
        """Count what a user should know of the examples: note -> number."""
        return {}

    def classify_confusion(self, gold: str, predicted: str) -> str:
        """Return the kind of error of predicting one class for another."""
        return WRONG

    # Reading.

    def read(self, path: Path, columns: Mapping[str, str] | None = None) -> Split:
        """Read labeled texts; a file without any label is unlabeled (predict only).

        Raises InputError, with the line, if only some rows have labels, for an invalid label, and
        for what `read_table_rows` rejects.
        """
        texts: list[Text] = []
        left_out = 0
        for number, (place, row) in enumerate(read_table_rows(path, columns, self.columns)):
            text = self._read_text(row, number, place)
            if not self.has_agreed_label(text):
                left_out += 1
                continue
            if texts and (text.labels is None) != (texts[0].labels is None):
                raise InputError(
                    f"{place}: labels in some rows only.",
                    "Label every example, or none (to predict on).",
                    code="some-unlabeled",
                )
            texts.append(text)
        if not texts:
            raise InputError(
                f"{path}: no example has an agreed label.",
                f"{UNDECIDED!r} stands for no agreement.",
                code="no-agreed-label",
            )
        notes = {
            NO_TEXT: sum(not text.text.strip() for text in texts),
            NO_AGREEMENT: left_out,
            **self.count_notes(texts),
        }
        return Split(tuple(texts), notes, path)

    def _read_text(self, row: Row, number: int, place: str) -> Text:
        name = str(number)
        if row.get("id") not in (None, ""):
            name = str(row["id"])
        text = _read_string(row["text"], place)
        pair = _read_string(row.get("pair", ""), place)
        self.check_row(row, place)
        document = SENTENCE_OF.fullmatch(name)
        return Text(name, text, self._labels_in(row, place), pair, document[1] if document else "")

    def _labels_in(self, row: Row, place: str) -> tuple[str, ...] | None:
        """Return the labels of a row; None without such a column (or with JSON null)."""
        value = row.get("label")
        return None if value is None else self.read_labels(value, place)

    def read_predictions(self, path: Path, gold: Split) -> Predictions:
        """Read predicted labels by id, or in the order of the gold file."""
        # 1. Read ids and labels.
        predicted: list[tuple[str, tuple[str, ...]]] = []
        places: list[str] = []
        for place, row in read_table_rows(path, shape=PREDICTIONS):
            labels = self._labels_in(row, place)
            if labels is None:
                raise InputError(
                    f"{place}: no label.", 'Each line looks like {"id": "12", "label": "yes"}.'
                )
            predicted.append((str(row.get("id", "")), labels))
            places.append(place)

        # 2. If a prediction has an id, match all by id.
        names = [example.id for example in gold.examples if isinstance(example, Text)]
        pairs = zip(places, predicted, strict=True)
        named = next((f"{place}: id {name!r:.60}" for place, (name, _) in pairs if name), "")
        if named:
            repeated = [name for name, count in Counter(names).items() if count > 1]
            if repeated:
                raise InputError(
                    f"{named}, but ids do not tell the examples of {gold.path} apart:"
                    f" {len(repeated):,} stand more than once there, {repeated[0]!r:.60} for one.",
                    "Make the gold file's ids unique, or give the labels alone, in the order of the"
                    " gold file.",
                    code="repeated-ids",
                )
            return _match_by_id(names, predicted, path)

        # 3. Otherwise they are in the order of the gold file.
        if len(predicted) != len(names):
            raise InputError(
                f"{path}: holds {len(predicted):,} predictions, the gold file {len(names):,}"
                " examples.",
                "One for each.",
                code="other-length",
            )
        return Predictions(tuple(labels for _, labels in predicted), {BY_ORDER: len(predicted)})

    def example_from_json(self, row: Mapping[str, Any]) -> Text:
        """Rebuild a text."""
        labels = None if row["labels"] is None else tuple(row["labels"])
        return Text(row["id"], row["text"], labels, row["pair"], row["document"])

    # Encoding and decoding.

    def encode_examples(
        self, examples: Sequence[Text], tokenizers: Tokenizers, settings: EncodingSettings
    ) -> EncodedExamples:
        """Encode texts and pairs, with one row of logits each."""
        return encode_texts(examples, tokenizers, settings)

    def predict(self, logits: Logits, example: Text, names: tuple[str, ...]) -> Prediction:
        """Predict the label with the highest output."""
        return (names[int(logits[0].argmax())],)

    # Scoring and judging.

    def constant_predictions(self, gold: Sequence[Any]) -> list[Sequence[Any]]:
        """Return one prediction for each of the most frequent sets of labels."""
        found = Counter(frozenset(labels) for labels in gold).most_common(MAX_CONSTANT_ANSWERS)
        return [[labels] * len(gold) for labels, _ in found]

    def judge(self, example: Text, gold: Sequence[str], predicted: Any, rules: Rules) -> Judgment:
        """Judge a predicted class; the negative classes of the rules are no units."""
        labels = tuple(predicted)
        if set(gold) <= set(rules.negative):
            is_alarm = not set(labels) <= set(rules.negative)
            return Judgment({}, tuple(map(Unit, labels)) if is_alarm else ())
        gold_label = ", ".join(gold)
        label = ", ".join(labels)
        if gold_label == label:
            error = RIGHT
        elif label in rules.negative:
            error = NONE
        else:
            error = self.classify_confusion(gold_label, label)
        return Judgment({Unit(gold_label): Claim(error, (Unit(label),))})

    def find_choices(
        self, example: Text, names: tuple[str, ...], units: Iterable[Unit] | None = None
    ) -> Iterator[Choice]:
        """Yield the one choice between the classes."""
        yield choose_in_row(names)

    # Showing.

    def show_lines(
        self, example: Text, unit: Unit, claims: Claims, *, alarm: bool, untyped: bool
    ) -> Iterable[Line]:
        """Yield a text, its pair, the gold label and the labels of each side."""
        yield clip_line("text", example.text)
        if example.pair:
            yield clip_line("second", example.pair)
        yield clip_line("gold", "none" if alarm else unit.label, GOLD)
        for name, claim in claims:
            labels = ", ".join(one.label for one in claim.predicted)
            yield clip_line(name, labels, choose_style(claim), claim.error)

    def describe_case(self, example: Text, start: int | None, end: int | None) -> dict[str, str]:
        """Return the text and its pair."""
        return {"text": example.text, "second text": example.pair}

    # Typed text, and files of predictions.

    def example_from_inputs(
        self, typed: Mapping[str, str], split: SplitWords, word_rule: str
    ) -> Example:
        """Make a text, or a pair of texts, of what was typed."""
        return Text("typed", typed["sentence"], None, typed.get("pair", ""))

    def examples_from_lines(self, lines: Sequence[str], split: SplitWords) -> tuple[Example, ...]:
        """Make a text of each line, unless the kind takes pairs of texts."""
        if self.not_plain_text:
            return super().examples_from_lines(lines, split)
        return tuple(Text(str(place), line, None) for place, line in enumerate(lines))

    def format_predictions(
        self, examples: Sequence[Text], predictions: Sequence[Prediction], jsonl: bool = False
    ) -> Iterator[str]:
        """Yield JSON lines with the id and the label of each text, null for a blank one."""
        for example, labels in zip(examples, predictions, strict=True):
            label: list[str] | str | None = list(labels)
            if not self.is_multilabel:
                label = next(iter(labels), None)
            yield json.dumps({"id": example.id, "label": label}, ensure_ascii=False) + "\n"


def read_label(value: Any, place: str) -> str:
    """Return a label as text: texts, integers and booleans (`true`, as in JSON) are labels."""
    if isinstance(value, bool):
        return json.dumps(value)
    if not isinstance(value, str | int):
        raise InputError(
            f"{place}: expected a label, found {value!r:.60}.",
            "A label is a text or a whole number.",
            code="wrong-type",
        )
    return str(value).strip()


def _read_string(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{place}: expected a text, found {type(value).__name__}.",
            "Put the text there in quotes.",
            code="wrong-type",
        )
    return value


def _match_by_id(
    names: Sequence[str], predicted: Sequence[tuple[str, tuple[str, ...]]], path: Path
) -> Predictions:
    """Return the predictions in the order of the gold ids; raises InputError for an id that is
    predicted twice, or not at all.
    """
    known = dict(predicted)
    if len(known) < len(predicted):
        counts = Counter(name for name, _ in predicted)
        twice = next(name for name, count in counts.items() if count > 1)
        raise InputError(
            f"{path}: {twice!r:.60} is predicted twice.",
            "One prediction for each id.",
            code="repeated-ids",
        )
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"{path}: no prediction for {len(missing):,} of {len(names):,} gold examples,"
            f" {missing[0]!r:.60} for one.",
            "Predict on every gold example, under its id.",
            code="missing-predictions",
        )
    notes = {SUPERFLUOUS: len(set(known) - set(names))}
    return Predictions(tuple(known[name] for name in names), notes)
