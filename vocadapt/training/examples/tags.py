"""Tags of words and the spans they denote, in these schemes, and bare B, I, O, which are one
unnamed type:

    IOB2    every span begins with a B
    IOB1    a span begins with an I, and with a B only right after another span of its type
    BIOES   a span begins with a B and ends with an E; a span of one word is an S
    BILOU   BIOES with L and U in place of E and S
    IO      a tag is a type: words of one type in a row are one span

`normalize_tag` converts the letters of BILOU, and IO, which has none.

Spans follow the rules of conlleval, which cover every scheme: B and S begin one; so does an I or E
after an O, after another type, or after an E or S. An I without a B therefore begins a span and is
never dropped; such tags are counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from vocadapt.errors import InputError

TAG = re.compile(r"O|[BIESLU](-\S+)?")
TYPE_ALONE = re.compile(r"(?!\w-)[^\W\d_]\S+")  # a tag of IO: a type without a letter before it
SAME_LETTERS = {"L": "E", "U": "S"}  # letters of BILOU, and those of BIOES


class Span(NamedTuple):
    """Words `start` to `end` (exclusive) of a sentence, of one type; "" for bare tags."""

    start: int
    end: int
    type: str


def type_of(tag: str) -> str:
    """Return the type of a tag; "" for a bare one."""
    return tag[2:]


def choose_type_reader(untyped: bool) -> Callable[[str], str]:
    """Return the function that reads the type of a tag; "" for every tag if untyped."""
    if untyped:
        return lambda tag: ""
    return type_of


def decode_spans(tags: Sequence[str], type_of: Callable[[str], str] = type_of) -> tuple[Span, ...]:
    """Return the spans of a sentence by the rules of conlleval, in order: B-X I-X O I → (0, 2, X),
    (3, 4, "").
    """
    spans: list[Span] = []
    start = -1
    kind = ""
    before = "O"
    # The O at the end closes a span that reaches the last word.
    for place, tag in enumerate(chain(tags, "O")):
        letter = tag[0]
        own = type_of(tag)
        goes_on = start >= 0 and letter in "IE" and own == kind and before not in "ES"
        if start >= 0 and not goes_on:
            spans.append(Span(start, place, kind))
            start = -1
        if letter != "O" and not goes_on:
            start, kind = place, own
        before = letter
    return tuple(spans)


def encode_spans(spans: Iterable[Span], words: int) -> tuple[str, ...]:
    """Return the IOB2 tags of spans on a sentence of `words` words; bare if the type is ""."""
    tags = ["O"] * words
    for start, end, kind in spans:
        ending = f"-{kind}" if kind else ""
        tags[start:end] = [f"B{ending}", *[f"I{ending}"] * (end - start - 1)]
    return tuple(tags)


def check_tag(tag: str, place: str) -> str:
    """Return the tag; raises InputError, with the place, if it is not one."""
    if not TAG.fullmatch(tag):
        raise InputError(
            f"{place} has the tag {tag[:40]!r}.",
            "A tag is O, B, I, E or S, or B-Type and so on (IOB1, IOB2 or BIOES).",
            code="invalid-tag",
        )
    return tag


class TagChecker:
    """Checks the tags of a file one by one: all spans have letters (B-Type, B), or none (IO)."""

    def __init__(self) -> None:
        self.has_outside = self.has_letters = False
        self.first_alone: tuple[str, str] | None = None  # the first tag of IO, and its place

    def check(self, tag: str, place: str) -> str:
        """Return the tag; raises InputError, with the place, if it is not one, or of another form
        than those before.
        """
        if tag == "O":
            self.has_outside = True
        elif TYPE_ALONE.fullmatch(tag):
            self.first_alone = self.first_alone or (tag, place)
        else:
            check_tag(tag, place)
            self.has_letters = True
        if self.first_alone and self.has_letters:
            check_tag(*self.first_alone)  # raises: without the other tags, it could be of IO
        return tag

    def finish(self) -> None:
        """Raise InputError if no word is outside, so that the column of types holds something
        else.
        """
        if self.first_alone and not self.has_outside:
            check_tag(*self.first_alone)


def normalize_tag(tag: str) -> str:
    """Return the tag of BIOES for one of BILOU, that of IOB1 for one of IO, any other unchanged.

    Example: U-X → S-X, X1 → I-X1.
    """
    if TYPE_ALONE.fullmatch(tag):
        return f"I-{tag}"
    return SAME_LETTERS.get(tag[0], tag[0]) + tag[1:]


def detect_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """Detect the scheme: IO if types have no letters, BILOU if there is an L or U, BIOES if there
    is an E or S, IOB1 if more spans after an O begin with I than with B, else IOB2.

    The spans do not depend on it; it tells whether an I without a B is regular (IOB1, IO) or a
    mistake (the others).
    """
    tags = frozenset(chain.from_iterable(sentences))
    letters = {tag[0] for tag in tags}
    if any(map(TYPE_ALONE.fullmatch, tags)):
        return "IO"
    if letters & set("LU"):
        return "BILOU"
    if letters & set("ES"):
        return "BIOES"
    # Letters that begin a span where IOB1 and IOB2 differ; right after a span of the same type both
    # use B.
    begun = {"I": 0, "B": 0}
    for before, tag in _pairs(sentences):
        if tag != "O" and (before == "O" or type_of(before) != type_of(tag)):
            begun[tag[0]] += 1
    return "IOB1" if begun["I"] > begun["B"] else "IOB2"


def count_stray_insides(sentences: Iterable[Sequence[str]]) -> int:
    """Count the spans that begin with I (or E) without a B."""
    return sum(
        tag[0] in "IE" and (before[0] in "OES" or type_of(before) != type_of(tag))
        for before, tag in _pairs(sentences)
    )


def _pairs(sentences: Iterable[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield every tag with the previous one of its sentence, O at its start."""
    for tags in sentences:
        yield from zip(chain("O", tags), tags, strict=False)
