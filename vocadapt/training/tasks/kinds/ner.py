"""Named entity recognition: a tag for each word of a sentence.

Files are CoNLL columns (the word first, the tag last; tab or spaces; 1 to 4 columns) or JSON lines.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vocadapt.errors import InputError
from vocadapt.models.heads import TOKEN
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.finetune.encoding import Encoded, EncodingSettings, encode_words
from vocadapt.training.labels import Logits
from vocadapt.training.scoring.counts import TAGS, Rules
from vocadapt.training.tasks.examples import (
    Example,
    Prediction,
    Predictions,
    Sentence,
    Split,
    SplitWords,
)
from vocadapt.training.tasks.kinds.judgment import (
    MISSED,
    NO_LABEL,
    RIGHT,
    SPURIOUS,
    Choice,
    Claim,
    Confusion,
    Judgment,
    Unit,
    choose_in_row,
)
from vocadapt.training.tasks.kinds.kind import SAMPLE_SENTENCE, TaskKind, TextInput, Tokenizers
from vocadapt.training.tasks.kinds.marked_lines import (
    AFTER,
    BEFORE,
    GOLD,
    OTHER,
    Claims,
    Line,
    Mark,
    clip_around_marks,
    style_of,
)
from vocadapt.training.tasks.table_rows import MAX_TASK_BYTES, read_json_rows
from vocadapt.training.tasks.tags import (
    check_tag,
    count_stray_insides,
    decode_spans,
    detect_scheme,
    encode_spans,
    type_of,
)

INSIDE = "I without a B, read as the beginning of an entity"
EMPTY = "empty sentences, left out"
BOUNDARY, TYPE, BOTH = "boundary", "type", "boundary and type"
BARE = "(entity)"  # the type of a bare tag in a confusion
TAIL = 12  # characters after what a side predicted
NEARBY = 12  # words on either side of an entity in a table
SAME_WORDS = "Give the gold file's own words; if a model truncated a sentence, give O for the rest."
DOCUMENT = "-DOCSTART-"
BLANK = " \t\r\n"
SAME_FORM = "Give all tags a type, or none."
REMEDY = (
    "Expected a word and its tag on each line (tab or blanks between), and a blank line after each"
    " sentence."
)


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
    most_labels = 1000  # two outputs each per word
    reported_notes = frozenset({INSIDE, EMPTY})
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
        """Read tagged sentences with their tags unchanged: token scores compare them literally."""
        return read_sentences(path, iob2=False)

    def read_predictions(self, path: Path, gold: Split) -> Predictions:
        """Read predicted tags; raises InputError for other words than those of the gold file."""
        predicted = read_sentences(path, iob2=False)
        if not predicted.labeled:
            raise InputError(
                f"{path}: has no tags, only words.",
                "Give a word and its predicted tag on each line.",
            )
        if len(predicted) != len(gold):
            problem = f"{path}: holds {len(predicted):,} sentences, the gold file {len(gold):,}."
            raise InputError(problem, "Predict on the gold file's own sentences.")
        pairs = zip(_list_words(gold), _list_words(predicted), strict=True)
        for number, (ours, theirs) in enumerate(pairs, start=1):
            if ours != theirs:
                difference = _describe_difference(ours, theirs)
                raise InputError(f"{path}: sentence {number:,} differs: {difference}.", SAME_WORDS)
        return Predictions(tuple(example.gold for example in predicted.examples))

    def example_from_json(self, row: Mapping[str, Any]) -> Sentence:
        """Rebuild a sentence."""
        tags = None if row["tags"] is None else tuple(row["tags"])
        return Sentence(tuple(row["words"]), tags, row["document"])

    def labels_of(self, examples: Iterable[Example]) -> frozenset[str]:
        """Return the types of entities."""
        tags = (tag for example in examples for tag in example.gold or ())
        return frozenset(type_of(tag) for tag in tags if tag != "O")

    def describe_labels(self, labels: frozenset[str]) -> str:
        """Report that there is no entity."""
        if labels:
            return ""
        return "holds no entity: precision and recall are 0 by convention."

    def name_outputs(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Return the tags: O first, then B and I of each type."""
        tags = ["O"]
        for label in labels:
            ending = f"-{label}" if label else ""
            tags += [f"B{ending}", f"I{ending}"]
        return tuple(tags)

    def encode_examples(
        self, examples: Sequence[Sentence], tokenizers: Tokenizers, settings: EncodingSettings
    ) -> Encoded:
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
        return frozenset(decode_spans(labels, _type_reader(untyped)))

    def find_units(
        self, example: Sentence, labels: Sequence[str], untyped: bool
    ) -> tuple[Unit, ...]:
        """Return the entities that tags mark in a sentence."""
        return tuple(
            Unit(kind, start, end, " ".join(example.words[start:end]))
            for start, end, kind in decode_spans(labels, _type_reader(untyped))
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
        """Yield a pair of types for each span; a missed or invented entity is paired with NO_LABEL."""
        read_type = _type_reader(untyped)
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
        text, gold = example.full_text, self.find_units(example, example.tags or (), untyped)

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
            marks = [mark(one, style_of(claim)) for one in claim.predicted]
            end = max((one.end for one in marks), default=last)
            yield clip_around_marks(name, text, marks, first, end + TAIL, claim.error)

    def describe_case(
        self, example: Sentence, start: int | None, end: int | None
    ) -> dict[str, str]:
        """Return an entity and the words before and after it."""
        before, after = example.words[:start], example.words[end:]
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
        start, end = min(unit.start for unit in units), max(unit.end for unit in units)
        return example.words[start:end]

    def example_from_inputs(
        self, typed: Mapping[str, str], split: SplitWords, word_rule: str
    ) -> Example:
        """Make a sentence of a typed text."""
        return self.examples_from_lines([" ".join(typed["sentence"].split())], split)[0]

    def examples_from_lines(self, lines: Sequence[str], split: SplitWords) -> tuple[Example, ...]:
        """Make a sentence of each line that has a word."""
        words = [tuple(split(line)) for line in lines]
        if not any(words):
            raise InputError("The text has no words.", "Give a sentence on each line.")
        return tuple(Sentence(own, None) for own in words if own)

    def format_predictions(
        self, examples: Sequence[Sentence], predictions: Sequence[Prediction], jsonl: bool = False
    ) -> Iterator[str]:
        """Yield a word and its predicted tag on each line, or JSON lines."""
        for example, tags in zip(examples, predictions, strict=True):
            if jsonl:
                row = {"words": example.words, "tags": tags}
                yield json.dumps(row, ensure_ascii=False) + "\n"
            else:
                pairs = zip(example.words, tags, strict=True)
                yield "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"


def _type_reader(untyped: bool) -> Callable[[str], str]:
    """Return the function that reads the type of a tag; "" for every tag if untyped."""
    return (lambda tag: "") if untyped else type_of


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


def read_sentences(path: Path, iob2: bool = True) -> Split:
    """Read sentences; with `iob2` the tags are converted to IOB2 from any scheme, else they are
    unchanged.

    The number of columns of the first line applies to all: one means words without tags (predict
    only), with two or more the tag is the last. A line that begins with -DOCSTART- begins a
    document. A file that ends in .jsonl has {"words": […], "tags": […]} on each line. Raises
    InputError, with the line, for other columns, an empty word, an unknown tag, a mix of bare and
    typed tags, and no sentence.
    """
    sentences, left_out = _read(path)
    if not sentences:
        raise InputError(f"{path}: holds no sentence.", REMEDY)
    tagged = [sentence.tags for sentence in sentences if sentence.tags is not None]
    notes: dict[str, int | str] = {
        "words": sum(len(sentence.words) for sentence in sentences),
        EMPTY: left_out,
    }
    if not tagged:
        return Split(tuple(sentences), notes, path)
    scheme = detect_scheme(tagged)
    notes |= {"entities": sum(len(decode_spans(tags)) for tags in tagged), "scheme": scheme}
    notes[INSIDE] = 0 if scheme == "IOB1" else count_stray_insides(tagged)
    return Split(tuple(map(_as_iob2, sentences) if iob2 else sentences), notes, path)


def _as_iob2(sentence: Sentence) -> Sentence:
    if sentence.tags is None:
        return sentence
    return Sentence(
        sentence.words,
        encode_spans(decode_spans(sentence.tags), len(sentence.words)),
        sentence.document,
    )


def _read(path: Path) -> tuple[list[Sentence], int]:
    """Read the sentences of a file, and count those without a word."""
    lines = path.name.removesuffix(".gz").endswith(".jsonl")
    found = list(_json_sentences(path) if lines else _conll_sentences(path))
    if len({tag[1:2] for sentence in found for tag in sentence.tags or () if tag != "O"}) > 1:
        raise InputError(f"{path}: bare and typed tags in one file.", SAME_FORM)
    return [sentence for sentence in found if sentence.words], sum(
        not sentence.words for sentence in found
    )


def _conll_sentences(path: Path) -> Iterator[Sentence]:
    columns, document, blanks = Columns(path), "", 0
    words: list[str] = []
    tags: list[str] = []
    with open_text_file(path, max_bytes=MAX_TASK_BYTES) as source:
        for number, line in enumerate(source.lines(), start=1):
            cells = columns.cells(line)
            begins = cells[0].split(" ")[0] == DOCUMENT
            if not begins and any(cells):
                yield from [Sentence((), None)] * (
                    blanks - 1
                )  # blank lines beyond the one that ends a sentence
                word, tag, of = columns.word(cells, number)
                document = of if of and not words else document
                words.append(word)
                tags.append(tag)
                blanks = 0
                continue
            if words:
                yield Sentence(tuple(words), tuple(tags) if columns.tagged else None, document)
            words, tags, blanks = [], [], 0 if begins else blanks + 1
            document = _document(cells, number) if begins else document
    if words:
        yield Sentence(tuple(words), tuple(tags) if columns.tagged else None, document)


def _document(cells: list[str], number: int) -> str:
    """Return the name after -DOCSTART-, or the line number if it has no digit."""
    named = " ".join(cells).removeprefix(DOCUMENT).strip()
    return named if re.search(r"\d", named) else f"line {number}"


class Columns:
    """Columns of a CoNLL file, as in its first line with a word."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.tab = False
        self.typed: dict[bool, int] = {}  # typed or bare → the first line

    @property
    def tagged(self) -> bool:
        """Whether there are tags."""
        return self.count > 1

    def cells(self, line: str) -> list[str]:
        """Split a line into cells; one empty cell for a blank line."""
        line = line.rstrip("\r\n")
        if not line.strip(BLANK):
            return [""]
        if not self.count:
            self.tab = "\t" in line
        return line.split("\t") if self.tab else re.split(r"[ \t]+", line.strip(BLANK))

    def word(self, cells: list[str], number: int) -> tuple[str, str, str]:
        """Return the word, its tag, and in four columns (BLUE) the document; raises InputError with
        the line.
        """
        self.count = self.count or len(cells)
        place = f"{self.path}: line {number:,}"
        if len(cells) != self.count:
            raise InputError(
                f"{place} has {len(cells)} columns where the first has {self.count}:"
                f" {cells!r:.80}.",
                REMEDY,
            )
        if not cells[0].strip(BLANK):
            raise InputError(f"{place} has a tag but no word.", REMEDY)
        tag = self._tag(cells[-1].strip(BLANK), place, number) if self.tagged else ""
        return cells[0], tag, cells[1] if self.count == 4 and cells[1].isdigit() else ""

    def _tag(self, tag: str, place: str, number: int) -> str:
        check_tag(tag, place)
        if tag != "O":
            self.typed.setdefault("-" in tag, number)
        if len(self.typed) > 1:
            lines = f"lines {self.typed[False]:,} and {self.typed[True]:,}"
            raise InputError(f"{self.path}: bare and typed tags in one file ({lines}).", SAME_FORM)
        return tag


def _json_sentences(path: Path) -> Iterator[Sentence]:
    for place, row in read_json_rows(path, '{"words": ["…"], "tags": ["O"]}'):
        words, tags = _strings(row, "words", place), _strings(row, "tags", place)
        if words is None:
            raise InputError(
                f'{place}: expected "words", found {", ".join(row) or "nothing"}.', REMEDY_JSON
            )
        if tags is not None and len(tags) != len(words):
            raise InputError(f"{place}: {len(words)} words, {len(tags)} tags.", REMEDY_JSON)
        checked = None if tags is None else tuple(check_tag(tag, place) for tag in tags)
        yield Sentence(words, checked, str(row.get("document", "")))


REMEDY_JSON = 'Each line looks like {"words": ["No", "fever"], "tags": ["O", "B-Disease"]}.'


def _strings(row: dict[str, Any], name: str, place: str) -> tuple[str, ...] | None:
    value = row.get(name)
    if value is not None and not (
        isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    ):
        raise InputError(f"{place}: expected a list of texts under {name!r}.", REMEDY_JSON)
    return None if value is None else tuple(value)
