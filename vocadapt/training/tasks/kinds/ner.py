"""Reader of tagged words: CoNLL columns (the word first, the tag last; tab or spaces; 1 to 4
columns) or JSON lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.tasks.examples import EMPTY, INSIDE, Sentence, Split
from vocadapt.training.tasks.table_rows import MAX_TASK_BYTES, json_rows
from vocadapt.training.tasks.tags import check_tag, scheme_of, spans_of, stray_insides, tags_of

DOCUMENT = "-DOCSTART-"
BLANK = " \t\r\n"
SAME_FORM = "Give all tags a type, or none."
REMEDY = (
    "Expected a word and its tag on each line (tab or blanks between), and a blank line after each"
    " sentence."
)


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
    scheme = scheme_of(tagged)
    notes |= {"entities": sum(len(spans_of(tags)) for tags in tagged), "scheme": scheme}
    notes[INSIDE] = 0 if scheme == "IOB1" else stray_insides(tagged)
    return Split(tuple(map(_as_iob2, sentences) if iob2 else sentences), notes, path)


def _as_iob2(sentence: Sentence) -> Sentence:
    if sentence.tags is None:
        return sentence
    return Sentence(
        sentence.words, tags_of(spans_of(sentence.tags), len(sentence.words)), sentence.document
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
    for place, row in json_rows(path, '{"words": ["…"], "tags": ["O"]}'):
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
