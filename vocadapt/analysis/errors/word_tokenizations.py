"""The words of an example as two models cut them: before and after, which tokens are new, what
their rows are made of.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from tokenizers import Tokenizer

from vocadapt.files import read_json_object
from vocadapt.models.adapted_model import RECORD, before_of
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.neighbors.search import find_nearest
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode
from vocadapt.training.tasks.base import Example, Question, Sentence, Text
from vocadapt.training.tasks.tags import spans_of
from vocadapt.vocabulary.initializers.materials import Provenance, provenance_line


@dataclass(frozen=True)
class TokenizedWord:
    """A word as it is written, its wordpieces before and after, those of the latter that were
    added, times in training.

    `seen` is None where the training examples are not known.
    """

    word: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    seen: int | None = None

    @property
    def changed(self) -> bool:
        """Whether the two cuts differ."""
        return self.before != self.after


@dataclass(frozen=True, eq=False)
class TrainingCounts:
    """What a model saw in training: its words, as the model meets them, and its entities, with
    their counts.
    """

    words: Counter[str]
    entities: Counter[str]


@dataclass(frozen=True)
class AddedToken:
    """A token that an adaptation added: how its row was made, of which tokens with which weights,
    its count in the corpus.
    """

    token: str
    made: Provenance
    count: int | None = None

    @property
    def line(self) -> str:
        """In words: "euthymic = aligned word vector · 38 in the corpus"."""
        times = "" if self.count is None else f" · {self.count:,} in the corpus"
        return f"{provenance_line(self.token, self.made)}{times}"


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Two cuts of words, the added tokens by name, and what was seen in training; every part may be
    missing.
    """

    before: Tokenizer | None = None
    after: Tokenizer | None = None
    splitter: Splitter | None = None
    added: Mapping[str, AddedToken] = field(default_factory=dict)
    trained: TrainingCounts | None = None

    @cached_property
    def _known(self) -> dict[str, TokenizedWord]:
        return {}

    @property
    def cuts(self) -> bool:
        """Whether there are two cuts to look at."""
        return self.before is not None and self.after is not None

    def words_of(self, text: str) -> tuple[str, ...]:
        """The words of a text, as they are written."""
        if self.splitter is None:
            return tuple(text.split())
        return tuple(text[start:end] for _, start, end in self.splitter.spans(text))

    def word(self, word: str) -> TokenizedWord:
        """A word with its cuts; each distinct one is cut once."""
        if word not in self._known:
            before, after = (_tokenize(tokenizer, word) for tokenizer in (self.before, self.after))
            new = tuple(piece for piece in after if piece in self.added)
            seen = (
                None
                if self.trained is None
                else self.trained.words[normalize_word(word, self.splitter)]
            )
            self._known[word] = TokenizedWord(word, before, after, new, seen)
        return self._known[word]

    def cut(self, words: Iterable[str]) -> tuple[TokenizedWord, ...]:
        """Words with their cuts, in order."""
        return tuple(map(self.word, words))

    def seen_entity(self, text: str) -> bool | None:
        """Whether an entity of these words stood in training; None where that is not known."""
        return (
            None
            if self.trained is None
            else normalize_word(text, self.splitter) in self.trained.entities
        )


def describe_neighbors(space: EmbeddingSpace, token: str, k: int = 3) -> str:
    """The tokens whose rows lie nearest to a token's, with their cosines: "near bipolar .61,
    remitted .55"; "" for a stranger.
    """
    if token not in space:
        return ""
    found = find_nearest(space[token][None], space, k, "cosine", np.array([space.index[token]]))
    pairs = zip(found.rows[0].tolist(), found.scores[0].tolist(), strict=True)
    return "near " + ", ".join(
        f"{space.words[row]} {score:.2f}".replace(" 0.", " .") for row, score in pairs
    )


def build_word_index(
    first: LanguageModel | None,
    second: LanguageModel | None,
    train: Sequence[Example] | None = None,
) -> WordIndex:
    """The cuts of the models of two runs.

    Where the two tokenizers differ, before is the first's and after the second's; where they are
    the same, the cuts are those before and after that model was adapted. `train`: what was trained
    on.
    """
    last = second or first
    if last is None:
        return WordIndex(trained=None if train is None else count_training_words(train, None))
    begin = (
        first
        if first is not None and first.vocabulary.tokens != last.vocabulary.tokens
        else before_of(last) or last
    )
    added = {name: one for model in (begin, last) for name, one in read_added_tokens(model).items()}
    seen = None if train is None else count_training_words(train, last.splitter)
    return WordIndex(begin.fast_tokenizer, last.fast_tokenizer, last.splitter, added, seen)


def read_added_tokens(model: LanguageModel) -> dict[str, AddedToken]:
    """The tokens that an adapted model's record names, by what their rows are made of; none for any
    other model.
    """
    path = model.path / RECORD
    if not path.is_file():
        return {}
    record = read_json_object(path)
    plan, made = record.get("plan", {}), record.get("provenance", {})
    counts = {token: count for token, _, count in plan.get("added_tokens", ())}
    ways = made.get("how", ())
    return {
        token: AddedToken(
            token,
            Provenance(ways[way], tuple((name, weight) for name, weight in donors)),
            counts.get(token),
        )
        for token, (way, donors) in made.get("tokens", {}).items()
        if token in counts
    }


def count_training_words(examples: Iterable[Example], splitter: Splitter | None) -> TrainingCounts:
    """Count the words and entities of training examples, as a model meets them; each distinct word
    is split once.
    """
    words: Counter[str] = Counter()
    entities: Counter[str] = Counter()
    for example in examples:
        if isinstance(example, Sentence):
            words.update(example.words)
            entities.update(
                " ".join(example.words[start:end]) for start, end, _ in spans_of(example.tags or ())
            )
        else:
            text = (
                f"{example.question} {example.context}"
                if isinstance(example, Question)
                else _both(example)
            )
            words.update(splitter.words(text) if splitter else text.lower().split())
    return TrainingCounts(_normalize_counts(words, splitter), _normalize_counts(entities, splitter))


def normalize_word(text: str, splitter: Splitter | None) -> str:
    """A word or phrase as a model meets it: its casing and its form, blanks between what it
    splits.
    """
    return " ".join(splitter.words(text)) if splitter else text.lower()


def _normalize_counts(counts: Counter[str], splitter: Splitter | None) -> Counter[str]:
    folded: Counter[str] = Counter()
    for text, count in counts.items():
        folded[normalize_word(text, splitter)] += count
    return folded


def _both(example: Example) -> str:
    assert isinstance(example, Text)
    return f"{example.text} {example.pair}"


def _tokenize(tokenizer: Tokenizer | None, word: str) -> tuple[str, ...]:
    return (
        () if tokenizer is None else tuple(encode(tokenizer, word, add_special_tokens=False).tokens)
    )
