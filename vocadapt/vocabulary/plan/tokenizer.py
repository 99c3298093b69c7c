"""Build the tokenizer of a plan, and measure how it tokenizes words differently.

*exact-word* (Poerner et al. 2020, "Updating the tokenizer"): a whole word of the added list becomes
one token, every other word is tokenized as before. *insertion* (Tai et al. 2020, and the released
code of Poerner et al.): the words enter the subword vocabulary, so they also match as parts of
longer words. *replacement* (Fast 2023): the vocabulary is a new one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from tokenizers import Tokenizer

from vocadapt.errors import InputError, check_choice
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode_batch
from vocadapt.text.words import count_words
from vocadapt.vocabulary.families import Vocabulary, family_of, vocabulary_of
from vocadapt.vocabulary.plan.plan import VocabularyPlan

Tokens = tuple[str, ...]


@dataclass(frozen=True)
class TokenizerMode:
    """A way to apply a plan to a tokenizer, with its explanation.

    rearranges: whether it can remove or move old tokens.
    """

    build: Callable[[Tokenizer, VocabularyPlan], Tokenizer]
    about: str
    rearranges: bool = False


TOKENIZER_MODES = {
    "exact-word": TokenizerMode(
        lambda tokenizer, plan: family_of(tokenizer).add_exact_words(
            tokenizer, (*plan.activated, *plan.added_tokens)
        ),
        "a whole word of the added list is one token; every other word is tokenized as before",
    ),
    "insertion": TokenizerMode(
        lambda tokenizer, plan: family_of(tokenizer).insert_tokens(tokenizer, plan.added_tokens),
        "the words join the subword vocabulary and also match as parts of longer words",
    ),
    "replacement": TokenizerMode(
        lambda tokenizer, plan: family_of(tokenizer).replace_vocabulary(tokenizer, plan.after),
        "the subword vocabulary is replaced: tokens may be removed and moved",
        True,
    ),
}


def adapt_tokenizer(
    tokenizer: Tokenizer, plan: VocabularyPlan, mode: str = "exact-word"
) -> Tokenizer:
    """Return a copy of a tokenizer after a plan.

    Raises InputError for an unknown mode, and for one that does not fit the plan: only
    `replacement` can remove or move tokens, and `exact-word` can only add whole words.
    """
    check_choice("tokenizer mode", mode, TOKENIZER_MODES)
    if plan.order is not None and not TOKENIZER_MODES[mode].rearranges:
        raise InputError(
            f"This plan removes or moves tokens, which {mode} cannot do.",
            "Choose replacement.",
            code="removing-plan",
        )
    family = family_of(tokenizer)
    if mode == "exact-word" and plan.checked_lines:
        tokenizer = family.prepare_exact_words(tokenizer) or tokenizer
    if plan.reserved_tokens:  # tokens that take the ids of reserved ones cannot be appended
        if mode == "exact-word":
            family.check_exact_words(tokenizer)
        return family.replace_vocabulary(tokenizer, plan.after)
    return TOKENIZER_MODES[mode].build(tokenizer, plan)


@dataclass(frozen=True)
class Departures:
    """How often an adapted tokenizer departs from the exact-word rule on a text.

    words, added_words: number of running words, and of those among them that were added.
    missed: number of pieces of the text in which an added word is not one token; other: number of
        pieces that differ from the rule in another way.
    within: number of pieces in which a new token is part of a longer word (▁tachycardia s).
    examples: (piece, tokens by the rule, tokens of the tokenizer).
    """

    words: int
    added_words: int
    missed: int
    other: int
    examples: tuple[tuple[str, Tokens, Tokens], ...] = ()
    within: int = 0

    @property
    def total(self) -> int:
        """All departures."""
        return self.missed + self.other + self.within

    @property
    def share(self) -> float:
        """Departures as a fraction of all occurrences of added words."""
        return self.total / self.added_words if self.added_words else 0.0

    def to_dict(self) -> dict[str, int]:
        """Return the counts for manifests and answers."""
        counts = {"added_occurrences": self.added_words, "departures": self.total}
        if self.within:
            counts["within_words"] = self.within
        return counts


@dataclass(frozen=True, slots=True)
class ComparedPiece:
    """A piece of a text with its count and its numbers of words and of added words; its tokens by
    the exact-word rule, and those of a tokenizer.

    departure: the name of the count in Departures; "" if the tokenizer keeps the rule.
    """

    piece: str
    count: int
    words: int
    added_words: int
    expected: Tokens
    got: Tokens
    departure: Literal["", "missed", "other", "within"]


def _add_up(compared: Iterable[ComparedPiece], examples: int) -> Departures:
    words = added_words = 0
    found = Counter[str]()
    shown: list[tuple[str, Tokens, Tokens]] = []
    for one in compared:
        words += one.count * one.words
        added_words += one.count * one.added_words
        if one.departure:
            found[one.departure] += one.count
            if len(shown) < examples:
                shown.append((one.piece, one.expected, one.got))
    return Departures(
        words, added_words, found["missed"], found["other"], tuple(shown), found["within"]
    )


def measure_departures(
    before: Vocabulary,
    after: Tokenizer,
    splitter: Splitter,
    pieces: Mapping[str, int],
    examples: int = 10,
) -> Departures:
    """Compare a tokenizer with the exact-word rule on the whitespace-separated pieces of a text.

    By the rule, an added word is one token and every other word is tokenized as by `before`. An
    activated word, such as covid-19, is several words of the splitter: where it is found, these are
    compared. `missed` counts pieces in which an added word is not one token; `other` those that
    differ in anything else.
    """
    return _add_up(_compare_pieces(before, after, splitter, pieces), examples)


def _compare_pieces(
    before: Vocabulary, after: Tokenizer, splitter: Splitter, pieces: Mapping[str, int]
) -> Iterator[ComparedPiece]:
    # Words of the text that are new tokens now. Continuations never are words.
    vocabulary = vocabulary_of(after)
    new_tokens = vocabulary.tokens[len(before) :]
    added = {
        vocabulary.body(token): token for token in new_tokens if not vocabulary.continues(token)
    }

    def tokenize_by_rule(words: Iterable[str]) -> Tokens:
        tokens: Tokens = ()
        for word in words:
            tokens += (added[word],) if word in added else before.tokenize(word)
        return tokens

    activated = before.find_activated(vocabulary)
    by_rule = {  # those activated earlier are matched before a text is split, too
        token: tokenize_by_rule(splitter.words(token))
        for token in (vocabulary.added - vocabulary.special) & before.ids.keys()
    }
    for (piece, count), got in zip(pieces.items(), _encode(after, pieces), strict=True):
        # 1. The tokens by the rule.
        own_words = splitter.words(piece)
        expected = tokenize_by_rule(own_words)
        n_added = sum(word in added for word in own_words)
        if not by_rule.keys().isdisjoint(got):
            n_added += sum(token in activated for token in got)
            got = tuple(part for token in got for part in by_rule.get(token, (token,)))
        # 2. A difference in a piece with an added word is a miss: the word is not one token.
        departure: Literal["", "missed", "other"] = ""
        if expected != got:
            departure = "missed" if n_added else "other"
        yield ComparedPiece(piece, count, len(own_words), n_added, expected, got, departure)


def measure_pretoken_departures(
    before: Vocabulary,
    after: Tokenizer,
    splitter: Splitter,
    counts: Mapping[str, int],
    examples: int = 10,
) -> Departures:
    """Compare a tokenizer with the exact-word rule on the pre-tokens of a text.

    counts: pre-tokens with their counts.

    The rule: an added word that a token can match (the first word of a Unigram pre-token, the only
    one of a byte-level pre-token) is one token, and a pre-token without an added word is tokenized
    as before. An added word elsewhere, such as in -tachycardia, is tokenized as before and counts
    as missed.
    """
    return _add_up(_compare_pretokens(before, after, splitter, counts), examples)


def _compare_pretokens(
    before: Vocabulary, after: Tokenizer, splitter: Splitter, counts: Mapping[str, int]
) -> Iterator[ComparedPiece]:
    vocabulary = vocabulary_of(after)
    new_tokens = frozenset(vocabulary.tokens).difference(before.tokens)
    added = {vocabulary.fold_word(vocabulary.body(token)) for token in new_tokens}

    def count_added(words: Iterable[str]) -> int:
        return sum(vocabulary.fold_word(word) in added for word in words)

    for pretoken, count in counts.items():
        # 1. The words of the pre-token, and its tokens by the rule.
        own_words = splitter.words_of(pretoken)
        got = vocabulary.tokenize(pretoken)
        expected = before.tokenize(pretoken)
        form = vocabulary.find_form(pretoken, own_words)
        if form in new_tokens:
            expected = (form, *vocabulary.tokenize(pretoken.removeprefix(form)))
        # 2. Count an added word that is not one token as missed (a form that was a token before the
        #    adaptation is not), and a new token that is part of a longer word as within.
        departure: Literal["", "missed", "other", "within"] = ""
        if count_added(_find_split_words(form, own_words, got)):
            departure = "missed"
        elif got != expected:
            departure = "other" if new_tokens.isdisjoint(got) else "within"
        n_added = count_added(own_words)
        yield ComparedPiece(pretoken, count, len(own_words), n_added, expected, got, departure)


def _find_split_words(form: str | None, words: Sequence[str], tokens: Tokens) -> Sequence[str]:
    """Return the words of a pre-token that are not single tokens.

    form: the token of its first word; None if it cannot have one. tokens: those of the pre-token.
    """
    if len(tokens) == 1:
        return ()
    return words[1:] if tokens[:1] == (form,) else words


def count_departures(
    corpus: Corpus,
    before: Vocabulary,
    after: Tokenizer,
    splitter: Splitter,
    progress: Progress = silent,
) -> Departures:
    """Count how often an adapted tokenizer departs from the exact-word rule on a corpus; each
    distinct piece or pre-token is tokenized once.
    """
    if not splitter.outputs_words:
        counts = count_words(corpus, splitter, progress).counts
        return measure_pretoken_departures(before, after, splitter, counts)
    pieces: Counter[str] = Counter()
    for passage in corpus.passages():
        pieces.update(passage.text.split())
        progress(passage.fraction, "looking for words that depart from the exact-word rule")
    return measure_departures(before, after, splitter, pieces)


def _encode(tokenizer: Tokenizer, texts: Iterable[str], block: int = 20_000) -> Iterator[Tokens]:
    """Yield the tokens of each text without special tokens, in blocks to bound the memory."""
    source = iter(texts)
    while part := list(islice(source, block)):
        for encoding in encode_batch(tokenizer, part, add_special_tokens=False):
            yield tuple(encoding.tokens)
