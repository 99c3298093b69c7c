"""Tokenizer lens: compare how models tokenize a text, and list the words that they tokenize
differently.

`encode_text` runs the tokenizer on a text. All statistics are computed from distinct pre-tokens
and their counts instead: each one is tokenized only once. In WordPiece, a pre-token is a word. For
a plain model both give the same tokens. They differ if an exact-word tokenizer departs from its
rule (see `vocadapt.vocabulary.plan.tokenizer.measure_departures`), and if the text contains a
special token such as [MASK]: it is one token for the tokenizer, but three words in the statistics.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.report.table import Column, Table
from vocadapt.text.counting import build_word_counter
from vocadapt.text.splitter import Splitter, is_encodable
from vocadapt.text.tokenization import encode
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.growth.word_tokenizations import SplitWord, has_letter

Counts = Mapping[str, int]  # distinct pre-tokens of a text and their counts
SEVERE = 4  # wordpieces from which a word counts as severely split

# The terms of Fast 2023, table 2.1, after the PubMedBERT paper. Their tokenization is always
# computed from the given vocabularies.
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
class TextToken:
    """One token of a text.

    start, end: its character offsets in the text; continues: whether it continues a word.
    """

    token: str
    id: int
    start: int
    end: int
    continues: bool


@dataclass(frozen=True)
class Tokenization:
    """The tokens of a text, without special tokens; offsets in characters."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, found: Sequence[TextToken]) -> "Tokenization":
        """Return tokens by their names, ids and offsets."""
        return cls(
            tuple(one.token for one in found),
            tuple(one.id for one in found),
            tuple((one.start, one.end) for one in found),
        )


def encode_text(tokenizer: Tokenizer, text: str) -> tuple[TextToken, ...]:
    """Tokenize a text without adding special tokens.

    Raises InputError for a lone surrogate, which valid UTF-8 cannot contain.
    """
    _check_utf8(text)
    encoding = encode(tokenizer, text, add_special_tokens=False)
    pieces: list[TextToken] = []
    previous = None  # the word of the previous token; None outside of words
    # Every access to one of these lists creates a new one.
    tokens = zip(encoding.tokens, encoding.ids, encoding.offsets, encoding.word_ids, strict=True)
    for token, id, (start, end), word in tokens:
        continues = word is not None and word == previous
        pieces.append(TextToken(token, id, start, end, continues))
        previous = word
    return tuple(pieces)


@dataclass(frozen=True, eq=False)
class WordTokenizer:
    """The splitter of a model, and the vocabulary that tokenizes its pre-tokens."""

    name: str
    vocabulary: Vocabulary
    splitter: Splitter

    def tokenize(self, words: Iterable[str], splitter: Splitter) -> dict[str, tuple[str, ...]]:
        """Return the tokens of distinct pre-tokens that `splitter` produced.

        If `splitter` is not that of the model, the text of each pre-token is first split by the
        model's splitter; a word is read as if it followed a space. A pre-token that the model's
        normalizer removes has no tokens.
        """
        tokenize = self.vocabulary.tokenize
        if splitter == self.splitter:
            return {word: tokenize(word) for word in words}
        found: dict[str, tuple[str, ...]] = {}
        for word in words:
            text = f" {word}" if splitter.outputs_words else splitter.read_pretoken(word)
            parts = self.splitter.pretokens(text)
            found[word] = tuple(token for part in parts for token in tokenize(part))
        return found

    def measure(self, counts: Counts) -> "TokenizationFigures":
        """Compute statistics of the tokenization of a text.

        counts: distinct pre-tokens, as this model's splitter produces them, with their counts.
        Raises InputError for a text without words.
        """
        if not counts:
            raise InputError(
                "The text has no words.", "Give a text with at least one word.", code="no-words"
            )
        by_pieces = Counter[int]()
        distinct_pieces = unknown_words = 0
        for word, pieces in self.tokenize(counts, self.splitter).items():
            distinct_pieces += len(pieces)
            if pieces == (self.vocabulary.unknown,):
                unknown_words += counts[word]
            else:
                by_pieces[len(pieces)] += counts[word]
        words = unknown_words + by_pieces.total()
        total_pieces = unknown_words + sum(size * count for size, count in by_pieces.items())
        return TokenizationFigures(
            self.name,
            words,
            len(counts),
            total_pieces,
            distinct_pieces,
            unknown_words,
            dict(sorted(by_pieces.items())),
            fertility=total_pieces / words,
            fertility_distinct=distinct_pieces / len(counts),
            one_piece=by_pieces[1] / words,
            unknown=unknown_words / words,
        )


