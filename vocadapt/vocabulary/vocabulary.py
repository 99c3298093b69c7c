"""Vocabulary: the tokens of a model, how they are spelled, and how they tokenize a word.

Methods that differ between tokenizer families are abstract here. A family marks either the tokens
that continue a word (WordPiece: hyper ##tension) or those that start one (byte-level BPE: Ġhyper
tension; Unigram: ▁hyper tension). Other code calls `continues`, `body` and `spell` instead of
reading marks:

                       continues   body
    ##tension          True        tension     spell("tension", continues=True)  → ##tension
    Ġhyper             False       hyper       spell("hyper", continues=False)   → Ġhyper

A WordTable holds the words of a text, prepared for repeated tokenization without some of the
tokens: reduction heuristics and growth studies tokenize one text with thousands of vocabularies.
Each family has a fast implementation of its own (for WordPiece, see `longest_match`).
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import EmbeddingSpace, TokenKinds
from vocadapt.text.splitter import Splitter
from vocadapt.text.summary import SHOWN, Summarized, Summary, Table

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Roles of special tokens, named as in transformers.
ROLES = ("pad", "unk", "cls", "sep", "mask")
POSITIONS = ("word start", "continuation", "whole word", "special", "unused")
# Why a token cannot be produced.
SPECIAL = "a special token"
FIXED = "special and added tokens"  # why a token is never removed
NEVER_ONE_WORD = "the model's own normalizer and pre-tokenizer never yield it as one word"
SPACED = "the normalizer puts spaces around it: exact-word cannot match it, a WordPiece entry could"
TOO_LONG = "longer than any word the model tokenizes"
ERASED = "the model's normalizer erases it"
NEVER_PRODUCED = "in the vocabulary, but the tokenizer never produces it"


@dataclass(frozen=True)
class Notation:
    """The mark of tokens that start a word, or of those that continue one; the other is empty."""

    word_start: str = ""
    continuation: str = ""

    def __str__(self) -> str:
        if self.word_start:
            return f"the start of a word by {self.word_start!r}"
        return f"the continuation of a word by {self.continuation!r}"


@dataclass(frozen=True, eq=False)
class Tokenization:
    """The tokens of all words of a WordTable.

    pieces: (words,) int64, number of tokens of each word; 1 for an unknown word.
    unknown: (words,) bool, whether a word becomes the unknown token.
    places, tokens, words: (all tokens,) int64, the place in the table at which each token begins,
        its id, and the index of its word. Unknown words have none.
    """

    pieces: Ints
    unknown: Mask
    places: Ints
    tokens: Ints
    words: Ints


@dataclass(frozen=True, eq=False)
class WordTable(ABC):
    """Distinct words with their counts, prepared for a vocabulary of V tokens.

    counts: (words,) float64, occurrences of each word in the text.
    """

    counts: NDArray[np.float64]

    @property
    @abstractmethod
    def size(self) -> int:
        """V, the number of tokens of the vocabulary."""

    @abstractmethod
    def tokenize(self, removed: Mask | None = None) -> Tokenization:
        """Tokenize every word without the tokens in `removed`, a mask over ids (V,)."""

    @abstractmethod
    def compute_removal_costs(self, removed: Mask | None = None) -> NDArray[np.float64]:
        """Compute for each token how many more tokens the text has if that token is removed too,
        (V,) float64.
        """

    def count_tokens(self, removed: Mask | None = None) -> int:
        """Count the tokens of the text without those in `removed` (V,); an unknown word is one."""
        return round(float(self.counts @ self.tokenize(removed).pieces))

    def count_occurrences(self, tokenization: Tokenization) -> NDArray[np.float64]:
        """Count how often the text has each token, (V,) float64; the unknown token is left out."""
        return sum_by_id(tokenization.tokens, self.counts[tokenization.words], self.size)


def sum_by_id(ids: Ints, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Sum the weights of each id, (size,) float64; ids of `size` and above are ignored."""
    return np.bincount(ids, weights=weights, minlength=size)[:size].astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary(Summarized, ABC):
    """The tokens of a model by id, and how they tokenize a word.

    family: name of its tokenizer family, in FAMILIES.
    tokens: by id; special: special tokens.
    whole: exact-word tokens, which only match a whole word.
    longest_word: characters of the longest word that is tokenized; longer ones are unknown.
    unknown: the unknown token; "" if the family has none.
    declared_roles: special tokens by role (of ROLES), as the model's files declare them.
    added: added tokens that are matched before a text is split, special ones included; exact words,
        which match what the splitter outputs, are not among them.
    named: tokens that the model's files name, in a config or a chat template: their ids are not
    free.
    """

    family: ClassVar[str]
    tokens: tuple[str, ...]
    special: frozenset[str]
    whole: frozenset[str] = frozenset()
    longest_word: int = sys.maxsize
    unknown: str = ""
    declared_roles: Mapping[str, str] = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self.ids

    def summarize(self) -> Summary:
        """Return the family, the number of tokens, and tokens from all over the vocabulary."""
        facts = {"family": self.family, "tokens": len(self), "special": len(self.special)}
        step = max(len(self) // SHOWN, 1)
        rows = [(i, self.tokens[i]) for i in range(step - 1, len(self), step)]
        table = Table(
            ("id", "token"),
            rows,
            len(self),
            "tokens",
            frozenset({"token"}),
        )
        return Summary("", facts, (table,))

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each token."""
        return {token: i for i, token in enumerate(self.tokens)}

    # Spelling

    @property
    @abstractmethod
    def notation(self) -> Notation:
        """Which tokens are marked, and how."""

    @property
    def continuation_name(self) -> str:
        """What continuations are called in a message."""
        return "continuations"

    @abstractmethod
    def continues(self, token: str) -> bool:
        """Return whether a token continues a word; special and exact-word tokens do not."""

    @abstractmethod
    def body(self, token: str) -> str:
        """Return the text of a token without its mark; special tokens are returned as they are."""

    @abstractmethod
    def spell(self, body: str, continues: bool = False) -> str:
        """Return the token with this text at the start of a word, or as a continuation."""

    def read(self, pretoken: str) -> str:
        """Return the text of a pre-token without the space before it, as screens show it."""
        return pretoken

    def mark_of(self, token: str) -> str:
        """Return the mark before the text of a token; "" if it has none."""
        body = self.body(token)
        if not body or not token.endswith(body):
            return ""
        return token.removesuffix(body)

    def is_placeholder(self, token: str) -> bool:
        """Return whether a token is an unused placeholder that no text contains."""
        return False

    @property
    def reserved_tokens(self) -> tuple[str, ...]:
        """Reserved tokens whose ids new tokens can take, by id."""
        return ()

    def position(self, token: str) -> str:
        """Return the position class of a token, one of POSITIONS."""
        if token in self.special or token == self.unknown:
            return "special"
        if token in self.whole:
            return "whole word"
        if self.is_placeholder(token):
            return "unused"
        return "continuation" if self.continues(token) else "word start"

    @cached_property
    def is_continuation(self) -> Mask:
        """Whether each token continues a word, by id, (V,) bool."""
        return np.array([self.continues(token) for token in self.tokens], dtype=np.bool_)

    @cached_property
    def is_special(self) -> Mask:
        """Whether each token is special, by id, (V,) bool."""
        return np.array([token in self.special for token in self.tokens], dtype=np.bool_)

    @cached_property
    def lengths(self) -> Ints:
        """Characters of each token without its mark, by id, (V,) int64."""
        return np.array([len(self.body(token)) for token in self.tokens], dtype=np.int64)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A distinct name for each token, by id. The name of a token that starts a word is its
        text, so a word of a text can be looked up; the name of any other token is its spelling.

        Example: Ġhyper, hyper → hyper, -hyper; in WordPiece hyper, ##hyper → hyper, ##hyper.
        """
        names: dict[str, str] = {}
        taken = set[str]()
        for token in sorted(self.tokens, key=self.continues):  # the starts of words first
            name = token if self.continues(token) else self.body(token) or token
            while name in taken:
                name = f"-{name}"
            taken.add(name)
            names[token] = name
        return tuple(names[token] for token in self.tokens)

    def find_kinds(
        self, names: Sequence[str], tokens: Sequence[str], splitter: Splitter | None = None
    ) -> TokenKinds:
        """Return the kinds of some tokens, for a space that contains them under these names.

        splitter: of the model; None if it is not known which tokens its tokenizer produces.
        """
        named = list(zip(names, tokens, strict=True))
        bodies = {name: self.body(token) for name, token in named if self.continues(token)}
        kinds = TokenKinds(
            frozenset(name for name, token in named if token in self.special),
            frozenset(bodies),
            frozenset(name for name, token in named if self.is_placeholder(token)),
            bodies,
            self.continuation_name,
        )
        if splitter is None:
            return kinds
        return replace(kinds, is_produced=ProducedTokens(self, splitter, dict(named)))

    def spell_words(self, space: EmbeddingSpace) -> EmbeddingSpace:
        """Return word vectors with each word replaced by its spelling as a token."""
        return replace(space, words=tuple(self.spell(word) for word in space.words))

    def has_word(self, word: str) -> bool:
        """Return whether a word is one token."""
        return self.spell(word) in self.ids

    def lacks_word(self, word: str) -> bool:
        """Return whether no token spells a word alone."""
        return not self.has_word(word)

    def has_counterpart(self, token: str, other: "Vocabulary") -> bool:
        """Return whether there is a token with the same text and position as a token of another
        vocabulary: hyper for Ġhyper, ##tension for tension. For symbols, the position is ignored.
        """
        if self.notation == other.notation:
            return token in self
        body = other.body(token)
        continues = other.continues(token)
        if not any(character.isalnum() for character in body):
            return self.has_word(body) or self.spell(body, continues=True) in self
        return self.spell(body, continues) in self

    # Special tokens

    @property
    def roles(self) -> Mapping[str, str]:
        """The special token of each role (of ROLES): as declared, or else the family's own.

        The vocabulary may lack the token: see `list_missing`.
        """
        own = {"unk": self.unknown} if self.unknown else {}
        return {**own, **self.declared_roles}

    @cached_property
    def role_ids(self) -> dict[str, int]:
        """Id of the special token of each role, without those that the vocabulary lacks."""
        return {role: self.ids[token] for role, token in self.roles.items() if token in self.ids}

    @cached_property
    def fixed_tokens(self) -> frozenset[str]:
        """The tokens that no plan removes: special tokens, those with a role, and added tokens,
        which chat templates and users write whether they are marked as special or not.
        """
        fixed = {*self.special, *self.added, *self.roles.values(), self.unknown}
        return frozenset(fixed & self.ids.keys())

    def list_missing(self, *roles: str) -> list[str]:
        """Return the special tokens of these roles that the vocabulary lacks."""
        return [self.roles.get(role, role) for role in roles if role not in self.role_ids]

    # Words and pre-tokens

    def find_form(self, pretoken: str, words: Sequence[str]) -> str | None:
        """Return the token that, if added, would make the first word of a pre-token one token; None
        if that would change other pre-tokens.

        words: the words of the pre-token. A word may have several forms: Ġword, word, ĠWord, …
        """
        return pretoken

    def fold_word(self, word: str) -> str:
        """Return the key that all forms of a word share; different words have different keys."""
        return word

    # Tokenization

    @abstractmethod
    def tokenize(self, pretoken: str) -> tuple[str, ...]:
        """Return the tokens of one pre-token; (unknown,) if no tokens spell it."""

    def tokenize_word(self, word: str) -> tuple[str, ...]:
        """Return the tokens of a word after a space."""
        return self.tokenize(self.spell(word))

    @abstractmethod
    def tokenize_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """Return the tokens that spell a token, in its position.

        A continuation is tokenized as a continuation, never as the start of a word.
        without: exclude the token itself, to get its pieces before it was added.
        Returns (unknown,) if no tokens spell it.
        """

    @abstractmethod
    def build_word_table(self, counts: Mapping[str, float]) -> WordTable:
        """Prepare pre-tokens and their counts for many tokenizations without some of the tokens."""

    def build_token_table(self, weights: Mapping[str, float]) -> WordTable:
        """Prepare a text in which each token is a word, with its weight as the count."""
        return self.build_word_table(weights)

    def produces(self, token: str, splitter: Splitter) -> bool:
        """Return whether a tokenizer with this vocabulary and splitter makes a whole pre-token of
        some text this token; true for continuations, which are not examined.

        Example: an uncased BERT has an entry covid-19, but its pre-tokenizer splits the word.
        """
        if token in self.special or token in self.added or self.continues(token):
            return True
        return splitter.can_output(token) and self.tokenize_token(token) == (token,)

    def can_activate(self, token: str, splitter: Splitter) -> bool:
        """Return whether a token that the tokenizer never produces can become an exact word."""
        return False

    def find_activated(self, after: "Vocabulary") -> frozenset[str]:
        """Return the tokens that are exact words in another vocabulary and were never produced in
        this one: they are matched before a text is split.
        """
        return (after.added - self.added) & self.ids.keys()

    def find_words_with(self, token: str, pretokens: Iterable[str]) -> list[str]:
        """Return the pre-tokens whose tokens include `token`: "##chy" → ["tachycardia"]."""
        own = self.mark_of(token)
        text = token.removeprefix(own)
        return [one for one in pretokens if text in one and token in self.tokenize(one)]

    # Reachable tokens, and changes of the vocabulary

    @abstractmethod
    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this vocabulary and splitter can never produce a token; None
        if it can. Whether other tokens match instead is not examined.

        exact: the token would be an exact-word token instead of an entry of the vocabulary.
        """

    @abstractmethod
    def find_unreachable(
        self, splitter: Splitter, tokens: Iterable[str] | None = None
    ) -> tuple[str, ...]:
        """Return the tokens that no text can produce; special tokens always count as reachable.

        tokens: the tokens to examine (None: all).
        """

    def is_irreplaceable(self, token: str) -> bool:
        """Return whether a text that contains the token could not be spelled without it."""
        return False

    def find_single_characters(self, characters: Collection[str] | None = None) -> frozenset[str]:
        """Return the tokens of single characters, which can spell every text of these characters:
        t, ##t.

        characters: as pre-tokens contain them; None for all.
        """
        mark = self.notation.continuation
        return frozenset(
            token
            for token in self.tokens
            if len(token.removeprefix(mark) or token) == 1
            and (characters is None or token[-1] in characters)
        )

    def find_parts(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the tokens that the tokenizer needs to make these tokens."""
        return frozenset()

    def order_removals(self, tokens: Sequence[str]) -> Sequence[str]:
        """Return the tokens in an order of removal: after each removal, the tokenizer can still
        produce every token that is left.
        """
        return tokens

    def expand_insertions(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return tokens to insert, each after the intermediate tokens that it needs."""
        return tuple(tokens)

    def prefers_exact_words(self, splitter: Splitter) -> bool:
        """Return whether a plan of fixed size adds exact words instead of inserting words."""
        return False

    def find_split_words(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the new exact words that would be several tokens if all were added."""
        return ()

    def are_exact_words(self, tokens: Collection[str]) -> bool:
        """Return whether added tokens are exact words."""
        return self.whole.issuperset(tokens)

    def take_over(self, target: "Vocabulary", tokens: tuple[str, ...]) -> Self:
        """Return the vocabulary after it was replaced by the first tokens of another one."""
        return self.with_tokens(tokens, target.whole.intersection(tokens))

    def without(self, tokens: Collection[str]) -> Self:
        """Return the vocabulary without some tokens; later tokens get lower ids."""
        return self.with_tokens(token for token in self.tokens if token not in tokens)

    def with_tokens(self, tokens: Iterable[str], whole: frozenset[str] | None = None) -> Self:
        """Return the vocabulary with other tokens, by id.

        whole: its exact-word tokens; None for those of this vocabulary that it still has.
        """
        changed = tuple(tokens)
        if whole is None:
            whole = self.whole
        return replace(
            self,
            tokens=changed,
            special=self.special.intersection(changed),
            whole=whole.intersection(changed),
            added=self.added.intersection(changed),
        )


@dataclass(frozen=True, eq=False)
class ProducedTokens:
    """Whether a tokenizer produces the token of a name; each name is examined when it is needed,
    because all tokens of a large vocabulary take seconds.

    tokens: the token of each name. known: the results so far: an alignment is fitted many times on
        the same words.
    """

    vocabulary: Vocabulary
    splitter: Splitter
    tokens: Mapping[str, str]
    known: dict[str, bool] = field(default_factory=dict)

    def __call__(self, name: str) -> bool:
        """Return whether a text exists from which the tokenizer makes the token of this name."""
        if name not in self.known:
            self.known[name] = self.vocabulary.produces(self.tokens[name], self.splitter)
        return self.known[name]
