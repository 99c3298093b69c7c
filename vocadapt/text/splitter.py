"""Splitter: pre-tokenization, the step before WordPiece: a text becomes normalized words."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tokenizers import PreTokenizedString, Tokenizer

from vocadapt.progress import report_block
from vocadapt.text.tokenization import TokenizerErrors, tokenizer_errors

ASCII_WORDS = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
MINIMAL_SPEC: dict[str, object] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {}},
}


def is_encodable(text: str) -> bool:
    """Return whether a text can be written as UTF-8: it holds no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(frozen=True)
class Splitter:
    """A fast tokenizer's normalizer and pre-tokenizer, as the JSON text of its tokenizer.json
    ("null" if it has none).

    Splitters with equal settings are equal. Raises InputError if `tokenizers` cannot build them.
    """

    normalizer: str
    pre_tokenizer: str

    def __post_init__(self) -> None:
        self._tokenizer  # noqa: B018 - build it now to detect a broken specification early

    @classmethod
    def bert(cls, lowercase: bool = True) -> "Splitter":
        """Build BERT's own splitter, uncased or cased; the uncased one strips accents too."""
        flags = {
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lowercase,
        }
        return cls.from_tokenizer(
            {
                "normalizer": {"type": "BertNormalizer"} | flags,
                "pre_tokenizer": {"type": "BertPreTokenizer"},
            }
        )

    @classmethod
    def from_tokenizer(cls, spec: Mapping[str, object]) -> "Splitter":
        """Build the splitter of a parsed tokenizer.json."""
        return cls(
            json.dumps(spec.get("normalizer"), sort_keys=True),
            json.dumps(spec.get("pre_tokenizer"), sort_keys=True),
        )

    @property
    def lowercase(self) -> bool:
        """Whether the splitter lowercases words."""
        return '"lowercase": true' in self.normalizer or '"type": "Lowercase"' in self.normalizer

    @cached_property
    def never_crosses_whitespace(self) -> bool:
        """Whether a text may be split at whitespace first.

        True for BERT's pre-tokenizer after BERT's normalizer with `clean_text`; assumed to be false
        for all others.
        """
        normalizer, pre_tokenizer = json.loads(self.normalizer), json.loads(self.pre_tokenizer)
        return (
            normalizer is not None
            and normalizer["type"] == "BertNormalizer"
            and normalizer["clean_text"]
            and pre_tokenizer == {"type": "BertPreTokenizer"}
        )

    def words(self, text: str) -> list[str]:
        """Split one line into normalized words, in order."""
        if not self.never_crosses_whitespace:
            with report_block(f"the line that begins with {text[:40]!r}"):
                return self._split(text)
        if not (text.isascii() and text.isprintable()):
            return self._split(text)
        # Plain ASCII: a regular expression finds the same words, much faster.
        if self.lowercase:
            text = text.lower()
        return ASCII_WORDS.findall(text)

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Split one line into (word, start, end): each normalized word, and the range of
        characters in the original line that it comes from.
        """
        pre_tokenized, tokenizer = PreTokenizedString(text), self._tokenizer
        with report_block(f"the line that begins with {text[:40]!r}"), tokenizer_errors:
            if tokenizer.normalizer is not None:
                pre_tokenized.normalize(tokenizer.normalizer.normalize)
            if tokenizer.pre_tokenizer is not None:
                tokenizer.pre_tokenizer.pre_tokenize(pre_tokenized)
            splits = pre_tokenized.get_splits("original", "char")
            return [(word, *span) for word, span, _ in splits if word]

    def can_output(self, word: str) -> bool:
        """Return whether the splitter can output `word`: normalizer and pre-tokenizer neither
        change nor split it.

        This suffices for a WordPiece entry. It holds for 与, although BERT's normalizer puts spaces
        around it.
        """
        return self.words(word) == [word]

    def leaves_unchanged(self, word: str) -> bool:
        """Return whether the splitter neither splits `word` nor puts spaces around it (as around
        与).

        An added token that matches whole words needs this: it is matched in the normalized text,
        spaces included.
        """
        normalizer = self._tokenizer.normalizer
        if not self.can_output(word):
            return False
        return normalizer is None or normalizer.normalize_str(word) == word

    def _split(self, text: str) -> list[str]:
        """Split a text with the tokenizers library."""
        normalizer, pre_tokenizer = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        try:
            if normalizer is not None:
                text = normalizer.normalize_str(text)
            if pre_tokenizer is not None:
                return [word for word, _ in pre_tokenizer.pre_tokenize_str(text)]
        except BaseException as error:
            tokenizer_errors.convert(error)
            raise
        return [text] * bool(text)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """A minimal tokenizer with this normalizer and pre-tokenizer, because `tokenizers` reads
        their JSON only as a part of a tokenizer.
        """
        spec = MINIMAL_SPEC | {
            part: json.loads(getattr(self, part)) for part in ("normalizer", "pre_tokenizer")
        }
        with TokenizerErrors(
            "The tokenizer's normalizer or pre-tokenizer cannot be read",
            "Download the model again.",
        ):
            return Tokenizer.from_str(json.dumps(spec))
