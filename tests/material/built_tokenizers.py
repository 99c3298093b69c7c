"""Tokenizers that a test can read."""

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers


def build_bytes(*added: str) -> Tokenizer:
    """A byte-level BPE: the bytes, he, the, the after a space, Ġcat."""
    merges = [("h", "e"), ("t", "he"), ("Ġ", "the"), ("a", "t"), ("c", "at"), ("Ġ", "cat")]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    ids = {t: i for i, t in enumerate([*alphabet, *(left + right for left, right in merges)])}
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<end>"])
    tokenizer.add_tokens([AddedToken(token, normalized=True) for token in added])
    return tokenizer


def build_unigram() -> Tokenizer:
    pieces = [("<unk>", 0.0), ("▁", -3.0), *((letter, -4.0) for letter in "abcdehlopr")]
    pieces += [("▁hello", -5.0), ("▁he", -6.0), ("llo", -6.5), ("▁cab", -7.0), ("rare", -20.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<unk>"])
    return tokenizer
