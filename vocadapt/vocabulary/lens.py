"""Tokenizer lens: how models tokenize a text, into how many wordpieces, and which words differ.

`tokenize_text` shows one text as the tokenizer itself tokenizes it. All figures are computed from
distinct words and their counts: a word is tokenized once, however often it occurs. For a plain
WordPiece model the two agree piece by piece. They differ if an exact-word tokenizer departs from
its rule (see `vocadapt.vocabulary.plan.tokenizer.measure_departures`), and if a text spells out a
special token such as [MASK], which is one token for the tokenizer and three words in the figures.
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
from vocadapt.vocabulary.families import Vocabulary

Counts = Mapping[str, int]  # distinct words and how often each stands in a text

# The terms of Fast 2023, table 2.1, after the PubMedBERT paper. Their tokenization is always computed
# from the given vocabularies.
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
    """One token of a text.

    start, end: its position in the text, in characters; continues: whether it continues a word.
    """

    token: str
    id: int
    start: int
    end: int
    continues: bool


def tokenize_text(tokenizer: Tokenizer, text: str) -> tuple[Piece, ...]:
    """Return the tokens of a text by its tokenizer, without special tokens around it.

    Raises InputError for a lone surrogate, which no valid UTF-8 text has.
    """
    _check_utf8(text)
    encoding = encode(tokenizer, text, add_special_tokens=False)
    pieces: list[Piece] = []
    previous = None  # the word of the previous token; None outside of words
    for i, word in enumerate(encoding.word_ids):
        continues = word is not None and word == previous
        pieces.append(Piece(encoding.tokens[i], encoding.ids[i], *encoding.offsets[i], continues))
        previous = word
    return tuple(pieces)


@dataclass(frozen=True, eq=False)
class WordTokenizer:
    """The parts of a model that tokenize words: its vocabulary, and the splitter that makes them."""

    name: str
    vocabulary: Vocabulary
    splitter: Splitter

    def tokenize(self, words: Iterable[str], splitter: Splitter) -> dict[str, tuple[str, ...]]:
        """Return the wordpieces of distinct words that `splitter` made.

        If it is not the model's own splitter, each word is first split by the model's own. A word
        that the model's normalizer removes has no wordpieces.
        """
        tokenize = self.vocabulary.tokenize
        if splitter == self.splitter:
            return {word: tokenize(word) for word in words}
        return {
            word: tuple(piece for own in self.splitter.words(word) for piece in tokenize(own))
            for word in words
        }

    def measure(self, counts: Counts) -> "TokenizationFigures":
        """Measure the tokenization of a text from its distinct words, made by this model's
        splitter, and their counts.

        Raises InputError for a text without words.
        """
        if not counts:
            raise InputError("The text holds no words.", "Give a text with words in it.")
        by_pieces = Counter[int]()
        distinct_pieces = unknown_words = 0
        for word, pieces in self.tokenize(counts, self.splitter).items():
            distinct_pieces += len(pieces)
            if pieces == (self.vocabulary.unknown,):
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
    """Statistics of a model's tokenization of a text, over running words and over distinct words.

    by_pieces: running words by number of wordpieces; words that become [UNK] are only counted in
        `unknown_words`.
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
        """Fraction of running words that are one wordpiece; [UNK] is none."""
        return self.by_pieces.get(1, 0) / self.words

    @property
    def unknown(self) -> float:
        """Fraction of running words that become [UNK]."""
        return self.unknown_words / self.words

    def shares(self, last: int = 6) -> dict[str, float]:
        """Fraction of running words by number of pieces: "1", …, one entry for `last` and more,
        then "unknown".
        """
        bars = {str(size): self.by_pieces.get(size, 0) / self.words for size in range(1, last)}
        bars[f"{last}+"] = (
            sum(count for size, count in self.by_pieces.items() if size >= last) / self.words
        )
        return bars | {"unknown": self.unknown}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name, as JSON values."""
        counted = {
            **asdict(self),
            "by_pieces": {str(size): count for size, count in self.by_pieces.items()},
        }
        derived = ("fertility", "fertility_distinct", "one_piece", "unknown")
        return {**counted, **{name: getattr(self, name) for name in derived}}


@dataclass(frozen=True)
class Change:
    """A word that two models tokenize differently, and its count in the text."""

    word: str
    count: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def saved(self) -> int:
        """Wordpieces that the second model saves in the whole text; negative if it takes more."""
        return (len(self.before) - len(self.after)) * self.count


def list_changes(
    counts: Counts, splitter: Splitter, before: WordTokenizer, after: WordTokenizer
) -> list[Change]:
    """List the words of a text that two models tokenize differently.

    counts: words as `splitter` made them, with their counts. Sorted by wordpieces saved or lost in
    the whole text, then by count, then by word. [UNK] counts as
    one token: a word that was unknown and now has three pieces has lost two.
    """
    olds, news = before.tokenize(counts, splitter), after.tokenize(counts, splitter)
    changed = [
        Change(word, count, olds[word], news[word])
        for word, count in counts.items()
        if olds[word] != news[word]
    ]
    return sorted(changed, key=lambda change: (-abs(change.saved), -change.count, change.word))


def count_text(text: str, splitter: Splitter) -> dict[str, int]:
    """Return the distinct words of a text and their counts; raises InputError as `tokenize_text` does."""
    _check_utf8(text)
    tally = build_word_counter(splitter)
    tally.count(f"{text}\n")
    return dict(tally.word_counts())


def count_for_each_splitter(
    splitters: Sequence[Splitter], count: Callable[[Splitter], Counts]
) -> dict[Splitter, Counts]:
    """Return the word counts of one text for several splitters, with as few passes as possible.

    count: reads the text and counts its words for one splitter.
    """
    counted: dict[Splitter, Counts] = {}
    # Cased splitters first: the words of an uncased one follow from those of a cased one.
    for splitter in sorted(dict.fromkeys(splitters), key=lambda one: one.lowercase):
        finer = next((other for other in counted if refines(other, splitter)), None)
        if finer is None:
            counted[splitter] = count(splitter)
        else:
            counted[splitter] = recount_words(counted[finer], splitter)
    return counted


def find_finest_splitter(splitters: Sequence[Splitter]) -> Splitter:
    """Return the splitter that refines all others; the first one if there is none."""
    return next(
        (one for one in splitters if all(refines(one, other) for other in splitters)), splitters[0]
    )


def recount_words(counts: Counts, splitter: Splitter) -> dict[str, int]:
    """Return the word counts for a splitter from those for a finer one (see `refines`)."""
    words: Counter[str] = Counter()
    for word, count in counts.items():
        for own in splitter.words(word):
            words[own] += count
    return dict(words)


def refines(finer: Splitter, coarser: Splitter) -> bool:
    """Return whether the words of `coarser` follow from those of `finer`, without the text.

    True for BERT's cased splitter and the uncased one, not assumed for any other pair: both split
    at whitespace and punctuation and drop control characters, and lowercasing and stripping accents
    never join what was split.
    """
    if finer == coarser:
        return True
    if not (finer.never_crosses_whitespace and coarser.never_crosses_whitespace):
        return False
    fine, coarse = json.loads(finer.normalizer), json.loads(coarser.normalizer)
    same = fine["handle_chinese_chars"] == coarse["handle_chinese_chars"]
    return bool(same and not fine["lowercase"] and not fine["strip_accents"])


def _check_utf8(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("The text is not valid UTF-8.", "Give it in the terminal's own encoding.")
