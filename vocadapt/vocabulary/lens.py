"""Tokenizer lens: how models cut a text, how many pieces that makes, and which words they cut
otherwise.

`tokenize_text` shows one text as the tokenizer itself cuts it. All figures come from distinct words ×
counts: a word is cut once, however often it stands in the text. For a plain WordPiece model the two
agree piece for piece. They differ where an exact-word tokenizer departs from its rule (see
`vocadapt.vocabulary.plan.tokenizer.measure_departures`), and where a text spells out a special token such as
[MASK], which the tokenizer takes for that token and the figures for the three words they are.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.text.counting import build_word_counter
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode
from vocadapt.vocabulary.families.wordpiece import Vocabulary

Counts = Mapping[str, int]  # distinct words and how often each stands in a text

# The terms of table 2.1 of the thesis on low-layer information integration (2023), after the
# PubMedBERT paper. Only the terms: how they are cut is always derived from the vocabularies at
# hand.
TERMS = (
    "diabetes",
    "leukemia",
    "lithium",
    "insulin",
    "DNA",
    "promoter",
    "hypertension",
    "nephropathy",
    "lymphoma",
    "lidocaine",
    "oropharyngeal",
    "cardiomyocyte",
    "chloramphenicol",
    "RecA",
    "acetyltransferase",
    "clonidine",
    "naloxone",
)


@dataclass(frozen=True)
class Piece:
    """One token of a text: its id, from where to where it stands in the text (in characters), and
    whether it goes on a word.
    """

    token: str
    id: int
    start: int
    end: int
    continues: bool


def tokenize_text(tokenizer: Tokenizer, text: str) -> tuple[Piece, ...]:
    """The tokens of a text as `tokenizer` cuts it, without special tokens around it.

    Raises InputError for half a character (a lone surrogate), which no UTF-8 text holds.
    """
    _check(text)
    encoding = encode(tokenizer, text, add_special_tokens=False)
    words = encoding.word_ids
    goes_on = [
        i > 0 and words[i] is not None and words[i] == words[i - 1] for i in range(len(words))
    ]
    parts = zip(encoding.tokens, encoding.ids, encoding.offsets, goes_on, strict=True)
    return tuple(Piece(token, number, start, end, on) for token, number, (start, end), on in parts)


@dataclass(frozen=True, eq=False)
class WordTokenizer:
    """What of a model cuts words: its vocabulary, and the splitter that makes its words."""

    name: str
    vocabulary: Vocabulary
    splitter: Splitter

    def tokenize(self, words: Iterable[str], splitter: Splitter) -> dict[str, tuple[str, ...]]:
        """The pieces of distinct words that `splitter` made; one that is not the model's own is
        split its way first.

        A word that the model's normalizer drops altogether has no piece.
        """
        cut = self.vocabulary.tokenize
        if splitter == self.splitter:
            return {word: cut(word) for word in words}
        return {
            word: tuple(piece for own in self.splitter.words(word) for piece in cut(own))
            for word in words
        }

    def figures(self, counts: Counts) -> "TokenizationFigures":
        """Measure the cut of a text from its distinct words, made by this model's splitter, and
        their counts.

        Raises InputError for a text without words.
        """
        if not counts:
            raise InputError("The text holds no words.", "Give a text with words in it.")
        cuts = self.tokenize(counts, self.splitter)
        unknown, by_pieces, distinct_pieces, unknown_words = (
            (self.vocabulary.unknown,),
            Counter[int](),
            0,
            0,
        )
        for word, pieces in cuts.items():
            distinct_pieces += len(pieces)
            if pieces == unknown:
                unknown_words += counts[word]
            else:
                by_pieces[len(pieces)] += counts[word]
        words = unknown_words + by_pieces.total()
        pieces_in_all = unknown_words + sum(size * count for size, count in by_pieces.items())
        return TokenizationFigures(
            self.name,
            words,
            len(counts),
            pieces_in_all,
            distinct_pieces,
            unknown_words,
            dict(sorted(by_pieces.items())),
        )


@dataclass(frozen=True)
class TokenizationFigures:
    """How a model cuts a text: sums over its running words and over its distinct words.

    `by_pieces` counts the running words by their number of pieces; words that become [UNK], one
    token each, are not among them but in `unknown_words`.
    """

    model: str
    words: int
    distinct: int
    pieces: int
    pieces_distinct: int
    unknown_words: int
    by_pieces: Mapping[int, int]

    @property
    def fertility(self) -> float:
        """Wordpieces per word, over running words."""
        return self.pieces / self.words

    @property
    def fertility_distinct(self) -> float:
        """Wordpieces per word, each distinct word once."""
        return self.pieces_distinct / self.distinct

    @property
    def one_piece(self) -> float:
        """Share of running words that are one wordpiece; [UNK] is none."""
        return self.by_pieces.get(1, 0) / self.words

    @property
    def unknown(self) -> float:
        """Share of running words that become [UNK]."""
        return self.unknown_words / self.words

    def shares(self, last: int = 6) -> dict[str, float]:
        """Share of running words by number of pieces: "1" … and the last bar for all from `last`
        on, then "[UNK]".
        """
        bars = {str(size): self.by_pieces.get(size, 0) / self.words for size in range(1, last)}
        bars[f"{last}+"] = (
            sum(count for size, count in self.by_pieces.items() if size >= last) / self.words
        )
        return bars | {"[UNK]": self.unknown}

    def to_dict(self) -> dict[str, Any]:
        """The figures by name; `by_pieces` keyed by text, as JSON keys are."""
        counted = {
            **asdict(self),
            "by_pieces": {str(size): count for size, count in self.by_pieces.items()},
        }
        derived = ("fertility", "fertility_distinct", "one_piece", "unknown")
        return {**counted, **{name: getattr(self, name) for name in derived}}


@dataclass(frozen=True)
class Change:
    """A word that two models cut otherwise, and how often it stands in the text."""

    word: str
    count: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def saved(self) -> int:
        """Pieces that the second cut saves in the whole text; negative where it takes more."""
        return (len(self.before) - len(self.after)) * self.count


def list_changes(
    counts: Counts, splitter: Splitter, before: WordTokenizer, after: WordTokenizer
) -> list[Change]:
    """Every word of a text, as `splitter` made and counted them, that two models cut otherwise.

    Ranked by pieces saved or lost in the whole text, then by count, then by word. [UNK] counts as
    the one token it is: a word that was unknown and now takes three pieces has lost two.
    """
    olds, news = before.tokenize(counts, splitter), after.tokenize(counts, splitter)
    changed = [
        Change(word, count, olds[word], news[word])
        for word, count in counts.items()
        if olds[word] != news[word]
    ]
    return sorted(changed, key=lambda change: (-abs(change.saved), -change.count, change.word))


def count_text(text: str, splitter: Splitter) -> dict[str, int]:
    """The distinct words of a text and their counts; raises InputError as `tokenize_text` does."""
    _check(text)
    tally = build_word_counter(splitter)
    tally.count(f"{text}\n")
    return dict(tally.fold())


def count_for_each_splitter(
    splitters: Sequence[Splitter], count: Callable[[Splitter], Counts]
) -> dict[Splitter, Counts]:
    """The words of one text for several splitters, read as seldom as can be: `count` reads it for
    one splitter.
    """
    counted: dict[Splitter, Counts] = {}
    for splitter in sorted(
        dict.fromkeys(splitters), key=lambda one: one.lowercase
    ):  # the finer ones first
        finer = next((other for other in counted if refines(other, splitter)), None)
        counted[splitter] = recount_words(counted[finer], splitter) if finer else count(splitter)
    return counted


def find_finest_splitter(splitters: Sequence[Splitter]) -> Splitter:
    """The splitter whose words tell the most apart, the first one where that cannot be said."""
    return next(
        (one for one in splitters if all(refines(one, other) for other in splitters)), splitters[0]
    )


def recount_words(counts: Counts, splitter: Splitter) -> dict[str, int]:
    """The words that `splitter` makes of a text, out of those that a finer one made of it (see
    `refines`).
    """
    words: Counter[str] = Counter()
    for word, count in counts.items():
        for own in splitter.words(word):
            words[own] += count
    return dict(words)


def refines(finer: Splitter, coarser: Splitter) -> bool:
    """Whether the words of `coarser` follow from those of `finer`, without the text.

    Sure for BERT's cased splitter against the uncased one, not assumed for any other pair: both cut
    at blanks and punctuation and drop control characters, and lowercasing and stripping accents
    never join what was cut.
    """
    if finer == coarser:
        return True
    if not (finer.never_crosses_blanks and coarser.never_crosses_blanks):
        return False
    fine, coarse = json.loads(finer.normalizer), json.loads(coarser.normalizer)
    same = fine["handle_chinese_chars"] == coarse["handle_chinese_chars"]
    return bool(same and not fine["lowercase"] and not fine["strip_accents"])


def _check(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("The text is not valid UTF-8.", "Give it in the terminal's own encoding.")
