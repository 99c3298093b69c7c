"""Unigram tokenizers: a tiny one by hand, and a real one from its own files."""

import gzip
import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from vocadapt.vocabulary.families import family_of

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
# ▁abc → ▁ab c (-10.5), ▁cab → ▁c ab (-10)
PIECES = {
    "▁": -2.0,
    "a": -3.0,
    "b": -3.5,
    "c": -4.0,
    "s": -3.0,
    ",": -12.0,
    "ab": -5.0,
    "▁ab": -6.5,
    "▁c": -5.0,
}
BYTES = {f"<0x{byte:02X}>": -9.0 for byte in range(256)}


def build_tiny(
    pieces: dict[str, float] | None = None,
    mask_in_list: bool = True,
    pre_tokenizer: Any = None,
    **options: Any,
) -> Tokenizer:
    """Build a tokenizer with the special tokens of XLM-R, <mask> last, in the list or beyond it."""
    scores = {**dict.fromkeys(SPECIAL, 0.0), **(PIECES if pieces is None else pieces)}
    if mask_in_list:
        scores["<mask>"] = 0.0
    tokenizer = Tokenizer(models.Unigram(list(scores.items()), 3, **options))
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in [*SPECIAL, "<mask>"]]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def replace_parts(tokenizer: Tokenizer, **parts: Any) -> Tokenizer:
    """Return a tokenizer with other parts, as in tokenizer.json."""
    return Tokenizer.from_str(json.dumps({**json.loads(tokenizer.to_str()), **parts}))


def read_real(shared: Path, name: str = "tokenizer.json") -> Tokenizer:
    """Read a real SentencePiece Unigram tokenizer."""
    return Tokenizer.from_file(str(shared / "data/tokenizers/spm-unigram" / name))


@lru_cache(maxsize=2)
def read_abstracts(shared: Path) -> tuple[str, ...]:
    """Return the lines of the shared abstracts."""
    path = shared / "data/text/biomedical-abstracts.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return tuple(file)


def count_pretokens(tokenizer: Tokenizer, lines: tuple[str, ...]) -> Counter[str]:
    """Count the pre-tokens of some lines."""
    split = family_of(tokenizer).make_splitter(tokenizer).pretokens
    return Counter(pretoken for line in lines for pretoken in split(line))
