"""What a text in a search field stands for: a word, a formula, a pattern, or a misspelling."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from vocadapt.errors import InputError
from vocadapt.text.formulas import Formula, parse_formula
from vocadapt.text.keyword_in_context import normalize_single_word
from vocadapt.text.patterns import find_matches, is_in_slashes, is_pattern
from vocadapt.text.spelling import complete_prefix, find_similar_spellings
from vocadapt.text.splitter import Splitter, is_encodable

MAX_SPLIT_LENGTH = 200  # characters that are split into words
MAX_PARTS = 4  # known words that are offered


@dataclass(frozen=True)
class WordSearch:
    """What a typed text stands for; of `word`, `formula` and `matches`, at most one is given.

    typed: the text without surrounding blanks. word: a known word. formula: a formula of
    words. matches: all words that match a regular expression. completions: words that begin with
    the text. similar: words of similar spelling. parts: known words in a text of several
    words, and their sum if formulas are searched. The last three are empty unless the text is
    unknown.
    """

    typed: str
    word: str | None = None
    formula: Formula | None = None
    matches: tuple[str, ...] | None = None
    completions: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether the text stands for no word, formula or pattern."""
        return self.word is None and self.formula is None and self.matches is None

    @property
    def is_single_word(self) -> bool:
        """Whether the text stands for one word, which may be unknown."""
        return self.word is not None or (self.is_unknown and not self.parts)


def search_words(
    typed: str, words: Sequence[str], splitter: Splitter | None = None, formulas: bool = False
) -> WordSearch:
    """Find out what a typed text stands for among the words of a space.

    words: most important first. splitter: also finds a word as the model normalizes it. formulas:
    whether `a - b + c` is one. The first that applies:

    1. A word, exactly as typed.
    2. An expression in slashes.
    3. A formula.
    4. A word as the model normalizes it.
    5. An expression without slashes.
    6. An unknown word, with completions and similar spellings; or several words.

    Raises InputError for an expression that cannot be searched, and for a formula with errors; its
    words may be unknown.
    """
    typed = typed.strip()
    known = frozenset(words)
    if typed in known:
        return WordSearch(typed, word=typed)
    if is_in_slashes(typed):
        return WordSearch(typed, matches=find_matches(typed, words))

    find_word = partial(_find_known, known=known, splitter=splitter)
    if formulas and (formula := parse_formula(typed, find_word)):
        return WordSearch(typed, formula=formula)
    if word := find_word(typed):
        return WordSearch(typed, word=word)
    if is_pattern(typed):
        return WordSearch(typed, matches=find_matches(typed, words))
    completions = complete_prefix(typed, words)
    similar = find_similar_spellings(typed, words)
    similar = tuple(word for word in similar if word not in completions)
    parts = _list_parts(typed, known, splitter)
    if formulas and len(parts) > 1:
        parts = (*parts, " + ".join(parts))
    return WordSearch(typed, completions=completions, similar=similar, parts=parts)


def suggest_spellings(word: str, words: Sequence[str], n: int = 3) -> str:
    """Return a question that names words of similar spelling; "" if there are none."""
    similar = find_similar_spellings(word, words, n)
    if not similar:
        return ""
    return f"Did you mean {', '.join(similar)}?"


def _find_known(typed: str, known: frozenset[str], splitter: Splitter | None) -> str | None:
    """Return the known word that a typed one stands for: itself, or as the model normalizes it."""
    if typed in known:
        return typed
    if splitter is None:
        return None
    try:
        word = normalize_single_word(typed, splitter)
    except InputError:  # several words, or none
        return None
    return word if word in known else None


def _list_parts(typed: str, known: frozenset[str], splitter: Splitter | None) -> tuple[str, ...]:
    """Return the first known words of a text of several words, as the model splits it."""
    if splitter is None or not is_encodable(typed):
        return ()
    words = splitter.words(typed[:MAX_SPLIT_LENGTH])
    if len(words) < 2:
        return ()
    found = [word for word in dict.fromkeys(words) if word in known and word.isalnum()]
    return tuple(found[:MAX_PARTS])
