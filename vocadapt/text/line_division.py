"""Find the places at which a line can be divided: split one by one, its parts have the same
pre-tokens as the whole line.

Only for known normalizers and pre-tokenizers is this exact; for all others `find_boundary` returns
None. There are two kinds:

*Regular expressions* that begin a new pre-token at a space before another character. The line is
divided before each such space. Of several spaces, such an expression takes all but the last one as
a pre-token, so no pre-token before the boundary depends on the text after it. The normalizers of
this kind (NFC and lowercase) neither insert nor remove spaces.

*Marks* in place of spaces (Metaspace), or a split at whitespace. Normalizers of this kind may turn
a character into a space, or several spaces into one. So a line is divided only at single spaces
between ASCII characters, which they do not change.

A part that follows a boundary is split after CONTEXT, because pre-tokenizers treat the start of a
line differently.

Example: "a b  (c" → "a", "b ", "(c" for an expression; "a", "b  (c" for marks.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from vocadapt.text.splitter import Splitter, list_parts

CONTEXT = "a "
BEFORE_ANY_SPACE = re.compile(r" (?=\S)")
BETWEEN_ASCII = re.compile(r"(?<=[!-~]) (?=[!-~])")

# Expression of Llama 3, and of Qwen 2 with single digits.
_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Regular expressions that begin a pre-token at a space before another character.
EXPRESSIONS = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    _LLAMA_3 % "",
    _LLAMA_3 % "{1,3}",
}
# Expressions of pre-tokenizers, in which MARK is replaced by the mark: the marks before which a
# text is split; and runs of letters or of other characters, each with the marks before it.
BEFORE_MARKS = ("MARK", "MARK+")
LETTERS_AND_OTHERS = r"MARK*[\p{L}\p{M}]+|MARK*[^MARK\p{L}\p{M}]+|MARK+"

KEEP_SPACES = {"NFC", "Lowercase"}
LOCAL_NORMALIZERS = {
    *("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Strip", "Precompiled"),
    "Prepend",
}
SPLIT_AT_SPACES = {"WhitespaceSplit", "Whitespace", "BertPreTokenizer"}
SPLIT_IN_WORDS = {"Digits", "Punctuation"}

Steps = Sequence[Mapping[str, Any]]


def find_boundary(splitter: Splitter) -> re.Pattern[str] | None:
    """Return the pattern of the spaces at which a line can be divided; None if it cannot be
    divided.

    The parts also have the same words as the whole line.
    """
    normalizers = list_parts(json.loads(splitter.normalizer))
    steps = list_parts(json.loads(splitter.pre_tokenizer))
    word_steps = list_parts(json.loads(splitter.word_pre_tokenizer or "null"))
    if all(one["type"] in KEEP_SPACES for one in normalizers):
        fits = _are_known_expressions(steps)
        if fits and (not word_steps or _are_words_of_expressions(word_steps)):
            return BEFORE_ANY_SPACE
    mark = splitter.word_start
    if all(_is_local(one, mark) for one in normalizers):
        replaced = [one["pattern"] for one in normalizers if one["type"] == "Replace"]
        is_written = bool(mark) and {"String": " "} in replaced
        fits = _split_at_spaces(steps, mark, is_written)
        if fits and (not word_steps or _split_at_spaces(word_steps, mark, is_written)):
            return BETWEEN_ASCII
    return None


def may_be_divided_after(boundary: re.Pattern[str], part: str) -> bool:
    """Return whether a line can be divided after a part if another part follows."""
    return boundary.search(f"{part} {CONTEXT}", len(part), len(part) + 2) is not None


def _read_expression(step: Mapping[str, Any]) -> str:
    """Return the regular expression of a step that isolates its matches; "" for another step."""
    is_plain = step["type"] == "Split" and step["behavior"] == "Isolated" and not step["invert"]
    return str(step["pattern"].get("Regex", "")) if is_plain else ""


def _are_known_expressions(steps: Steps) -> bool:
    *others, last = steps or [{"type": ""}]
    if last["type"] != "ByteLevel":
        return False
    if not others:
        return bool(last.get("use_regex", True))
    split_before = len(others) == 1 and _read_expression(others[0]) in EXPRESSIONS
    return split_before and not last.get("use_regex", True) and not last["add_prefix_space"]


def _are_words_of_expressions(steps: Steps) -> bool:
    *others, last = steps
    known = len(others) == 1 and _read_expression(others[0]) in EXPRESSIONS
    return known and last["type"] == "BertPreTokenizer"


def _is_local(step: Mapping[str, Any], mark: str) -> bool:
    """Return whether a normalizer neither moves nor removes a single space between ASCII
    characters, except that it may write a mark in its place.
    """
    if step["type"] != "Replace":
        return step["type"] in LOCAL_NORMALIZERS
    (pattern,) = step["pattern"].values()
    if "Regex" in step["pattern"]:
        return pattern == " {2,}" and step["content"] in (" ", mark)
    if pattern == " ":
        return bool(mark) and step["content"] == mark
    return " " not in pattern + step["content"]


def _split_at_spaces(steps: Steps, mark: str, is_written: bool) -> bool:
    """Return whether the steps split at each space, or at the mark in its place.

    is_written: whether the marks are written already.
    """
    splits = False
    for step in steps:
        kind = step["type"]
        if kind == "Metaspace":
            if step["replacement"] != mark:
                return False
            is_written = True
            splits |= step.get("split", True)
        elif kind == "Split":
            if not _is_split_at_mark(step, mark):
                return False
            splits |= is_written
        elif kind in SPLIT_AT_SPACES:
            splits |= not is_written
        elif kind not in SPLIT_IN_WORDS:
            return False
    return splits


def _is_split_at_mark(step: Mapping[str, Any], mark: str) -> bool:
    """Return whether a step splits a text at its marks, in one of the known ways."""
    (pattern,) = step["pattern"].values()
    if not mark or step["invert"]:
        return False
    if step["behavior"] in ("MergedWithNext", "Removed"):
        return pattern in [one.replace("MARK", mark) for one in BEFORE_MARKS]
    known = LETTERS_AND_OTHERS.replace("MARK", mark)
    return bool(step["behavior"] == "Isolated" and pattern == known)
