"""Words in the entities of a task file: one `word TAB tag` a line, blank lines between sentences.

This reads only the words and their counts; the tasks read sentences, spans and splits.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.text.splitter import Splitter

TAG = re.compile(r"O|[BI](-\S+)?")
DOCUMENT = "-DOCSTART-"  # marks the beginning of a document; not a word
REMEDY = (
    "Expected lines of a word, a tab and a tag (O, B, I, B-Type, I-Type), and a blank line between"
    " sentences."
)


@dataclass(frozen=True, eq=False)
class EntityWords:
    """Normalized words inside entities with their counts, and the totals of the file.

    tokens: number of lines with a word. entities: number of entities; one begins at a B, at an I
    after an O, and at an I of another type.
    """

    counts: Mapping[str, int]
    entities: int
    sentences: int
    tokens: int


def read_entity_words(path: Path, splitter: Splitter) -> EntityWords:
    """Read the words inside the entities of a task file (.gz too), most frequent first.

    Raises InputError, with the line number, for a line that is not a word and a tag, for an unknown
    tag, for bare and typed tags in one file, and for a file without entities.
    """
    # 1. Count the entities, and their words as they are spelled in the file.
    spelled: Counter[str] = Counter()
    first_lines: dict[bool, int] = {}  # first line with a typed tag, and with a bare one
    entities = sentences = tokens = 0
    before = ""  # the tag of the previous word in the sentence
    for number, word, tag in _read_tagged_words(path):
        if not word:
            before = ""
            continue
        tokens += 1
        sentences += not before
        if tag != "O":
            first_lines.setdefault("-" in tag, number)
            entities += tag[0] == "B" or before[1:] != tag[1:] or before in ("", "O")
            spelled[word] += 1
        before = tag
    if len(first_lines) > 1:
        lines = f"lines {first_lines[False]} and {first_lines[True]}"
        raise InputError(
            f"{path}: bare and typed tags in one file ({lines}).", REMEDY, code="mixed-tags"
        )

    # 2. Normalize each distinct word once.
    counts: Counter[str] = Counter()
    for word, count in spelled.items():
        for part in splitter.words(word):
            counts[part] += count
    if not counts:
        raise InputError(
            f"{path}: no entity in {tokens:,} words: every tag is O.", REMEDY, code="no-entity"
        )
    return EntityWords(dict(counts.most_common()), entities, sentences, tokens)


def _read_tagged_words(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, word and tag of every line; "" for both at the end of a sentence."""
    with open_text_file(path) as source:
        for number, line in enumerate(source.lines(), start=1):
            cells = line.rstrip("\n").split("\t")
            if not line.strip() or cells[0].split(" ")[0] == DOCUMENT:
                yield number, "", ""
                continue
            if len(cells) != 2 or not cells[0].strip():
                raise InputError(
                    f"{path}: line {number} has {len(cells)} columns, or no word:"
                    f" {line.strip()[:60]!r}.",
                    REMEDY,
                    code="not-a-word-and-tag",
                )
            if not TAG.fullmatch(cells[1]):
                raise InputError(
                    f"{path}: line {number} has the unknown tag {cells[1][:40]!r}.",
                    REMEDY,
                    code="unknown-tag",
                )
            yield number, cells[0], cells[1]
