"""Splitters of SentencePiece models, which write ▁ in place of a space.

The pre-tokenizer Metaspace writes the marks, and splits the text before each. A pre-token is the
text between two spaces: "a (cough)," becomes ▁a ▁(cough), and its words are a ( cough ) and a
comma.

Some tokenizers never split a text at its marks. If none of their tokens has a mark after its first
character, no token crosses a mark, so splitting the text there does not change its tokens.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter, list_parts
from vocadapt.text.tokenization import normalize
from vocadapt.vocabulary.families.files.tokenizer_json import join_pre_tokenizers, read_parts

MARK = "▁"
REMEDY = "Choose another model."
Step = Mapping[str, Any]  # a normalizer or pre-tokenizer as in tokenizer.json


def make_marked_splitter(tokenizer: Tokenizer) -> Splitter:
    """Return the splitter of a tokenizer that writes ▁ in place of a space.

    Raises InputError if there is no such mark, or if tokens cross it.
    """
    parts = read_parts(tokenizer, ("normalizer", "pre_tokenizer"))
    pre_tokenizer: Any = parts["pre_tokenizer"]
    steps = list_parts(pre_tokenizer)
    marks = {step.get("replacement", MARK) for step in steps if step["type"] == "Metaspace"}
    writes_marks = marks == {MARK}
    if not marks:  # the normalizer may write them
        writes_marks = MARK in normalize(tokenizer, "a a")
    check_marks(writes_marks)
    # A tokenizer that does not split its text: split it at the marks.
    if not splits_at_marks(steps):
        _refuse_crossing(tokenizer.get_vocab(with_added_tokens=False))
        split = _split_at_marks("MergedWithNext")
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [*steps, split]}
    # Words have no marks: those that the normalizer writes are removed.
    others = [step for step in steps if step["type"] != "Metaspace"]
    return Splitter(
        json.dumps(parts["normalizer"], sort_keys=True),
        json.dumps(pre_tokenizer, sort_keys=True),
        join_pre_tokenizers([*others, _split_at_marks("Removed")]),
        MARK,
    )


def check_marks(writes_marks: bool) -> None:
    """Raise InputError for a tokenizer that does not write ▁ in place of a space."""
    if not writes_marks:
        raise InputError(
            f"The tokenizer does not write {MARK} at the starts of words, so its tokens do not show"
            " where a word begins.",
            REMEDY,
            code="no-word-starts",
        )


def splits_at_marks(steps: Iterable[Step]) -> bool:
    """Return whether pre-tokenizers split a text at the marks that they write."""
    return any(step["type"] == "Metaspace" and step.get("split", True) for step in steps)


def _refuse_crossing(tokens: Iterable[str]) -> None:
    crossing = sorted(token for token in tokens if MARK in token[1:])
    if crossing:
        raise InputError(
            f"The tokenizer does not split a text at spaces, and {len(crossing):,} of its tokens"
            f" have {MARK} after their first character ({crossing[0]!r}): the tokens of a word"
            " depend on the words around it.",
            REMEDY,
            code="tokens-across-spaces",
        )


def _split_at_marks(behavior: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"String": MARK}, "behavior": behavior, "invert": False}