@dataclass(frozen=True)
class TokenizationFigures:
    """Statistics of a model's tokenization of a text, over running words and over distinct words.

    by_pieces: running words by number of wordpieces; words that become [UNK] are only counted in
        `unknown_words`.
    fertility, fertility_distinct: wordpieces per running word, and with each distinct word once.
    one_piece, unknown: fractions of running words that are a single wordpiece, and [UNK].
    """

    model: str
    words: int
    distinct: int
    pieces: int
    pieces_distinct: int
    unknown_words: int
    by_pieces: Mapping[int, int]
    fertility: float
    fertility_distinct: float
    one_piece: float
    unknown: float

    def share_from(self, pieces: int) -> float:
        """Return the fraction of running words with this number of wordpieces or more."""
        return sum(n for size, n in self.by_pieces.items() if size >= pieces) / self.words

    def shares(self, last: int = 6) -> dict[str, float]:
        """Return the fraction of running words with 1, 2, …, and `last` or more wordpieces, and
        the fraction of unknown words.
        """
        bars = {str(size): self.by_pieces.get(size, 0) / self.words for size in range(1, last)}
        bars[f"{last}+"] = self.share_from(last)
        return bars | {"unknown": self.unknown}


FIGURES = (
    Column("model", "Model"),
    Column("words", "Words", "Running words, as the model's splitter separates them.", "number"),
    Column("distinct", "Distinct", "Distinct words.", "number"),
    Column("pieces", "Wordpieces", "Of all running words.", "number"),
    Column("fertility", "Wordpieces per word", "Mean over running words (fertility).", "number"),
    Column("difference", "Vs. the first", "Difference of the mean to the first model.", "signed"),
    Column("fertility_distinct", "Per distinct word", "Each word counts once.", "number"),
    Column("one_piece", "Whole words", "Running words that are one wordpiece.", "percent"),
    Column("unknown", "Unknown", "Running words that become one unknown token.", "percent"),
)


def build_figures_table(figures: Sequence[TokenizationFigures]) -> Table:
    """Return the figures of several models as a table, with the differences to the first."""
    rows = [
        {**vars(one), "difference": one.fertility - figures[0].fertility if place else None}
        for place, one in enumerate(figures)
    ]
    return Table("", FIGURES, rows)


@dataclass(frozen=True)
class Change:
    """A word that two models tokenize differently, its count in the text, and the wordpieces that
    the second model saves in the whole text: negative if it needs more.
    """

    word: str
    count: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    saved: int


CHANGES = (
    Column("word", "Word"),
    Column("count", "Count", "In the text.", "number"),
    Column("before", "Before", "How the first model tokenizes it."),
    Column("after", "After", "How the other model tokenizes it."),
    Column("saved", "Wordpieces saved", "In the whole text.", "number"),
)


def list_changes(
    counts: Counts, splitter: Splitter, before: WordTokenizer, after: WordTokenizer
) -> list[Change]:
    """List the words of a text that two models tokenize differently.

    counts: pre-tokens as `splitter` produced them, with their counts. The list is sorted by the
    difference in wordpieces over the whole text, largest first, then by count, then by word.
    [UNK] counts as one wordpiece: an unknown word that gets three wordpieces needs two more.
    """
    tokens_before = before.tokenize(counts, splitter)
    tokens_after = after.tokenize(counts, splitter)
    has_same_marks = before.vocabulary.notation == after.vocabulary.notation
    changed: list[Change] = []
    for pretoken, count in counts.items():
        old = tokens_before[pretoken]
        new = tokens_after[pretoken]
        if has_same_marks:
            is_same = old == new
        else:  # the same parts of the word, whatever their marks are
            is_same = _list_bodies(before, old) == _list_bodies(after, new)
        if not is_same:
            word = splitter.read_pretoken(pretoken).strip()
            saved = (len(old) - len(new)) * count
            changed.append(Change(word, count, old, new, saved))
    return sorted(changed, key=lambda change: (-abs(change.saved), -change.count, change.word))


