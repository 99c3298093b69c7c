"""A WordPiece vocabulary trained on a text."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from vocadapt.errors import InputError
from vocadapt.vocabulary.wordpiece import SPECIAL_TOKENS

ALPHABET = 1000  # characters that are kept, the most frequent ones; words with others become [UNK]
LINES = 1000  # handed over at a time


def train_wordpiece(sentences: Path, size: int, min_count: int = 2) -> tuple[str, ...]:
    """Train a WordPiece vocabulary of at most `size` tokens on a file of words between blanks, the special tokens first.

    By the trainer of the tokenizers library, which merges as BPE does and writes the result as WordPiece ("bpe-merges"). It
    breaks ties at random: the same text gives a slightly different vocabulary at every run, so the vocabulary must be kept.
    Raises InputError for a size with no room for the special tokens and one letter.
    """
    if size <= len(SPECIAL_TOKENS):
        raise InputError(f"A vocabulary needs more than its {len(SPECIAL_TOKENS)} special tokens, got {size}.", "16000 is usual.")
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=min_count, limit_alphabet=ALPHABET, special_tokens=list(SPECIAL_TOKENS),
        show_progress=False, continuing_subword_prefix="##",
    )  # fmt: skip
    tokenizer.train_from_iterator(_batches(sentences), trainer)
    ids = tokenizer.get_vocab()
    return tuple(sorted(ids, key=ids.__getitem__))


def _batches(sentences: Path) -> Iterator[list[str]]:
    with sentences.open(encoding="utf-8") as file:
        while batch := list(islice(file, LINES)):
            yield batch
