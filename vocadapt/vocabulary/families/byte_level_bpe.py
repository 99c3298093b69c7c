"""Byte-level BPE: the tokenizers of RoBERTa, ModernBERT, GPT-2, Llama 3 and Qwen.

A regular expression splits a text into pre-tokens. Each byte is spelled by a printable character, a
space by Ġ, and merges join the characters: " hypertension" → Ġhypertension → Ġhyper tension. A
token with Ġ starts a word. A token without Ġ is inside a word, or at its start if no space comes
before it.

An exact word is an entry of the vocabulary without merges. With the setting `ignore_merges`, a
pre-token that is an entry is not merged at all, so no other pre-token changes. The forms of a word
(Ġword, word, ĠWord, …) are different pre-tokens, so each of them needs an entry.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from vocadapt.text.splitter import Splitter, list_parts
from vocadapt.vocabulary.families.bpe import TRAINER, BpeFamily
from vocadapt.vocabulary.families.bpe_vocabulary import BpeVocabulary
from vocadapt.vocabulary.families.files.merges_file import build_from_merges
from vocadapt.vocabulary.families.files.tokenizer_checks import Json
from vocadapt.vocabulary.families.files.tokenizer_json import join_pre_tokenizers, read_parts
from vocadapt.vocabulary.families.wordpiece_training import PairTrainer

SPACE = "Ġ"
# The regular expression of GPT-2, which the pre-tokenizer ByteLevel applies.
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def build_byte_alphabet() -> str:
    """Return the character that spells each of the 256 bytes (Radford et al. 2019).

    Printable characters of Latin-1 spell themselves; the n-th of the others is spelled by 256 + n.
    """
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    codes = {byte: 256 + n for n, byte in enumerate(others)}
    return "".join(chr(codes.get(byte, byte)) for byte in range(256))


BYTE_ALPHABET = build_byte_alphabet()
BYTE_OF = {character: byte for byte, character in enumerate(BYTE_ALPHABET)}


READER = Splitter("null", "null", "null", SPACE, BYTE_ALPHABET)  # reads the spelling of bytes


def spell_bytes(text: str) -> str:
    """Return the characters that spell the bytes of a text: " naïve" → "ĠnaÃ¯ve"."""
    return "".join(BYTE_ALPHABET[byte] for byte in text.encode("utf-8", errors="replace"))


@dataclass(frozen=True, eq=False, repr=False)
class ByteLevelVocabulary(BpeVocabulary):
    """A byte-level BPE vocabulary."""

    family = "byte-level-bpe"
    mark = SPACE

    def read(self, pretoken: str) -> str:
        """Return the text of a pre-token without the space before it: "ĠnaÃ¯ve" → "naïve"."""
        return READER.read_pretoken(pretoken).removeprefix(" ")

    def body(self, token: str) -> str:
        """Return the text of a token without the space before it: "Ġnaïve" → "naïve".

        A byte that is not a whole character is written \\xe2.
        """
        return token if token in self.added else self.read(token)

    def spell(self, body: str, continues: bool = False) -> str:
        """Return the token with this text after a space, or without one: "tension" → "Ġtension"."""
        return spell_bytes(body if continues else f" {body}")

    def find_form(self, pretoken: str, words: Sequence[str]) -> str | None:
        """Return the token that a pre-token of a single word would be: the pre-token itself."""
        return pretoken if len(words) == 1 else None

    def is_part_of_character(self, token: str) -> bool:
        """Return whether the bytes of a token are not whole characters."""
        spelled = [BYTE_OF.get(character) for character in token]
        try:
            bytes(byte for byte in spelled if byte is not None).decode("utf-8")
        except UnicodeDecodeError:
            return None not in spelled
        return False

    def find_single_characters(self, characters: Collection[str] | None = None) -> frozenset[str]:
        """Return the tokens of all bytes, whatever the characters are: they share bytes."""
        return super().find_single_characters()


class ByteLevelFamily(BpeFamily):
    """The byte-level BPE tokenizers."""

    name = "byte-level-bpe"
    title = "byte-level BPE (RoBERTa, ModernBERT, GPT-2)"
    exceptions = (
        "in forms that were not added, such as after a symbol that the model reads together with"
        " the word, where a new word is split as before"
    )
    trainers: Mapping[str, PairTrainer] = {"byte-level-bpe": TRAINER}

    def recognizes(self, content: Json) -> bool:
        """Return whether the model of a tokenizer is BPE over spelled bytes."""
        model = content["model"]
        if model.get("type", "BPE" if "merges" in model else "") != "BPE":
            return False
        parts = (content.get("normalizer"), content.get("pre_tokenizer"), content.get("decoder"))
        steps = [step for part in parts for step in list_parts(part)]
        return any(step.get("type") == "ByteLevel" for step in steps)

    def build_from_folder(self, folder: Path, lowercase: bool | None = None) -> Tokenizer | None:
        """Build the tokenizer of a folder with vocabulary and merges files; None if it has none."""
        return build_from_merges(folder)

    def read_vocabulary(self, tokenizer: Tokenizer) -> ByteLevelVocabulary:
        """Return the vocabulary of a tokenizer; entries without merges match whole pre-tokens."""
        return ByteLevelVocabulary(**self.read_fields(tokenizer))

    def read_token(self, token: str) -> str:
        """Return the text that a token spells: "naÃ¯ve" → "naïve"."""
        return READER.read_pretoken(token)

    def make_splitter(self, tokenizer: Tokenizer) -> Splitter:
        """Return the splitter of a tokenizer."""
        content = read_parts(tokenizer, ("normalizer", "pre_tokenizer"))
        parts: list[Mapping[str, Any]] = []
        for part in list_parts(content["pre_tokenizer"] or {"type": "ByteLevel"}):
            if part["type"] != "ByteLevel":
                parts.append(part)
            elif part.get("use_regex", True):
                pattern = {"type": "Split", "pattern": {"Regex": PATTERN}}
                parts.append({**pattern, "behavior": "Isolated", "invert": False})
        return Splitter(
            json.dumps(content["normalizer"], sort_keys=True),
            json.dumps(content["pre_tokenizer"], sort_keys=True),
            join_pre_tokenizers(parts),
            SPACE,
            BYTE_ALPHABET,
        )

    # Train

    def list_first_tokens(self, counts: Mapping[str, int]) -> list[str]:
        """Return the special tokens, and the tokens of the 256 bytes."""
        return [*self.special_tokens.values(), *sorted(BYTE_ALPHABET)]

    def build_empty_tokenizer(self, lowercase: bool) -> Tokenizer:
        """Build a tokenizer without tokens, with the parts of RoBERTa's."""
        tokenizer = Tokenizer(models.BPE())
        if lowercase:
            tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer
