"""The vocabulary of Unigram tokenizers: see `unigram`."""

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from tokenizers import models

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.files.metaspace import MARK
from vocadapt.vocabulary.families.files.tokenizer_checks import BYTE_TOKENS
from vocadapt.vocabulary.families.marked_vocabulary import MarkedVocabulary
from vocadapt.vocabulary.families.unigram_scores import PieceScores, score_new_pieces
from vocadapt.vocabulary.vocabulary import (
    NEVER_ONE_WORD,
    SPECIAL,
    Vocabulary,
    WordTable,
)

HAS_ADDED_TOKEN = "contains an added token of the model, which is matched first"
NO_LETTERS = "has no letters or digits, so it is not a word"
# Characters next to a token in the test whether the pre-tokenizer keeps it within a word.
OTHERS = "a0("


@dataclass(frozen=True, eq=False, repr=False)
class UnigramVocabulary(MarkedVocabulary):
    """A Unigram vocabulary.

    scores: the score of each piece of the model, by id. Added tokens may follow without a score.
    byte_fallback: whether an unknown character becomes the tokens of its bytes.
    """

    family = "unigram"
    mark = MARK
    scores: Mapping[str, float] = field(default_factory=dict)
    byte_fallback: bool = False

    # Spelling

    def continues(self, token: str) -> bool:
        """Return whether a token has no ▁: "tension"."""
        return not token.startswith(MARK) and token not in self.added and token != self.unknown

    def body(self, token: str) -> str:
        """Return the text of a token without the space before it: "▁hyper" → "hyper"."""
        if token in self.added:
            return token
        return token.removeprefix(MARK)

    def find_form(self, pretoken: str, words: Sequence[str]) -> str | None:
        """Return the token of the first word of a pre-token: "▁cough)," → "▁cough"; None if another
        character is before the word: "▁(cough)".
        """
        if not words or not _has_letters(words[0]):
            return None
        form = MARK + words[0]
        return form if pretoken.startswith(form) else None

    # Tokenization

    def tokenize(self, pretoken: str) -> tuple[str, ...]:
        """Return the tokens of a pre-token: "▁hypertension" → ("▁hyper", "tension")."""
        return tuple(self._pieces[token.id] for token in self._model.tokenize(pretoken))

    def tokenize_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """Return the tokens that spell a token."""
        if token in self.added:
            return (token,)
        if not without:
            return self.tokenize(token)
        tokens: list[str] = []
        for piece in self._piece_scores.segment(token, without=token).pieces:
            is_known = piece in self.scores and piece not in (token, self.unknown)
            if is_known:
                tokens.append(piece)
            elif self.byte_fallback:
                tokens += [BYTE_TOKENS[byte] for byte in piece.encode("utf-8", "surrogatepass")]
            elif tokens[-1:] != [self.unknown]:  # adjacent unknown characters are one token
                tokens.append(self.unknown)
        return tuple(tokens)

    def build_word_table(self, counts: Mapping[str, float]) -> WordTable:
        """Prepare pre-tokens and their counts for many tokenizations, each without some tokens."""
        from vocadapt.vocabulary.families.tables.segmentation_table import build_segmentation_table

        return build_segmentation_table(
            list(self.scores.items()),
            counts,
            unknown=self.ids.get(self.unknown),
            byte_fallback=self.byte_fallback,
            size=len(self),
        )

    # Reachable tokens

    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this splitter never produces a token; None if it can."""
        if token in self.added:
            return SPECIAL
        if exact and not _has_letters(token):
            return NO_LETTERS
        if any(added in token for added in self.added):
            return HAS_ADDED_TOKEN
        if exact:
            is_kept = token.startswith(MARK) and splitter.can_output(token)
        else:
            is_kept = self._is_kept(token, splitter)
        return None if is_kept else NEVER_ONE_WORD

    def _is_kept(self, token: str, splitter: Splitter) -> bool:
        """Return whether a pre-token can contain the token, at its start if it starts a word."""
        if token in self._bytes or splitter.can_output(token):
            return True
        if token.startswith(MARK):
            return any(splitter.can_output(token + other) for other in OTHERS)
        return any(splitter.can_output(MARK + other + token) for other in OTHERS)

    def find_unreachable(
        self, splitter: Splitter, tokens: Iterable[str] | None = None
    ) -> tuple[str, ...]:
        """Return the tokens that the tokenizer produces for no text: normalizer and pre-tokenizer
        never output their text, or other tokens spell it with a higher score.

        The result is exact: each part of a best segmentation is the best segmentation of that part.
        Conversely, a token that is the best segmentation of its own text is chosen in some text,
        for example between two characters that no token contains.
        """
        return tuple(
            token
            for token in (self.tokens if tokens is None else tokens)
            if not self._is_reachable(token, splitter)
        )

    def _is_reachable(self, token: str, splitter: Splitter) -> bool:
        if token in self.added or token in self._bytes or token == self.unknown:
            return True
        return self.tokenize(token) == (token,) and self._is_kept(token, splitter)

    def is_irreplaceable(self, token: str) -> bool:
        """Return whether a token is one character or byte, or has a character without a token."""
        if len(token) == 1 or token in self._bytes:
            return True
        return not self.byte_fallback and any(one not in self.scores for one in token)

    def find_single_characters(self, characters: Collection[str] | None = None) -> frozenset[str]:
        """Return the tokens of single characters, ▁ among them, and those of bytes."""
        return frozenset(
            token
            for token in self.tokens
            if token in self._bytes
            or (len(token) == 1 and (characters is None or token in {MARK, *characters}))
        )

    def find_parts(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the token with the lowest score: an unknown character scores 10 less than it, so
        without it, a text with such a character might be tokenized differently.
        """
        return frozenset({min(self.scores, key=self.scores.__getitem__)} if self.scores else ())

    # Changes of the vocabulary

    def find_split_words(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the new exact words that would be several tokens if all were added.

        Raises InputError if all scores are equal.
        """
        after = self.with_tokens([*self.tokens, *tokens])
        return tuple(token for token in tokens if after.tokenize(token) != (token,))

    def are_exact_words(self, tokens: Collection[str]) -> bool:
        """Return whether all new tokens start words."""
        return all(token.startswith(MARK) for token in tokens)

    def check_scores(self) -> None:
        """Raise InputError if all scores are equal: then new tokens cannot be scored."""
        ordinary = [
            score
            for token, score in self.scores.items()
            if token not in self.added and token != self.unknown
        ]
        if len(ordinary) > 1 and len(set(ordinary)) == 1:
            raise InputError(
                f"All {len(ordinary):,} tokens of the model have the same score, {ordinary[0]:g}:"
                " no score can be found for a new token.",
                "Take the tokenizer.json of the original model, or convert its SentencePiece .model"
                " file again: it has the scores.",
                code="equal-scores",
            )

    def with_tokens(self, tokens: Iterable[str], whole: frozenset[str] | None = None) -> Self:
        """Return the vocabulary with other tokens, by id.

        Old tokens keep their scores. New ones, in `whole` or not, are scored by `score_new_pieces`
        with the vocabulary without the removed tokens. An added token without a score gets the
        lowest score, so that it is matched least often inside other text. Raises InputError if
        there are new tokens and all scores are equal.
        """
        changed = tuple(tokens)
        known = frozenset(changed)
        new = [token for token in changed if token not in self.ids]
        lowest = min(self.scores.values(), default=0.0)
        scores = {token: self.scores.get(token, lowest) for token in changed if token in self.ids}
        if new:
            self.check_scores()
            scores |= score_new_pieces(scores, new)
        return self._replace(changed, {token: scores[token] for token in changed}, known)

    def take_over(self, target: Vocabulary, tokens: tuple[str, ...]) -> Self:
        """Return the vocabulary replaced by the first tokens of another one, with its scores.

        Raises InputError if the target is of another family: it has no scores.
        """
        if not isinstance(target, UnigramVocabulary):
            raise InputError(
                f"The tokens of the target ({target.family}) have no scores, which a model of the"
                f" family {self.family} needs.",
                "Give a target of the same family, or combine the vocabularies.",
                code="no-scores",
            )
        known = frozenset(tokens)
        lowest = min(target.scores.values(), default=0.0)
        scores = {token: target.scores.get(token, lowest) for token in tokens}
        byte_fallback = target.byte_fallback and known.issuperset(BYTE_TOKENS)
        return replace(self._replace(tokens, scores, known), byte_fallback=byte_fallback)

    def _replace(
        self, tokens: tuple[str, ...], scores: Mapping[str, float], known: frozenset[str]
    ) -> Self:
        return replace(
            self,
            tokens=tokens,
            special=self.special & known,
            whole=self.whole & known,
            added=self.added & known,
            scores=scores,
            unknown=self.unknown if self.unknown in known else "",
        )

    @cached_property
    def _bytes(self) -> frozenset[str]:
        """The tokens of bytes, if unknown characters become them."""
        return frozenset(BYTE_TOKENS if self.byte_fallback else ())

    @cached_property
    def _pieces(self) -> tuple[str, ...]:
        """The tokens with a score, by id."""
        return tuple(self.scores)

    @cached_property
    def _piece_scores(self) -> PieceScores:
        return PieceScores(self.scores)

    @cached_property
    def _model(self) -> models.Unigram:
        return models.Unigram(
            list(self.scores.items()), self.ids.get(self.unknown), self.byte_fallback
        )


def _has_letters(text: str) -> bool:
    """Return whether a text has a character other than punctuation: a letter, a digit, an emoji."""
    return any(not _is_punctuation(character) for character in text.removeprefix(MARK))


def _is_punctuation(character: str) -> bool:
    """Return whether the pre-tokenizer of BERT splits words at a character."""
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")
