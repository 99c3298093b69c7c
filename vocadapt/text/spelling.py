"""Words that a typed text may stand for: those beginning with it, and those of similar spelling."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_SUGGESTIONS = 8
MAX_WORD_LENGTH = 64  # characters of a typed word that is compared with others
SHORT_WORD = 4  # letters: in a word up to this length, one error is as many as are plausible


def complete_prefix(typed: str, words: Sequence[str], n: int = MAX_SUGGESTIONS) -> tuple[str, ...]:
    """Return the first n words that begin with the typed text, ignoring case; not itself."""
    prefix = typed.casefold()
    if not prefix:
        return ()
    found = []
    for word in words:
        if word.casefold().startswith(prefix) and word != typed:
            found.append(word)
            if len(found) == n:
                break
    return tuple(found)


def find_similar_spellings(
    typed: str, words: Sequence[str], n: int = MAX_SUGGESTIONS
) -> tuple[str, ...]:
    """Return the n words with the fewest spelling errors: at most two, one in a short word, none in
    a single letter.

    An error is a missing, an additional or a wrong letter, or two neighboring letters exchanged.
    Among words with equally many errors, the earlier ones come first.
    """
    most = 1 if len(typed) <= SHORT_WORD else 2
    if len(typed) < 2 or len(typed) > MAX_WORD_LENGTH:
        return ()
    # Each error changes the length by at most one: other words need no comparison.
    rows = [row for row, word in enumerate(words) if abs(len(word) - len(typed)) <= most]
    if not rows:
        return ()
    errors = count_spelling_errors(typed.casefold(), [words[row].casefold() for row in rows])
    best = [place for place in np.argsort(errors, kind="stable") if errors[place] <= most]
    return tuple(words[rows[place]] for place in best if words[rows[place]] != typed)[:n]


def count_spelling_errors(typed: str, words: Sequence[str]) -> NDArray[np.int16]:
    """Return the optimal string alignment distance from a text to each of many words (words,)
    int16.

    errors[i][j], the distance between the first i letters typed and the first j of a word, is
    computed for all words and all j at once, row by row:

    1. Encode the words as a matrix of code points, padded with 0.
    2. From the row above: delete a letter, replace one, or exchange two.
    3. From the left: insert letters. Inserting costs 1 per letter, so the cheapest way to column j
       is the minimum over all columns k ≤ j of (cost at k) + (j - k): a running minimum.

    Example: typed "ab", word "ba": the rows are [0 1 2], [1 1 1], [2 1 1] -> distance 1.
    """
    # 1. Code points (words, letters).
    length = max(map(len, words))
    encoded = np.array([word.ljust(length, "\0") for word in words], dtype=f"<U{max(length, 1)}")
    letters = encoded.view(np.uint32).reshape(len(words), -1)
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    columns = np.arange(letters.shape[1] + 1, dtype=np.int16)
    above = np.broadcast_to(columns, (len(words), len(columns)))
    above_that = above
    for i, letter in enumerate(map(ord, typed), start=1):
        # 2. The first column: all letters so far are deleted.
        row = above + np.int16(1)
        differs = (letters != letter).astype(np.int16)
        np.minimum(row[:, 1:], above[:, :-1] + differs, out=row[:, 1:])
        if i > 1:
            exchanged = (letters[:, :-1] == letter) & (letters[:, 1:] == ord(typed[i - 2]))
            cost = np.where(exchanged, above_that[:, :-2] + 1, row[:, 2:]).astype(np.int16)
            np.minimum(row[:, 2:], cost, out=row[:, 2:])
        # 3. Insertions.
        row = np.minimum.accumulate(row - columns, axis=1) + columns
        above_that, above = above, row
    return np.asarray(above[np.arange(len(words)), lengths])
