"""Formulas of words, such as `king - man + woman`: read, never evaluated as code."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from vocadapt.errors import InputError

MAX_TERMS = 10
SIGNS = {"+": 1.0, "-": -1.0, "−": -1.0, "–": -1.0}
WEIGHT = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)[*×]?")
WEIGHTED_WORD = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)[*×](.+)")
INFIX = re.compile(r"([+\-−–])")
UNAMBIGUOUS_SIGN = re.compile(r"\+|\s[\-−–]")  # cannot be a hyphen
EXAMPLE = "Write one word between the signs, for example king - man + woman."


@dataclass(frozen=True)
class Term:
    """A word of a formula, and the number that its vector is multiplied by."""

    word: str
    weight: float


@dataclass(frozen=True)
class Formula:
    """A sum of weighted words."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        """The formula with all its signs: `king − man + 2 woman`."""
        written = []
        for term in self.terms:
            sign = "−" if term.weight < 0 else "+"
            size = "" if abs(term.weight) == 1 else f"{abs(term.weight):g} "
            written.append(f"{sign} {size}{term.word}")
        return " ".join(written).removeprefix("+ ")


def parse_formula(typed: str, find_word: Callable[[str], str | None]) -> Formula | None:
    """Read a formula of words; None if the typed text is none.

    find_word: the known word that a typed one stands for, None if there is none. Raises InputError
    for a formula that cannot be computed, except for an unknown word: it stays as it was typed.

    1. Signs stand between blanks: `a - b`. Otherwise every word must be known, and at least one
       sign must be a plus, or a minus after a blank (`a-b+c`, `a -b`): others may be hyphens
       (`follow-up`).
    2. Between two signs is one word, with a number before it if its weight is not 1.
    """
    # 1. Split into signs and words.
    parts = typed.split()
    if not SIGNS.keys() & set(parts):
        parts = [part.strip() for part in INFIX.split(typed)]
        if not UNAMBIGUOUS_SIGN.search(typed) or not all(find_word(word) for word in parts[::2]):
            return None
    if len(parts) < 2:
        return None
    if parts[0] not in SIGNS:
        parts = ["+", *parts]

    # 2. A sign begins a term.
    terms: list[Term] = []
    starts = [place for place, part in enumerate(parts) if part in SIGNS]
    if len(starts) > MAX_TERMS:
        raise InputError(
            f"A formula has at most {MAX_TERMS} words, got {len(starts)}.",
            "Leave some out.",
            code="too-many-terms",
        )
    for start, stop in zip(starts, [*starts[1:], len(parts)], strict=True):
        terms.append(_read_term(SIGNS[parts[start]], parts[start + 1 : stop], find_word))
    return Formula(tuple(terms))


def _read_term(sign: float, parts: list[str], find_word: Callable[[str], str | None]) -> Term:
    """Read the parts between two signs: a word, or a number and a word."""
    weight = 1.0
    if len(parts) == 1 and (found := WEIGHTED_WORD.fullmatch(parts[0])):
        parts = [found[1], found[2]]
    if len(parts) == 2 and (found := WEIGHT.fullmatch(parts[0])):
        weight = float(found[1])
        parts = parts[1:]
    if len(parts) != 1:
        written = repr(" ".join(parts)[:60]) if parts else "none"
        raise InputError(
            f"A formula needs one word after each sign, got {written}.",
            EXAMPLE,
            code="not-one-word",
        )
    return Term(find_word(parts[0]) or parts[0], sign * weight)
