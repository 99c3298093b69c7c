"""Files of one word per line, for the rows of an array, and the word lists bundled with gensim.

Only a newline ends a line: \\x85 and \\u2028 are part of the word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_DOCUMENT_BYTES, check_line_count, read_whole

COUNTED_WORD = re.compile(r"([^\t]*)\t([0-9]+)")


@dataclass(frozen=True, eq=False)
class WordList:
    """Words, and their counts (words,) int64 if the file has them."""

    words: tuple[str, ...]
    counts: NDArray[np.int64] | None = None


def encode_word_lines(words: Iterable[str], name: str) -> bytes:
    """Encode words as lines; raises InputError for a word that cannot be one line of UTF-8."""
    words = tuple(words)
    if broken := next((word for word in words if "\n" in word), None):
        raise InputError(
            f"{name}: the word {broken!r} contains a line break.",
            "Remove the word first.",
            code="line-break",
        )
    try:
        return "".join(f"{word}\n" for word in words).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: a word is not valid Unicode ({error.reason}).",
            "Remove the word first.",
            code="not-utf8",
        ) from None


def read_word_lines(path: Path, max_bytes: int = MAX_DOCUMENT_BYTES) -> list[str]:
    """Read the lines of a file; raise InputError if it is larger than `max_bytes` or not UTF-8."""
    try:
        text = read_whole(path, max_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 at byte {error.start:,}.",
            "Save the file as UTF-8.",
            code="not-utf8",
        ) from None
    if not text:
        return []
    check_line_count(text, path)
    return text.removesuffix("\n").split("\n")


def read_words(path: Path) -> WordList:
    """Read a words file of any tool: one word per line, or word, tab and count on every line."""
    lines = [line.removesuffix("\r") for line in read_word_lines(path)]
    pairs = [COUNTED_WORD.fullmatch(line) for line in lines]
    counted = [(pair[1], int(pair[2])) for pair in pairs if pair]
    if not counted or len(counted) < len(lines):
        return WordList(tuple(lines))
    words, counts = zip(*counted, strict=True)
    return WordList(words, np.array(counts, dtype=np.int64))


def find_gensim_file(name: str) -> Path:
    """Return the path of a file of gensim's test data; raise InputError without gensim."""
    # `find_spec` locates the package without running its code.
    found = find_spec("gensim")
    if found is None or found.origin is None:
        raise InputError(
            "gensim is not installed; the word lists are part of it.", "Install requirements.txt."
        )
    return Path(found.origin).parent / "test" / "test_data" / name
