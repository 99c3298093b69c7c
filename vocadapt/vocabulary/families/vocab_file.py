"""vocab.txt as a list of lines: read as it is, and what is wrong with it, line by line.

Looking at a damaged vocabulary is allowed (`read_listing`); what makes or opens a model refuses it
(`read_tokens` in `vocadapt.vocabulary.families.wordpiece`): each of these faults gives an id another token,
or none, without a word from the libraries.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import read_whole

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NAMED = 3  # faulty lines that a message names


@dataclass(frozen=True)
class Fault:
    """Something wrong with a line of a vocab.txt: its number, from 1 (0: the file as a whole), and
    what.
    """

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line:,} {self.problem}" if self.line else self.problem


@dataclass(frozen=True, eq=False)
class Listing:
    """The lines of a vocab.txt in the order of their ids, and what is wrong with them."""

    lines: tuple[str, ...]
    faults: tuple[Fault, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The distinct tokens, in the order of their first lines; empty lines are skipped unless
        `is_empty_token`.
        """
        return tuple(
            dict.fromkeys(line for line in self.lines if line or is_empty_token(self.lines))
        )


def read_listing(path: Path) -> Listing:
    """Read a vocab.txt, faulty or not; raises InputError when it is missing, not UTF-8, or holds no
    token.
    """
    if not os.path.lexists(path):
        raise InputError(
            f"{path}: no such file or folder.", "Give a model folder, a hub name, or a vocab.txt."
        )
    try:
        text = read_whole(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: expected a vocab.txt in UTF-8, byte {error.start} is not."
        ) from error
    lines = tuple(text.removesuffix("\n").split("\n"))
    if not any(lines):
        raise InputError(
            f"{path}: expected a WordPiece vocab.txt, one token a line; it holds none."
        )
    return Listing(lines, tuple(find_faults(lines, text.endswith("\n"))))


def is_empty_token(lines: tuple[str, ...]) -> bool:
    """Return whether the empty line is a token: it is the only one, and tokens follow it.

    The published vocabulary of SciBERT has such a token (line 30,107). No text is ever tokenized
    into it, but it has an id and an embedding: without it every later token would get a wrong id.
    """
    return lines.count("") == 1 and lines[-1] != ""


def find_faults(lines: tuple[str, ...], ended: bool = True) -> list[Fault]:
    """What is wrong with these lines, in their order; `ended` says whether the last one ends in a
    line break.
    """
    first, faults = dict[str, int](), []
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
                    f"holds {token!r}, which is no {token.upper()}: special tokens are written in"
                    " capitals",
                )
            )
        first.setdefault(token, number)
    if not ended:
        faults.append(
            Fault(len(lines), "does not end in a line break: the file may have been cut off there")
        )
    if "[UNK]" not in first:
        faults.append(Fault(0, f"none of {len(lines)} lines is [UNK]"))
    return faults


def said(faults: tuple[Fault, ...]) -> str:
    """The first faults in one line, and how many there are."""
    named = "; ".join(map(str, faults[:NAMED]))
    return named if len(faults) <= NAMED else f"{named}; and {len(faults) - NAMED:,} more"