def _list_bodies(tokenizer: WordTokenizer, tokens: Sequence[str]) -> list[str]:
    """Return the texts of tokens without marks, in lower case: models may differ in casing."""
    return [tokenizer.vocabulary.body(token).lower() for token in tokens]


@dataclass(frozen=True)
class Changes:
    """The words listed, of all that two models tokenize differently."""

    before: str
    after: str
    of: int
    words: tuple[Change, ...]

    def build_table(self) -> Table:
        """Return the words as a table."""
        title = (
            f"{len(self.words)} of {self.of:,} words tokenized differently by {self.after} and"
            f" {self.before}"
        )
        return Table(title, CHANGES, self.words)


@dataclass(frozen=True)
class LensReport:
    """A text under several models, and the words that differ from the first; `tokenizations`: the
    tokens of a short text by model.
    """

    models: tuple[str, ...]
    words: int
    distinct: int
    rows: tuple[TokenizationFigures, ...]
    changed: tuple[Changes, ...]
    tokenizations: Mapping[str, Tokenization]


def list_worst_split_words(
    counts: Counts, splitter: Splitter, tokenizer: WordTokenizer, limit: int
) -> list[SplitWord]:
    """List the words with a letter that a model splits worst: those of SEVERE or more wordpieces
    first, then those of one wordpiece less, and so on; in each group the most frequent first.

    counts: pre-tokens as `splitter` produced them, with their counts. limit: maximum length of the
    list.
    """
    found: list[SplitWord] = []
    for pretoken, pieces in tokenizer.tokenize(counts, splitter).items():
        word = splitter.read_pretoken(pretoken).strip()
        if len(pieces) > 1 and has_letter(word):
            found.append(SplitWord(word, pieces, counts[pretoken]))
    found.sort(key=lambda split: (-min(len(split.pieces), SEVERE), -split.count, split.word))
    return found[:limit]


def count_text(text: str, splitter: Splitter) -> dict[str, int]:
    """Count the distinct pre-tokens of a text; raises InputError for a lone surrogate."""
    _check_utf8(text)
    tally = build_word_counter(splitter)
    tally.count(f"{text}\n")
    return dict(tally.word_counts())


def find_finest_splitter(splitters: Sequence[Splitter]) -> Splitter:
    """Return the splitter that refines all others; the first one if none does."""
    return next(
        (one for one in splitters if all(refines(one, other) for other in splitters)), splitters[0]
    )


def recount_words(counts: Counts, splitter: Splitter) -> dict[str, int]:
    """Compute the word counts of a splitter from those of a finer one (see `refines`)."""
    words: Counter[str] = Counter()
    for word, count in counts.items():
        for part in splitter.words(word):
            words[part] += count
    return dict(words)


def refines(finer: Splitter, coarser: Splitter) -> bool:
    """Return whether the words of `coarser` can be computed from those of `finer`.

    True only for equal splitters, and for BERT's cased and uncased splitters: both split at
    whitespace and punctuation and remove control characters, and lowercasing or stripping accents
    never joins two words.
    """
    if finer == coarser:
        return True
    if not (finer.never_crosses_whitespace and coarser.never_crosses_whitespace):
        return False
    fine = json.loads(finer.normalizer)
    coarse = json.loads(coarser.normalizer)
    same = fine["handle_chinese_chars"] == coarse["handle_chinese_chars"]
    return bool(same and not fine["lowercase"] and not fine["strip_accents"])


def _check_utf8(text: str) -> None:
    if not is_encodable(text):
        raise InputError(
            "The text is not valid UTF-8.", "Save or enter it as UTF-8.", code="not-utf8"
        )
