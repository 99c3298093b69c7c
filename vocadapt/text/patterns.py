"""Words that match a regular expression, in bounded time.

Python's `re` may need exponential time (`(a|aa)*b`) and cannot be interrupted. RE2, which pyarrow
contains, needs time proportional to the length of the text; it lacks lookaround and references to
groups.
"""

import re
import time
from collections.abc import Sequence
from itertools import compress

from vocadapt.errors import InputError
from vocadapt.text.splitter import is_encodable

MAX_PATTERN_LENGTH = 200  # characters
MAX_SECONDS = 1.0
WORDS_AT_A_TIME = 2_000  # words between two looks at the clock
MAX_WORD_LENGTH = 200  # characters; longer words are not searched
# Signs that no ordinary word contains but a regular expression does.
SIGNS = re.compile(r"[\\^$*?|()\[\]{}]|\.\+")


def is_pattern(typed: str) -> bool:
    """Return whether a typed text is a regular expression: in slashes, or with its signs."""
    return is_in_slashes(typed) or SIGNS.search(typed) is not None


def is_in_slashes(typed: str) -> bool:
    """Return whether a typed text is written as /expression/."""
    return len(typed) > 2 and typed.startswith("/") and typed.endswith("/")


def find_containing(typed: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words that contain a text or match an expression in slashes, ignoring case."""
    if is_in_slashes(typed):
        return find_matches(typed, words)
    wanted = typed.casefold()
    return tuple(word for word in words if wanted in word.casefold())


def find_matches(typed: str, words: Sequence[str], seconds: float = MAX_SECONDS) -> tuple[str, ...]:
    """Return all words in which a regular expression occurs, without regard to case.

    typed: the expression, with or without slashes. Raises InputError if it is not valid, too long,
    or takes longer than `seconds`.
    """
    pattern = typed
    if is_in_slashes(typed):
        pattern = typed[1:-1]
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InputError(
            f"The regular expression has {len(pattern)} characters, at most {MAX_PATTERN_LENGTH}"
            " are searched.",
            "Shorten it.",
            code="too-long-pattern",
        )
    # 1. One empty word: an invalid expression is reported, and pyarrow loads its parts.
    _match(pattern, typed, [""])
    # 2. Some words at a time. Only the time of this thread counts: the machine may be busy.
    end = time.thread_time() + seconds
    found: list[str] = []
    for start in range(0, len(words), WORDS_AT_A_TIME):
        part = [
            word
            for word in words[start : start + WORDS_AT_A_TIME]
            if len(word) <= MAX_WORD_LENGTH and is_encodable(word)
        ]
        found += compress(part, _match(pattern, typed, part))
        if time.thread_time() > end:
            raise InputError(
                f"Searching {typed[:100]!r} takes too long.",
                "Use fewer or smaller repetitions, such as * instead of {0,1000}.",
                code="too-slow-pattern",
            )
    return tuple(found)


def _match(pattern: str, typed: str, words: list[str]) -> list[bool]:
    import pyarrow
    from pyarrow.compute import match_substring_regex

    try:
        array = pyarrow.array(words, "string")
        matched: list[bool] = match_substring_regex(array, pattern, ignore_case=True).to_pylist()
    except (pyarrow.ArrowInvalid, UnicodeEncodeError) as error:
        why = str(error).removeprefix("Invalid regular expression: ")
        raise InputError(
            f"{typed[:100]!r} is not a regular expression that can be searched: {why}.",
            "Close every bracket; lookaround and references to groups are not supported.",
            code="invalid-pattern",
        ) from error
    return matched
