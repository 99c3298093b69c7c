"""The WordPiece trainers against that of the tokenizers library, on the same text: processor time, and
how many tokens they share.

The library breaks ties at random, so it is also compared with itself. Its trainer and ours read the
same words.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks._figures import SHARED, Figure, run
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import Splitter, count_words, write_sentences
from vocadapt.vocabulary.families.files.vocab_file import SPECIAL_TOKENS
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.families.wordpiece_training import (
    ALPHABET,
    TRAINERS,
    train_wordpiece,
)

TEXT, FULL_TEXT, HELD_OUT = "biomedical-abstracts", "general-wikipedia", "general-reviews"
SIZE = 16_000
LIBRARY = "tokenizers library"
SHARED_TOKENS = "bpe-merges"  # the trainer by the rule of the library
UNCASED = Splitter.bert()

Tokens = tuple[str, ...]


def measure(full: bool) -> Iterator[Figure]:
    """Train a vocabulary with each trainer."""
    corpus = open_corpus([SHARED / f"text/{FULL_TEXT if full else TEXT}.txt.gz"])
    held_out = count_words(open_corpus([SHARED / f"text/{HELD_OUT}.txt.gz"]), UNCASED).counts
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(corpus, UNCASED, sentences).counts
        theirs, baseline = time_training(partial(train_with_library, sentences))
        again, _ = time_training(partial(train_with_library, sentences))
    yield Figure("its own tokens", (compute_fraction(again, theirs),), "of those of its first run")
    yield Figure(LIBRARY, (count_pieces(theirs, held_out),), "pieces per word of a held-out text")
    for name in TRAINERS:
        ours, seconds = time_training(partial(train_wordpiece, counts, SIZE, name))
        yield Figure(name, (seconds,), "CPU s", (baseline,), LIBRARY)
        target = 0.95 if name == SHARED_TOKENS else None
        tokens = (compute_fraction(ours, theirs),)
        yield Figure(
            f"tokens of {name}", tokens, "of those of the library", target=target, at_least=True
        )
        yield Figure(name, (count_pieces(ours, held_out),), "pieces per word of a held-out text")


def train_with_library(sentences: Path) -> Tokens:
    """Train with the library's trainer on a file of words between spaces, with our default settings."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=SIZE,
        min_frequency=2,
        limit_alphabet=ALPHABET,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    tokenizer.train([str(sentences)], trainer)
    return tuple(tokenizer.get_vocab())


def time_training(train: Callable[[], Tokens]) -> tuple[Tokens, float]:
    """Return the tokens and the processor seconds."""
    start = time.process_time()
    return train(), time.process_time() - start


def compute_fraction(tokens: Tokens, reference: Tokens) -> float:
    """Return the fraction of tokens that are in the reference."""
    return len(set(tokens) & set(reference)) / len(tokens)


def count_pieces(tokens: Tokens, counts: Mapping[str, int]) -> float:
    """Return the number of wordpieces per word of a text."""
    vocabulary = WordPieceVocabulary(tokens, frozenset(SPECIAL_TOKENS))
    pieces = sum(count * len(vocabulary.tokenize(word)) for word, count in counts.items())
    return pieces / sum(counts.values())


if __name__ == "__main__":
    sys.exit(run(measure))
