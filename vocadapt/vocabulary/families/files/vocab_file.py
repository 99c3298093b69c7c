"""Read the lines of a vocab.txt and find their faults.

A vocabulary with faults can be inspected (`read_listing`), but no model can use it: `read_tokens`
raises an error. Each of these faults assigns the wrong token, or none, to an id, and the libraries
do not report it.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.system.files import check_line_count, read_whole

# In the order of ROLES.
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MAX_WORD_LENGTH = 100  # characters; a longer word is [UNK] in BERT
MAX_NAMED = 3  # faults that a message lists


@dataclass(frozen=True)
class Fault:
    """A problem in a vocab.txt.

    line: number of the line, from 1; 0 for the file as a whole.
    """

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line:,} {self.problem}" if self.line else self.problem


@dataclass(frozen=True, eq=False)
class Listing:
    """The lines of a vocab.txt in the order of their ids, and their faults."""

    lines: tuple[str, ...]
    faults: tuple[Fault, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The distinct tokens, in the order of their first lines; empty lines are skipped, except
        one that is a token (`is_empty_token`).
        """
        keep_empty = is_empty_token(self.lines)
        return tuple(dict.fromkeys(line for line in self.lines if line or keep_empty))


def read_listing(path: Path) -> Listing:
    """Read a vocab.txt, faulty or not.

    Raises InputError if it is missing, not UTF-8, or has no token.
    """
    if not os.path.lexists(path):
        raise InputError(
            f"{path}: no such file or folder.",
            "Give a model folder, a hub name, or a vocab.txt.",
            code="missing-file",
        )
    try:
        text = read_whole(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: expected a vocab.txt in UTF-8, but byte {error.start} is not valid UTF-8.",
            code="not-utf8",
        ) from error
    check_line_count(text, path)
    lines = tuple(text.removesuffix("\n").split("\n"))
    if not any(lines):
        raise InputError(
            f"{path}: expected a WordPiece vocab.txt, one token per line; it has none.",
            code="no-tokens",
        )
    return Listing(lines, tuple(find_faults(lines, text.endswith("\n"))))


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read the lines of a vocab.txt, in the order of their ids.

    Raises InputError if the file is missing, not UTF-8, empty, not a WordPiece vocabulary, or has a
    faulty line: an empty or repeated line, a special token in lower case, or a truncated last line.
    """
    listing = read_listing(path)
    if "[UNK]" not in listing.lines:
        raise InputError(
            f"{path}: expected a WordPiece vocab.txt, one token per line, [UNK] among them;"
            f" {format_faults(listing.faults[::-1])}.",
            "Give a model folder, a hub name, or a vocab.txt.",
            code="faulty-vocabulary",
        )
    if listing.faults:
        raise InputError(
            f"{path}: {format_faults(listing.faults)}.",
            "Correct the file: no model can use it. `vocabulary compare` can read it nevertheless.",
            code="faulty-vocabulary",
        )
    return listing.lines


def is_empty_token(lines: tuple[str, ...]) -> bool:
    """Return whether an empty line is a token: it is the only empty line, and tokens follow it.

    The published vocabulary of SciBERT has such a token (line 30,107). No text is ever tokenized
    into it, but it has an id and an embedding: without it every later token would get a wrong id.
    """
    return lines.count("") == 1 and lines[-1] != ""


def find_faults(lines: tuple[str, ...], ended: bool = True) -> list[Fault]:
    """Return the faults of the lines of a vocab.txt, in the order of the lines.

    ended: whether the last line ends in a line break.
    """
    first = dict[str, int]()
    faults = []
    empty_token = is_empty_token(lines)
    for number, token in enumerate(lines, start=1):
        if token == "" and not empty_token:
            faults.append(Fault(number, "is empty"))
        elif token in first:
            faults.append(Fault(number, f"repeats {token!r} of line {first[token]:,}"))
        elif token not in SPECIAL_TOKENS and token.upper() in SPECIAL_TOKENS:
            faults.append(
                Fault(
                    number,
                    f"is {token!r}, not {token.upper()}: special tokens are written in capitals",
                )
            )
        first.setdefault(token, number)
    if not ended:
        faults.append(Fault(len(lines), "does not end in a line break: the file may be truncated"))
    if "[UNK]" not in first:
        faults.append(Fault(0, f"none of {len(lines)} lines is [UNK]"))
    return faults


def format_faults(faults: tuple[Fault, ...]) -> str:
    """Return the first faults and the number of the others, in one line."""
    listed = "; ".join(map(str, faults[:MAX_NAMED]))
    return listed if len(faults) <= MAX_NAMED else f"{listed}; and {len(faults) - MAX_NAMED:,} more"


def is_lowercase(tokens: tuple[str, ...]) -> bool:
    """Return whether a vocabulary is uncased: only [bracketed] tokens have capital letters."""
    return not any(token != token.lower() for token in tokens if not token.startswith("["))
