"""Splitter: how a model cuts a text into words, before it cuts words into wordpieces."""

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
    "model": {
        "type": "WordPiece",
        "unk_token": "?",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 1,
        "vocab": {},
    },
}


@dataclass(frozen=True)
class Splitter:
    """A fast tokenizer's normalizer and pre-tokenizer, as the JSON text of its tokenizer.json
    ("null" where it has none).

    A small value: equal settings are equal splitters. Raises InputError when `tokenizers` cannot
    build them.
    """

    normalizer: str
    pre_tokenizer: str

    def __post_init__(self) -> None:
        self._tokenizer  # noqa: B018 - built now, so that a mistake shows now

    @classmethod
    def bert(cls, lowercase: bool = True) -> "Splitter":
        """BERT's own, uncased or cased; accents are stripped where letters are lowercased."""
        flags = {
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lowercase,
        }
        parts = {
            "normalizer": {"type": "BertNormalizer"} | flags,
            "pre_tokenizer": {"type": "BertPreTokenizer"},
        }
        return cls.from_tokenizer(parts)

    @classmethod
    def from_tokenizer(cls, spec: Mapping[str, object]) -> "Splitter":
        """The splitter of a parsed tokenizer.json."""
        return cls(
            *(
                json.dumps(spec.get(part), sort_keys=True)
                for part in ("normalizer", "pre_tokenizer")
            )
        )

    @property
    def lowercase(self) -> bool:
        """Whether words come out in lower case."""
        return '"lowercase": true' in self.normalizer or '"type": "Lowercase"' in self.normalizer

    @cached_property
    def never_crosses_blanks(self) -> bool:
        """Whether a text may be cut at blanks first: sure for BERT's own pair with `clean_text`,
        not assumed for any other.
        """
        normalizer, pre_tokenizer = json.loads(self.normalizer), json.loads(self.pre_tokenizer)
        return (
            normalizer is not None
            and normalizer["type"] == "BertNormalizer"
            and normalizer["clean_text"]
            and pre_tokenizer == {"type": "BertPreTokenizer"}
        )

    def words(self, text: str) -> list[str]:
        """The words of one line, in order, as the model meets them."""
        if not self.never_crosses_blanks:
            with report_block(f"the line that begins with {text[:40]!r}"):
                return self._words(text)
        if text.isascii() and text.isprintable():
            return ASCII_WORDS.findall(text.lower() if self.lowercase else text)
        return self._words(text)

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """The words of one line with where each begins and ends in the line as it is written, in
        characters.
        """
        pieces, parts = PreTokenizedString(text), self._tokenizer
        with report_block(f"the line that begins with {text[:40]!r}"), tokenizer_errors:
            if parts.normalizer is not None:
                pieces.normalize(parts.normalizer.normalize)
            if parts.pre_tokenizer is not None:
                parts.pre_tokenizer.pre_tokenize(pieces)
            return [
                (word, *place) for word, place, _ in pieces.get_splits("original", "char") if word
            ]

    def yields(self, word: str) -> bool:
        """Return whether the splitter can output `word`: normalizer and pre-tokenizer neither
        change nor split it.

        This suffices for a WordPiece entry. It holds for 与, although BERT's normalizer puts spaces
        around it.
        """
        return self.words(word) == [word]

    def keeps(self, word: str) -> bool:
        """Return whether `word` is not changed at all: not split, and no spaces put around it (as
        around 与).

        An added token that matches whole words needs this: it is matched in the normalized text,
        spaces included.
        """
        return self.yields(word) and self._normalized(word) == word

    def _words(self, text: str) -> list[str]:
        """Split a text with the tokenizers library."""
        normalizer, pre_tokenizer = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        try:
            if normalizer is not None:
                text = normalizer.normalize_str(text)
            if pre_tokenizer is None:
                return [text] if text else []
            return [word for word, _ in pre_tokenizer.pre_tokenize_str(text)]
        except BaseException as error:
            tokenizer_errors.convert(error)
            raise

    def _normalized(self, text: str) -> str:
        normalizer = self._tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """A tokenizer of one wordpiece with this normalizer and pre-tokenizer: how `tokenizers`
        reads their JSON.
        """
        spec = MINIMAL_SPEC | {
            part: json.loads(getattr(self, part)) for part in ("normalizer", "pre_tokenizer")
        }
        with TokenizerErrors(
            "The tokenizer's normalizer or pre-tokenizer cannot be read",
            "Download the model again.",
        ):
            return Tokenizer.from_str(json.dumps(spec))
