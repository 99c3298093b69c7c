"""Reader of tagged words: CoNLL columns (the word first, or after its number in the sentence; the
tag last; tab or spaces) or JSON lines.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Sentence, Split
from vocadapt.training.examples.tags import (
    TAG,
    TagChecker,
    count_stray_insides,
    decode_spans,
    detect_scheme,
    encode_spans,
    normalize_tag,
)
from vocadapt.training.tasks.formats.table_rows import open_task_file, read_json_rows

DOCUMENT = "-DOCSTART-"
BLANK = " \t\r\n"
INSIDE = "I without a B, read as the beginning of an entity"
SCHEME = "scheme"
EMPTY = "empty sentences, left out"
COMMENTS = "comment lines (# …) before sentences, left out"
NUMBERED = "column before the words, which numbers them, left out"
INDEX = re.compile("[0-9]{1,9}")
NUMBERED_LINES = 1000  # lines that show whether there is one
SAME_FORM = "Give all tags a type, or none."
REMEDY = (
    "Expected a word and its tag on each line (tab or blanks between), and a blank line after each"
    " sentence."
)
REMEDY_JSON = 'Each line looks like {"words": ["No", "fever"], "tags": ["O", "B-Disease"]}.'


def read_sentences(path: Path, iob2: bool = True) -> Split:
    """Read sentences; with `iob2` the tags are converted to IOB2 from any scheme, else only
    normalized (`normalize_tag`).

    The number of columns of the first line applies to all: one means words without tags (predict
    only), with two or more the tag is the last. A line that begins with -DOCSTART- begins a
    document; comments (`# id = 7`) and numbers of words are left out. Raises InputError, with the
    line, for other columns, an empty word, an unknown tag, a mix of bare and typed tags, and no
    sentence.
    """
    # 1. The sentences of the file, of which all tags have a type, or none.
    is_json = path.name.removesuffix(".gz").endswith(".jsonl")
    read = _read_json if is_json else _read_conll
    checker = TagChecker()
    notes = Counter[str]()
    found = list(read(path, checker, notes))
    checker.finish()
    scheme = detect_scheme([sentence.tags for sentence in found if sentence.tags])
    if scheme in ("BILOU", "IO"):
        found = [_convert_tags(one, lambda tags: tuple(map(normalize_tag, tags))) for one in found]
    if len({tag[1:2] for sentence in found for tag in sentence.tags or () if tag != "O"}) > 1:
        raise InputError(
            f"{path}: bare and typed tags in one file.", SAME_FORM, code="bare-and-typed-tags"
        )
    sentences = [sentence for sentence in found if sentence.words]
    if not sentences:
        raise InputError(f"{path}: holds no sentence.", REMEDY, code="no-sentences")
    # 2. Count what is reported of the split.
    tagged = [sentence.tags for sentence in sentences if sentence.tags is not None]
    counted: dict[str, int | str] = {
        "words": sum(len(sentence.words) for sentence in sentences),
        EMPTY: len(found) - len(sentences),
        **notes,
    }
    if tagged:
        counted |= {"entities": sum(len(decode_spans(tags)) for tags in tagged), SCHEME: scheme}
        counted[INSIDE] = 0 if scheme in ("IOB1", "IO") else count_stray_insides(tagged)
    # 3. The spans of every scheme as IOB2, which training and scores expect.
    if iob2:
        sentences = [_convert_tags(one, _convert_to_iob2) for one in sentences]
    return Split(tuple(sentences), counted, path)


def _convert_tags(
    sentence: Sentence, convert: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> Sentence:
    if sentence.tags is None:
        return sentence
    return replace(sentence, tags=convert(sentence.tags))


def _convert_to_iob2(tags: tuple[str, ...]) -> tuple[str, ...]:
    return encode_spans(decode_spans(tags), len(tags))


def _read_conll(path: Path, checker: TagChecker, notes: Counter[str]) -> Iterator[Sentence]:
    """Read the sentences of CoNLL columns, and an empty one for each blank line too many."""
    columns = Columns(path, checker)
    document = ""
    blank_lines = 0
    tagged_words: list[tuple[str, str]] = []
    if _has_numbered_words(path, columns):
        columns.are_numbered, notes[NUMBERED] = True, 1
    with open_task_file(path) as source:
        for number, line in enumerate(source.lines(), start=1):
            if not tagged_words and columns.is_comment(line):
                notes[COMMENTS] += 1
                continue
            cells = columns.split(line)
            starts_document = cells[0].split(" ")[0] == DOCUMENT

            # 1. A word belongs to the sentence, which is in the document of its first word.
            if any(cells) and not starts_document:
                yield from [Sentence((), None)] * (blank_lines - 1)
                blank_lines = 0
                word, tag, own_document = columns.read_word(cells, number)
                if own_document and not tagged_words:
                    document = own_document
                tagged_words.append((word, tag))
                continue

            # 2. Any other line ends the sentence; one of them begins a document.
            if tagged_words:
                yield _build_sentence(tagged_words, document, columns.tagged)
                tagged_words = []
            blank_lines += 1
            if starts_document:
                document = _name_document(cells, number)
                blank_lines = 0
    if tagged_words:
        yield _build_sentence(tagged_words, document, columns.tagged)


def _has_numbered_words(path: Path, columns: "Columns") -> bool:
    """Return whether the first of three or more columns numbers the words: from 0 or 1 in the first
    sentence, in later ones again or on; one sentence has two words at least.
    """
    expected: set[int] = {0, 1}
    n_continued = 0
    with open_task_file(path) as source:
        for line in islice(source.lines(), NUMBERED_LINES):
            cells = columns.split(line)
            if cells[0].startswith(("#", DOCUMENT)):
                continue
            if not any(cells):
                expected |= {0, 1}
                continue
            if len(cells) < 3 or not INDEX.fullmatch(cells[0]) or int(cells[0]) not in expected:
                return False
            n_continued += len(expected) == 1
            expected = {int(cells[0]) + 1}
    return n_continued > 0


def _build_sentence(tagged_words: list[tuple[str, str]], document: str, has_tags: bool) -> Sentence:
    words, tags = zip(*tagged_words, strict=True)
    return Sentence(words, tags if has_tags else None, document)


def _name_document(cells: list[str], number: int) -> str:
    """Return the name after -DOCSTART-, or the line number if it has no digit."""
    named = " ".join(cells).removeprefix(DOCUMENT).strip()
    return named if re.search(r"\d", named) else f"line {number}"


class Columns:
    """Columns of a CoNLL file, as in its first line with a word."""

    def __init__(self, path: Path, checker: TagChecker) -> None:
        self.path = path
        self.checker = checker
        self.count = 0
        self.tab = False
        self.are_numbered = False  # whether a column before the words numbers them
        self.typed: dict[bool, int] = {}  # typed or bare → the first line

    @property
    def tagged(self) -> bool:
        """Whether there are tags."""
        return self.count > 1

    def split(self, line: str) -> list[str]:
        """Split a line into cells; one empty cell for a blank line."""
        line = line.rstrip("\r\n")
        if not line.strip(BLANK):
            return [""]
        if not self.count:
            self.tab = "\t" in line
        return line.split("\t") if self.tab else re.split(r"[ \t]+", line.strip(BLANK))

    def is_comment(self, line: str) -> bool:
        """Return whether a line before a sentence is a comment (`# id = 7`), not the word #."""
        if not line.startswith(("# ", "#\t")):
            return False
        cells = self.split(line)
        has_columns = not self.are_numbered and self.count in (0, len(cells))
        return not (has_columns and TAG.fullmatch(cells[-1].strip(BLANK)))

    def read_word(self, cells: list[str], number: int) -> tuple[str, str, str]:
        """Return the word, its tag, and in four columns (BLUE) the document; raises InputError with
        the line.
        """
        if self.are_numbered:
            cells = cells[1:]
        self.count = self.count or len(cells)
        place = f"{self.path}: line {number:,}"
        if len(cells) != self.count:
            raise InputError(
                f"{place} has {len(cells)} columns where the first has {self.count}:"
                f" {cells!r:.80}.",
                REMEDY,
                code="ragged-row",
            )
        if not cells[0].strip(BLANK):
            raise InputError(f"{place} has a tag but no word.", REMEDY, code="no-word")
        tag, document = "", ""
        if self.tagged:
            tag = self._read_tag(cells[-1].strip(BLANK), place, number)
        if self.count == 4 and cells[1].isdigit():
            document = cells[1]
        return cells[0], tag, document

    def _read_tag(self, tag: str, place: str, number: int) -> str:
        self.checker.check(tag, place)
        if tag != "O" and not self.checker.first_alone:
            self.typed.setdefault("-" in tag, number)
        if len(self.typed) > 1:
            raise InputError(
                f"{self.path}: bare and typed tags in one file (lines {self.typed[False]:,} and"
                f" {self.typed[True]:,}).",
                SAME_FORM,
                code="bare-and-typed-tags",
            )
        return tag


def _read_json(path: Path, checker: TagChecker, notes: Counter[str]) -> Iterator[Sentence]:
    for place, row in read_json_rows(path, '{"words": ["…"], "tags": ["O"]}'):
        words = _read_strings(row, "words", place)
        tags = _read_strings(row, "tags", place)
        if words is None:
            raise InputError(
                f'{place}: expected "words", found {", ".join(row) or "nothing"}.',
                REMEDY_JSON,
                code="no-words",
            )
        if tags is not None and len(tags) != len(words):
            raise InputError(
                f"{place}: {len(words)} words, {len(tags)} tags.", REMEDY_JSON, code="other-length"
            )
        checked = None if tags is None else tuple(checker.check(tag, place) for tag in tags)
        yield Sentence(words, checked, str(row.get("document", "")))


def _read_strings(row: dict[str, Any], name: str, place: str) -> tuple[str, ...] | None:
    value = row.get(name)
    if value is not None and not (
        isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    ):
        raise InputError(
            f"{place}: expected a list of texts under {name!r}.", REMEDY_JSON, code="wrong-type"
        )
    return None if value is None else tuple(value)
