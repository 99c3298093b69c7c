"""Named entity recognition: a tag for each word of a sentence."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vocadapt.errors import InputError
from vocadapt.models.heads import TOKEN
from vocadapt.training.encoding.encoding import EncodedExamples, EncodingSettings, encode_words
from vocadapt.training.examples.examples import (
    Example,
    Prediction,
    Predictions,
    Sentence,
    Split,
    SplitWords,
)
from vocadapt.training.examples.tags import choose_type_reader, decode_spans, type_of
from vocadapt.training.labels import Logits
from vocadapt.training.scoring.counts import TAGS, Rules
from vocadapt.training.tasks.formats.conll import (
    COMMENTS,
    EMPTY,
    INSIDE,
    NUMBERED,
    SCHEME,
    read_sentences,
)
from vocadapt.training.tasks.kinds.judgment import (
    AFTER,
    BEFORE,
    GOLD,
    MISSED,
    NO_LABEL,
    OTHER,
    RIGHT,
    SPURIOUS,
    Choice,
    Claim,
    Claims,
    Confusion,
    Judgment,
    Line,
    Mark,
    Unit,
    choose_in_row,
    choose_style,
    clip_around_marks,
)
from vocadapt.training.tasks.kinds.kind import SAMPLE_SENTENCE, TaskKind, TextInput, Tokenizers

BOUNDARY, TYPE, BOTH = "boundary", "type", "boundary and type"
BARE = "(entity)"  # the type of a bare tag in a confusion
TAIL = 12  # characters after what a side predicted
OTHER_SCHEME = "scheme of the predictions"
NEARBY = 12  # words on either side of an entity in a table
SAME_WORDS = "Give the gold file's own words; if a model truncated a sentence, give O for the rest."


class NamedEntities(TaskKind):
    """Named entity recognition: Sentence examples, scored by entity."""

    name = "ner"
    about = "entities in sentences: a word and its tag a line"
    file_format = (
        "a word and its tag on each line (tab or blanks, the tag last), a blank line after each"
        ' sentence; or .jsonl with {"words": [...], "tags": [...]} on each line'
    )
    prediction_format = "the same, with the words of the gold file"
    gold_form = TAGS
    default_scorer = "entity-strict"
    label_noun = "entity types"
    counted_noun = "entities"
    # Measured with all-MiniLM-L6-v2 and 5 epochs (docs/evidence.md): with 23 to 49 entities, 7 runs
    # had a dev F1 of 0 to .25 and 2 of them collapsed; with 94 to 219, 7 of 8 had .27 to .67. The
    # one that collapsed had 60 sentences with an entity among 800, so a sample should have more of
    # them.
    min_per_label = 100
    target_per_label = 200
    max_labels = 1000  # two outputs each per word
    reported_notes = frozenset({INSIDE, EMPTY, COMMENTS, NUMBERED})
    head = TOKEN
    architecture = "ForTokenClassification"
    divides_sentences = True
    error_kinds: ClassVar[Mapping[str, str]] = {
        BOUNDARY: "right type, but on other, overlapping words",
        TYPE: "right words, but another type",
        BOTH: "other, overlapping words and another type",
        MISSED: "nothing predicted on any of its words",
        SPURIOUS: "an entity that overlaps no gold entity",
    }
    confusion_unit = "entities"
    finds_entities = True
    inputs = (TextInput("sentence", "Sentence", SAMPLE_SENTENCE, height=110, offers_examples=True),)
    prediction_file = "predictions.tsv"

    def read(self, path: Path, columns: Mapping[str, str] | None = None) -> Split:
        """Read tagged sentences; their tags are converted to IOB2."""
        return read_sentences(path)

    def read_gold(self, path: Path) -> Split:
        """Read tagged sentences with the tags of their scheme: token scores compare them
        literally.
        """
        return read_sentences(path, iob2=False)

    def read_predictions(self, path: Path, gold: Split) -> Predictions:
        """Read predicted tags; raises InputError for other words than those of the gold file."""
        predicted = read_sentences(path, iob2=False)
        if not predicted.labeled:
            raise InputError(
                f"{path}: has no tags, only words.",
                "Give a word and its predicted tag on each line.",
                code="no-tags",
            )
        if len(predicted) != len(gold):
            raise InputError(
                f"{path}: holds {len(predicted):,} sentences, the gold file {len(gold):,}.",
                "Predict on the gold file's own sentences.",
                code="other-length",
            )
        pairs = zip(_list_words(gold), _list_words(predicted), strict=True)
        for number, (ours, theirs) in enumerate(pairs, start=1):
            if ours != theirs:
                difference = _describe_difference(ours, theirs)
                raise InputError(
                    f"{path}: sentence {number:,} differs: {difference}.",
                    SAME_WORDS,
                    code="other-sentence",
                )
        notes: dict[str, int | str] = {}
        if predicted.notes[SCHEME] != gold.notes.get(SCHEME):
            notes[OTHER_SCHEME] = predicted.notes[SCHEME]
        return Predictions(tuple(example.gold for example in predicted.examples), notes)

    def example_from_json(self, row: Mapping[str, Any]) -> Sentence:
        """Rebuild a sentence."""
        tags = None if row["tags"] is None else tuple(row["tags"])
        return Sentence(tuple(row["words"]), tags, row["document"])

    def labels_of(self, examples: Iterable[Example]) -> frozenset[str]:
        """Return the types of entities."""
        tags = (tag for example in examples for tag in example.gold or ())
        return frozenset(type_of(tag) for tag in tags if tag != "O")

    def count_labels(self, examples: Iterable[Example]) -> Counter[str]:
        """Count the entities by type."""
        return Counter(
            span.type for example in examples for span in decode_spans(example.gold or ())
        )

    def describe_labels(self, labels: frozenset[str]) -> str:
        """Report that there is no entity."""
        if labels:
            return ""
        return "holds no entity: precision and recall are 0 by convention."

    def describe_splits(self, splits: Mapping[str, Split]) -> Iterable[str]:
        """Report the schemes of the tags, unless all are IOB2."""
        schemes = {
            name: split.notes[SCHEME]
            for name, split in splits.items()
            if split.labeled and SCHEME in split.notes
        }
        if set(schemes.values()) <= {"IOB2"}:
            return
        listed = ", ".join(f"{name} {scheme}" for name, scheme in schemes.items())
        differ = ""
        if len(set(schemes.values())) > 1:
            differ = "; they differ, and each file is read in its own"
        yield f"Schemes of the tags: {listed}{differ}."

    def name_outputs(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Return the tags: O first, then B and I of each type."""
        tags = ["O"]
        for label in labels:
            ending = f"-{label}" if label else ""
            tags += [f"B{ending}", f"I{ending}"]
        return tuple(tags)

    def encode_examples(
        self, examples: Sequence[Sentence], tokenizers: Tokenizers, settings: EncodingSettings
    ) -> EncodedExamples:
        """Encode sentences in chunks, with a row of logits for each word."""
        return encode_words(examples, tokenizers, settings)

    def predict(self, logits: Logits, example: Sentence, names: tuple[str, ...]) -> Prediction:
        """Predict the tag with the highest output for each word."""
        return tuple(names[place] for place in logits.argmax(axis=1))

    def count_rows(self, example: Sentence) -> int:
        """Return the number of words."""
        return len(example.words)

    def constant_predictions(self, gold: Sequence[Any]) -> list[Sequence[Any]]:
        """Return one prediction: no entity anywhere."""
        return [[("O",) * len(tags) for tags in gold]]

    def judge(
        self, example: Sentence, gold: Sequence[str], predicted: Any, rules: Rules
    ) -> Judgment:
        """Judge entities; false alarms are predicted entities that overlap no gold entity."""
        gold_units = self.find_units(example, gold, rules.untyped)
        found = self.find_units(example, predicted, rules.untyped)
        claims = {unit: _judge_entity(unit, found) for unit in gold_units}
        alarms = tuple(unit for unit in found if not any(map(unit.touches, gold_units)))
        return Judgment(claims, alarms)

    def label_items(self, labels: Sequence[str], untyped: bool) -> frozenset[Hashable]:
        """Return the entities of tags."""
        return frozenset(decode_spans(labels, choose_type_reader(untyped)))

    def find_units(
        self, example: Sentence, labels: Sequence[str], untyped: bool
    ) -> tuple[Unit, ...]:
        """Return the entities that tags mark in a sentence."""
        return tuple(
            Unit(kind, start, end, " ".join(example.words[start:end]))
            for start, end, kind in decode_spans(labels, choose_type_reader(untyped))
        )

    def find_choices(
        self, example: Sentence, names: tuple[str, ...], units: Iterable[Unit] | None = None
    ) -> Iterator[Choice]:
        """Yield the choice of each word's tag."""
        rows: Iterable[int] = range(len(example.words))
        if units is not None:
            rows = sorted({row for unit in units for row in range(unit.start, unit.end)})
        for row in rows:
            yield choose_in_row(names, row, example.words[row])

    def list_confusions(
        self, gold: Sequence[str], predicted: Sequence[str], untyped: bool
    ) -> Iterator[Confusion]:
        """Yield a pair of types for each span; NO_LABEL is that of a missed or invented entity."""
        read_type = choose_type_reader(untyped)
        ours, theirs = (
            {(span.start, span.end): span.type or BARE for span in decode_spans(tags, read_type)}
            for tags in (gold, predicted)
        )
        for span in sorted(ours.keys() | theirs.keys()):
            yield Confusion(ours.get(span, NO_LABEL), theirs.get(span, NO_LABEL), *span)

    def show_lines(
        self, example: Sentence, unit: Unit, claims: Claims, *, alarm: bool, untyped: bool
    ) -> Iterable[Line]:
        """Yield a sentence with its gold entities, then with those that each side predicted."""
        text = example.full_text
        gold = self.find_units(example, example.tags or (), untyped)

        # Character at which each word starts; one more, so that the last word has an end.
        starts = [0]
        for word in example.words:
            starts.append(starts[-1] + len(word) + 1)

        def mark(unit: Unit, style: str) -> Mark:
            return Mark(starts[unit.start], starts[unit.end] - 1, style)

        # All lines begin at the same character, so that they can be compared.
        predicted = [other for _, claim in claims for other in claim.predicted]
        involved = [mark(one, OTHER) for one in (unit, *predicted)]
        first = max(0, min(one.start for one in involved) - BEFORE)
        last = max(one.end for one in involved)
        marks = [mark(unit, GOLD) if one == unit else mark(one, OTHER) for one in gold]
        note = "nothing here" if alarm else ""
        yield clip_around_marks("gold", text, marks, first, last + AFTER, note)
        for name, claim in claims:
            marks = [mark(one, choose_style(claim)) for one in claim.predicted]
            end = max((one.end for one in marks), default=last)
            yield clip_around_marks(name, text, marks, first, end + TAIL, claim.error)

    def describe_case(
        self, example: Sentence, start: int | None, end: int | None
    ) -> dict[str, str]:
        """Return an entity and the words before and after it."""
        before = example.words[:start]
        after = example.words[end:]
        ellipsis_before = "… " if len(before) > NEARBY else ""
        ellipsis_after = " …" if len(after) > NEARBY else ""
        return {
            "words": " ".join(example.words[start:end]),
            "before": ellipsis_before + " ".join(before[-NEARBY:]),
            "after": " ".join(after[:NEARBY]) + ellipsis_after,
        }

    def words_of_units(
        self, example: Sentence, units: Sequence[Unit], split: SplitWords
    ) -> Sequence[str]:
        """Return the words from the first to the last unit."""
        start = min(unit.start for unit in units)
        end = max(unit.end for unit in units)
        return example.words[start:end]

    def example_from_inputs(
        self, typed: Mapping[str, str], split: SplitWords, word_rule: str
    ) -> Example:
        """Make a sentence of a typed text."""
        return self.examples_from_lines([" ".join(typed["sentence"].split())], split)[0]

    def examples_from_lines(self, lines: Sequence[str], split: SplitWords) -> tuple[Example, ...]:
        """Make a sentence of each line, without words if it is blank."""
        words = [tuple(split(line)) for line in lines]
        if not any(words):
            raise InputError("The text has no words.", "Give a sentence on each line.")
        return tuple(Sentence(own, None) for own in words)

    def format_predictions(
        self, examples: Sequence[Sentence], predictions: Sequence[Prediction], jsonl: bool = False
    ) -> Iterator[str]:
        """Yield a word and its predicted tag on each line, or JSON lines."""
        for example, tags in zip(examples, predictions, strict=True):
            if jsonl:
                yield json.dumps({"words": example.words, "tags": tags}, ensure_ascii=False) + "\n"
            else:
                pairs = zip(example.words, tags, strict=True)
                yield "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"


def _judge_entity(unit: Unit, predicted: Iterable[Unit]) -> Claim:
    """Judge what was predicted on the words of a gold entity; the mildest kind of error counts."""
    touching = tuple(other for other in predicted if unit.touches(other))
    if not touching:
        return Claim(MISSED)
    if unit in touching:
        return Claim(RIGHT, (unit,))
    if any((other.start, other.end) == (unit.start, unit.end) for other in touching):
        return Claim(TYPE, touching)
    same_type = any(other.label == unit.label for other in touching)
    return Claim(BOUNDARY if same_type else BOTH, touching)


def _list_words(split: Split) -> list[tuple[str, ...]]:
    return [example.words for example in split.examples if isinstance(example, Sentence)]


def _describe_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    for place, (gold, predicted) in enumerate(zip(ours, theirs, strict=False), start=1):
        if gold != predicted:
            return f"word {place} is {gold!r:.40} in the gold file, {predicted!r:.40} here"
    return f"{len(ours)} words in the gold file, {len(theirs)} here"
