"""Tokenizations of words by two models: wordpieces before and after, new tokens, and how their
embeddings were initialized.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tokenizers import Tokenizer

from vocadapt.models.adapted_model import RECORD, open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import read_json_object
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode
from vocadapt.training.examples.examples import Example
from vocadapt.vocabulary.initializers.materials import Provenance, format_provenance


@dataclass(frozen=True)
class TokenizedWord:
    """A word, its wordpieces before and after the adaptation, and the added tokens among the
    latter.

    `seen`: occurrences in training; None if the training examples are not known.
    """

    word: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    seen: int | None = None

    @property
    def changed(self) -> bool:
        """Whether the two tokenizations differ."""
        return self.before != self.after


@dataclass(frozen=True, eq=False)
class TrainingCounts:
    """Counts of the normalized words and entities of the training examples."""

    words: Counter[str]
    entities: Counter[str]


@dataclass(frozen=True)
class AddedToken:
    """An added token, how its embedding was initialized, and its count in the corpus."""

    token: str
    provenance: Provenance
    count: int | None = None

    @property
    def line(self) -> str:
        """Description: "euthymic = aligned word vector · 38 in the corpus"."""
        line = format_provenance(self.token, self.provenance)
        if self.count is not None:
            line += f" · {self.count:,} in the corpus"
        return line


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Two tokenizers, the added tokens by name, and the training counts; each may be missing."""

    before: Tokenizer | None = None
    after: Tokenizer | None = None
    splitter: Splitter | None = None
    added: Mapping[str, AddedToken] = field(default_factory=dict)
    trained: TrainingCounts | None = None
    _cache: dict[str, TokenizedWord] = field(default_factory=dict, init=False)

    @property
    def has_two_tokenizations(self) -> bool:
        """Whether both tokenizers are known."""
        return self.before is not None and self.after is not None

    def words_of(self, text: str) -> tuple[str, ...]:
        """Split a text into words without normalizing them."""
        if self.splitter is None:
            return tuple(text.split())
        return tuple(text[start:end] for _, start, end in self.splitter.spans(text))

    def tokenize(self, word: str) -> TokenizedWord:
        """Tokenize a word with both tokenizers (cached)."""
        if word not in self._cache:
            before = _tokenize(self.before, word)
            after = _tokenize(self.after, word)
            new = tuple(token for token in after if token in self.added)
            seen = None
            if self.trained is not None:
                seen = self.trained.words[normalize_word(word, self.splitter)]
            self._cache[word] = TokenizedWord(word, before, after, new, seen)
        return self._cache[word]

    def tokenize_all(self, words: Iterable[str]) -> tuple[TokenizedWord, ...]:
        """Tokenize words, in order."""
        return tuple(map(self.tokenize, words))

    def seen_entity(self, text: str) -> bool | None:
        """Return whether the training examples have an entity with these words; None if unknown."""
        if self.trained is None:
            return None
        return normalize_word(text, self.splitter) in self.trained.entities


def describe_neighbors(space: EmbeddingSpace, token: str) -> str:
    """Return the three nearest neighbors of a token: "near bipolar .61, remitted .55".

    "" if the space lacks the token.
    """
    if token not in space:
        return ""
    near = list_neighbors(space, space[token], 3, own=token)
    return "near " + ", ".join(f"{name} {score:.2f}".replace(" 0.", " .") for name, score in near)


def build_word_index(
    first: LanguageModel | None,
    second: LanguageModel | None,
    train: Sequence[Example] | None = None,
) -> WordIndex:
    """Build the word index of two runs from their models and the training examples.

    "Before" is the first model's tokenization and "after" the second's. If both models have the
    same vocabulary, "before" is the tokenization of the model that they were adapted from.
    """
    after = second or first
    splitter = after.splitter if after is not None else None
    counts = count_training_words(train, splitter) if train is not None else None
    if after is None:
        return WordIndex(trained=counts)
    # Two runs of one model share its tokenization: compare with that before the adaptation.
    before = first
    if before is None or before.vocabulary.tokens == after.vocabulary.tokens:
        before = open_base_model(after) or after
    return WordIndex(
        before.fast_tokenizer,
        after.fast_tokenizer,
        after.splitter,
        read_added_tokens(before) | read_added_tokens(after),
        counts,
    )


def read_added_tokens(model: LanguageModel) -> dict[str, AddedToken]:
    """Read the added tokens from an adapted model's record; empty for any other model."""
    path = model.path / RECORD
    if not path.is_file():
        return {}
    record = read_json_object(path)
    # To stay short, the record lists each method once and refers to it by index.
    plan = record.get("plan", {})
    recorded = record.get("provenance", {})
    counts = {token: count for token, _, count in plan.get("added_tokens", ())}
    methods = recorded.get("how", ())
    added = {}
    for token, (method, donors) in recorded.get("tokens", {}).items():
        if token in counts:
            provenance = Provenance(methods[method], tuple((name, w) for name, w in donors))
            added[token] = AddedToken(token, provenance, counts[token])
    return added


def count_training_words(examples: Iterable[Example], splitter: Splitter | None) -> TrainingCounts:
    """Count the normalized words and entities of training examples."""
    words: Counter[str] = Counter()
    entities: Counter[str] = Counter()
    split = splitter.words if splitter else str.split  # case is normalized below
    for example in examples:
        words.update(example.list_words(split))
        entities.update(example.entities)
    return TrainingCounts(_normalize_counts(words, splitter), _normalize_counts(entities, splitter))


def normalize_word(text: str, splitter: Splitter | None) -> str:
    """Normalize a word or phrase with the model's splitter; its parts are joined by spaces."""
    if splitter is None:
        return text.lower()
    return " ".join(splitter.words(text))


def _normalize_counts(counts: Counter[str], splitter: Splitter | None) -> Counter[str]:
    normalized: Counter[str] = Counter()
    for text, count in counts.items():
        normalized[normalize_word(text, splitter)] += count
    return normalized


def _tokenize(tokenizer: Tokenizer | None, word: str) -> tuple[str, ...]:
    if tokenizer is None:
        return ()
    # Tokenize as after a space: most words follow one.
    return tuple(encode(tokenizer, f" {word}", add_special_tokens=False).tokens)
