"""Decide whether a tokenizer can produce a token: what its normalizer and pre-tokenizer let through,
and how long a word may be.
"""

from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.wordpiece import Vocabulary

SPECIAL = "a special token"
NEVER_ONE_WORD = "the model's own normalizer and pre-tokenizer never yield it as one word"
SPACED = "the normalizer puts spaces around it: exact-word cannot match it, a WordPiece entry could"
TOO_LONG = "longer than any word the model tokenizes"
# Word starts to which a continuation is appended in a test; two kinds, because a pre-tokenizer may
# split letters from digits.
STEMS = "a0"


def explain_unreachable(
    token: str, vocabulary: Vocabulary, splitter: Splitter, exact: bool = False
) -> str | None:
    """Return why a tokenizer with this vocabulary and splitter can never emit a token; None if it
    can.

    A continuation can be emitted if a word can contain it after its first character: "##oma" can,
    "##-" cannot in BERT.
    exact: the token would be an exact-word token instead of a WordPiece entry; CJK characters can
    only be the latter.
    """
    if token in vocabulary.special:
        return SPECIAL
    body = token.removeprefix(vocabulary.continuation)
    stems = STEMS if body != token else ("",)
    if not body:
        return NEVER_ONE_WORD
    if len(body) + len(stems[0]) > vocabulary.longest_word:
        return TOO_LONG
    if not any(splitter.yields(stem + body) for stem in stems):
        return NEVER_ONE_WORD
    return SPACED if exact and not splitter.keeps(token) else None
