"""The two WordPiece trainers compared with that of the tokenizers library, on the same text in the
same process.

    python benchmarks/wordpiece_trainers.py [--text general-wikipedia] [--held-out general-reviews]
    [--size 16000]

Prints one line of JSON per trainer: CPU seconds (target: under three minutes), number of tokens,
fraction of them that the library's trainer finds, too (target: over 95 % for bpe-merges; the library
breaks ties at random, so it is also compared with itself), and wordpieces per word on the text and on
a held-out text.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vocadapt.text.corpus import open_corpus  # noqa: E402
from vocadapt.text.words import Splitter, count_words, write_sentences  # noqa: E402
from vocadapt.vocabulary.families.files.vocab_file import SPECIAL_TOKENS  # noqa: E402
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary  # noqa: E402
from vocadapt.vocabulary.families.wordpiece_training import (  # noqa: E402
    ALPHABET,
    TRAINERS,
    train_wordpiece,
)

TEXTS = ROOT.parent / "shared" / "data" / "text"
UNCASED = Splitter.bert()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", default="general-wikipedia")
    parser.add_argument("--held-out", default="general-reviews")
    parser.add_argument("--size", type=int, default=16_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(corpus(options.text), UNCASED, sentences).counts
        held_out = count_words(corpus(options.held_out), UNCASED).counts
        show(
            text=options.text, running=sum(counts.values()), distinct=len(counts), size=options.size
        )
        theirs, seconds = timed(lambda: library(sentences, options.size))
        again, _ = timed(lambda: library(sentences, options.size))
    show(trainer="tokenizers library", **measured(theirs, seconds, again, counts, held_out))
    for name in TRAINERS:
        ours, seconds = timed(lambda name=name: train_wordpiece(counts, options.size, name))  # type: ignore[misc]
        show(trainer=name, **measured(ours, seconds, theirs, counts, held_out))


def corpus(name: str) -> Any:
    return open_corpus([TEXTS / f"{name}.txt.gz"])


def library(sentences: Path, size: int) -> tuple[str, ...]:
    """Train with the library's trainer on a file of words between spaces, with our default settings."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=2,
        limit_alphabet=ALPHABET,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
    )
    tokenizer.train([str(sentences)], trainer)
    return tuple(tokenizer.get_vocab())


def timed(work: Any) -> tuple[tuple[str, ...], float]:
    start = time.process_time()
    return work(), time.process_time() - start


def measured(
    tokens: tuple[str, ...],
    seconds: float,
    reference: tuple[str, ...],
    counts: Mapping[str, int],
    held_out: Mapping[str, int],
) -> dict[str, Any]:
    return {
        "cpu_seconds": round(seconds, 1),
        "tokens": len(tokens),
        "shared_with_the_library": round(len(set(tokens) & set(reference)) / len(tokens), 4),
        "pieces_per_word": round(fertility(tokens, counts), 4),
        "pieces_per_word_held_out": round(fertility(tokens, held_out), 4),
    }


def fertility(tokens: tuple[str, ...], counts: Mapping[str, int]) -> float:
    vocabulary = WordPieceVocabulary(tokens, frozenset(SPECIAL_TOKENS))
    return sum(count * len(vocabulary.tokenize(word)) for word, count in counts.items()) / sum(
        counts.values()
    )


def show(**line: Any) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
