"""Splitter: pre-tokenization, the step before WordPiece: a text becomes normalized words."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tokenizers import PreTokenizedString, Tokenizer
from tokenizers.pre_tokenizers import BertPreTokenizer, PreTokenizer

from vocadapt.progress import report_block
from vocadapt.text.tokenization import TokenizerErrors, tokenizer_errors

BERT_PRE_TOKENIZER = BertPreTokenizer()  # splits at spaces and punctuation
ASCII_WORDS = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
# Before a pre-token in a test line: "(" for a word without a space before it, "a" for a symbol.
BEFORE_A_PRETOKEN = ("(", "a")
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
    ("null" if it has none), and the settings to read its pre-tokens as words.

    word_pre_tokenizer: pre-tokenizer that outputs words; "" if it is the model's own.
    word_start: mark that the pre-tokenizer writes in place of a space before a word; "" for none.
    byte_alphabet: the character that spells each of the 256 bytes; "" if pre-tokens are plain text.

    Splitters with equal settings are equal. Raises InputError if `tokenizers` cannot build them.
    """

    normalizer: str
    pre_tokenizer: str
    word_pre_tokenizer: str = ""
    word_start: str = ""
    byte_alphabet: str = ""

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
        normalizer = json.loads(self.normalizer)
        pre_tokenizer = json.loads(self.pre_tokenizer)
        return (
            normalizer is not None
            and normalizer["type"] == "BertNormalizer"
            and normalizer["clean_text"]
            and pre_tokenizer == {"type": "BertPreTokenizer"}
        )

    @property
    def outputs_words(self) -> bool:
        """Whether each pre-token is a word, as in WordPiece."""
        return not self.word_pre_tokenizer

    def pretokens(self, text: str) -> list[str]:
        """Split one line into pre-tokens, in order."""
        if self.outputs_words:
            return self.words(text)
        with report_block(f"the line that begins with {text[:40]!r}"):
            return self._split(text, self._tokenizer.pre_tokenizer)

    def words(self, text: str) -> list[str]:
        """Split one line into normalized words, in order."""
        if not self.never_crosses_whitespace:
            with report_block(f"the line that begins with {text[:40]!r}"):
                return self._split(text, self._word_pre_tokenizer)
        if not (text.isascii() and text.isprintable()):
            return self._split(text, self._word_pre_tokenizer)
        # Plain ASCII: a regular expression finds the same words, much faster.
        if self.lowercase:
            text = text.lower()
        return ASCII_WORDS.findall(text)

    def read_pretoken(self, pretoken: str) -> str:
        """Return the text of a pre-token, with the space before it: "ĠnaÃ¯ve" → " naïve"."""
        if self.byte_alphabet:
            spelled = [self._byte_of.get(character) for character in pretoken]
            if None in spelled:
                return pretoken
            known = bytes(value for value in spelled if value is not None)
            return known.decode("utf-8", errors="backslashreplace")
        if self.word_start:
            return pretoken.replace(self.word_start, " ")
        return pretoken

    def words_of(self, pretoken: str) -> tuple[str, ...]:
        """Return the words of a pre-token: "▁(naïve)" → "(", "naïve", ")"."""
        if self.outputs_words:
            return (pretoken,)
        text = self.read_pretoken(pretoken).strip()
        if text.isalnum():
            return (text,)
        return tuple(word for word, _ in BERT_PRE_TOKENIZER.pre_tokenize_str(text))

    def count_words(self, pretokens: Mapping[str, int]) -> dict[str, int]:
        """Compute the counts of words from those of pre-tokens, most frequent first."""
        if self.outputs_words:
            return dict(pretokens)
        counts: Counter[str] = Counter()
        for pretoken, count in pretokens.items():
            for word in self.words_of(pretoken):
                counts[word] += count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Split one line into (word, start, end): each normalized word, and the range of
        characters in the original line that it comes from.
        """
        pre_tokenized = PreTokenizedString(text)
        tokenizer = self._tokenizer
        with report_block(f"the line that begins with {text[:40]!r}"), tokenizer_errors:
            if tokenizer.normalizer is not None:
                pre_tokenized.normalize(tokenizer.normalizer.normalize)
            if self._word_pre_tokenizer is not None:
                self._word_pre_tokenizer.pre_tokenize(pre_tokenized)
            splits = pre_tokenized.get_splits("original", "char")
            return [(word, *span) for word, span, _ in splits if word]

    def can_output(self, pretoken: str) -> bool:
        """Return whether the splitter can output `pretoken`: alone in a line, or at the end of a
        line after one of BEFORE_A_PRETOKEN.

        This suffices for an entry of a vocabulary. It holds for 与, although BERT's normalizer puts
        spaces around it.
        """
        text = self.read_pretoken(pretoken)
        if self.pretokens(text) == [pretoken]:
            return True
        if self.outputs_words:
            return False
        lines = [text.removeprefix(" "), *(f"{before}{text}" for before in BEFORE_A_PRETOKEN)]
        return any(self.pretokens(line)[-1:] == [pretoken] for line in lines)

    def leaves_unchanged(self, word: str) -> bool:
        """Return whether the splitter neither splits `word` nor puts spaces around it (as around
        与).

        An added token that matches whole words needs this: it is matched in the normalized text,
        spaces included.
        """
        return self.can_output(word) and self.is_normalized(word)

    def is_normalized(self, text: str) -> bool:
        """Return whether the normalizer leaves a text as it is."""
        normalizer = self._tokenizer.normalizer
        return normalizer is None or normalizer.normalize_str(text) == text

    def _split(self, text: str, pre_tokenizer: PreTokenizer | None) -> list[str]:
        normalizer = self._tokenizer.normalizer
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
    def _byte_of(self) -> dict[str, int]:
        return {character: byte for byte, character in enumerate(self.byte_alphabet)}

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return _build_tokenizer(self.normalizer, self.pre_tokenizer)

    @cached_property
    def _word_pre_tokenizer(self) -> PreTokenizer | None:
        pre_tokenizer = self.word_pre_tokenizer or self.pre_tokenizer
        built: PreTokenizer | None = _build_tokenizer("null", pre_tokenizer).pre_tokenizer
        return built


def list_parts(part: Any) -> list[Mapping[str, Any]]:
    """Return the parts of a normalizer, pre-tokenizer or decoder as in tokenizer.json: those of a
    Sequence, at any depth; any other one itself; [] for None.
    """
    if part is None:
        return []
    inner = part.get("normalizers", part.get("pretokenizers", part.get("decoders")))
    if part.get("type") != "Sequence" or not isinstance(inner, list):
        return [part]
    parts = [one if isinstance(one, dict) else {"type": str(one)} for one in inner]
    return [one for part in parts for one in list_parts(part)]


def _build_tokenizer(normalizer: str, pre_tokenizer: str) -> Tokenizer:
    """Build a minimal tokenizer with a normalizer and a pre-tokenizer, because `tokenizers` reads
    their JSON only as parts of a tokenizer.
    """
    spec = MINIMAL_SPEC | {
        "normalizer": json.loads(normalizer),
        "pre_tokenizer": json.loads(pre_tokenizer),
    }
    with TokenizerErrors(
        "The tokenizer's normalizer or pre-tokenizer cannot be read",
        "Download the model again.",
        "invalid-tokenizer-part",
    ):
        return Tokenizer.from_str(json.dumps(spec))
