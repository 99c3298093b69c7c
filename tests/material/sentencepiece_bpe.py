"""BPE of SentencePiece."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.material.byte_level import read_abstracts
from vocadapt.text.counting import build_word_counter
from vocadapt.vocabulary.families import FAMILIES
from vocadapt.vocabulary.families.files.tokenizer_checks import BYTE_TOKENS

NAME = "sentencepiece-bpe"
SIZE = 2000  # of the trained vocabulary
FAMILY = FAMILIES[NAME]
M = "\u2581"
SPECIAL = ["<unk>", "<s>", "</s>"]
CHARACTERS = [*M, *"abcdefghijklmnopqrstuvwxyz", *"HT", *"0123456789.,()-"]
MERGES = [
    (M, M),
    (M, "h"),
    ("y", "p"),
    (f"{M}h", "yp"),
    ("e", "r"),
    (f"{M}hyp", "er"),
    ("t", "e"),
    ("te", "n"),
    ("i", "o"),
    ("io", "n"),
    ("s", "ion"),
    ("ten", "sion"),
    (")", ","),
]
WHOLE_TEXT = [("a", ","), ("s", M)]  # merges across a comma, and across a space
LINES = [
    "hypertension, (hypertension) hyper-tension",
    "a  hypotension   10.5 Hypertension\u2026 na\u00efve x",
    "  hypertension ",
    "",
    "ss ss a, a,b hypers, he\u0301 \u4e2d\u6587h",
]


def build(
    layout: str = "llama", merges: Sequence[tuple[str, str]] = (), **options: Any
) -> Tokenizer:
    """Build a tokenizer with byte fallback that writes marks as Llama 2, Mistral or Gemma do."""
    merges = [*MERGES, *merges]
    made = [left + right for left, right in merges]
    tokens = dict.fromkeys([*SPECIAL, *BYTE_TOKENS, *CHARACTERS, *made, *options.pop("more", ())])
    settings = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True} | options
    tokenizer = Tokenizer(models.BPE({one: i for i, one in enumerate(tokens)}, merges, **settings))
    replace = normalizers.Replace(" ", M)
    if layout == "llama":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(M), replace])
    elif layout == "gemma":
        tokenizer.normalizer = replace
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
            prepend_scheme="first", split=layout == "split"
        )
    steps = [decoders.Replace(M, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


LAYOUTS = ["llama", "metaspace", "gemma", "split"]


def tokens_of(tokenizer: Tokenizer, line: str) -> list[str]:
    return list(tokenizer.encode(line, add_special_tokens=False).tokens)


@lru_cache(maxsize=1)
def train(shared: Path) -> Tokenizer:
    """A tokenizer of SIZE tokens; the text that it was trained on lacks every second abstract."""
    counter = build_word_counter(FAMILY.make_training_splitter(False))
    counter.count("".join(f"{line}\n" for line in read_abstracts(shared)[:400:2]))
    return FAMILY.build(FAMILY.train(counter.word_counts(), SIZE, NAME), lowercase=False)
