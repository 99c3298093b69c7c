"""Byte-level BPE tokenizers: a tiny one by hand, that of GPT-2 from its own files, and the
pre-tokenizers of other models.
"""

import gzip
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from vocadapt.text.counting import build_word_counter
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.byte_level_bpe import BYTE_ALPHABET

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
Merges = Sequence[tuple[str, str]]
# Ġhypertension → Ġhyper tension; hypertension → h yp er tension; Ġhypotension → Ġhyp o tension
TINY_MERGES = [
    ("Ġ", "h"),
    ("y", "p"),
    ("Ġh", "yp"),
    ("e", "r"),
    ("Ġhyp", "er"),
    ("t", "e"),
    ("te", "n"),
    ("i", "o"),
    ("io", "n"),
    ("s", "ion"),
    ("ten", "sion"),
]
# Llama 3 and Qwen2 glue one symbol to the letters after it; they differ in numbers.
GLUED = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA_3, QWEN_2 = GLUED % "{1,3}", GLUED % ""


def build_tiny(merges: Merges = TINY_MERGES, prefix: bool = False, **options: Any) -> Tokenizer:
    """Build a tokenizer with the template and the first ids of RoBERTa, <mask> last."""
    made = list(dict.fromkeys(left + right for left, right in merges))
    tokens = [*SPECIAL, *sorted(BYTE_ALPHABET), *made, *options.pop("entries", ()), "<mask>"]
    ids = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(ids, list(merges), **options))
    finish(tokenizer, prefix)
    tokenizer.add_special_tokens(
        [*SPECIAL, AddedToken("<mask>", lstrip=True, special=True)]  # as RoBERTa has it
    )
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=prefix
    )
    return tokenizer


def finish(tokenizer: Tokenizer, prefix: bool = False) -> None:
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()


def split_as(tokenizer: Tokenizer, pattern: str, normal_form: bool = False) -> Tokenizer:
    """Give a tokenizer the pre-tokenizer of Llama 3 or Qwen2."""
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    if normal_form:
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


@lru_cache(maxsize=1)
def read_gpt2_files(shared: Path) -> tuple[dict[str, int], tuple[tuple[str, str], ...]]:
    """Return the entries and merges of GPT-2."""
    folder = shared / "data" / "tokenizers" / "gpt2-bpe"
    entries = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    pairs = [tuple(line.split(" ")) for line in lines if line]
    return entries, tuple((left, right) for left, right in pairs)


def build_gpt2(shared: Path, prefix: bool = False, n_merges: int = 50_000) -> Tokenizer:
    """Build the tokenizer of GPT-2, or one with its first merges only."""
    entries, merges = read_gpt2_files(shared)
    tokens = list(entries)[: 256 + n_merges]  # the ids are those of the bytes, then of the merges
    ids = {token: i for i, token in enumerate([*tokens, "<|endoftext|>"])}
    tokenizer = Tokenizer(models.BPE(ids, list(merges[:n_merges])))
    finish(tokenizer, prefix)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


@lru_cache(maxsize=1)
def read_abstracts(shared: Path) -> tuple[str, ...]:
    path = shared / "data" / "text" / "biomedical-abstracts.txt.gz"
    return tuple(gzip.decompress(path.read_bytes()).decode("utf-8").split("\n"))


@lru_cache(maxsize=8)
def count_abstracts(shared: Path, prefix: bool = False, pattern: str = "") -> dict[str, int]:
    """Return the pre-tokens of the shared abstracts with their counts, most frequent first."""
    tokenizer = build_tiny(prefix=prefix)
    if pattern:
        split_as(tokenizer, pattern)
    counter = build_word_counter(family_of(tokenizer).make_splitter(tokenizer))
    counter.count("".join(f"{line}\n" for line in read_abstracts(shared)))
    return dict(sorted(counter.word_counts().items(), key=lambda item: (-item[1], item[0])))
