"""Exact-word tokenizers with 20 000 and 400 000 added words: throughput compared with the original
tokenizer, and loading time with AutoTokenizer.

    python benchmarks/tokenizer.py [--megabytes 4]

Needs ../shared/data (text and vocabulary). Throughput is that of the fast tokenizer's encode_batch,
which transformers calls, on whole lines: the median of five ratios, measured in alternation. Target:
at least .9 × the original; loading in at most 2 s and 25 s.
"""

import argparse
import gzip
import itertools
import statistics
import tempfile
import time
from pathlib import Path

from vocadapt.vocabulary.families import FAMILIES, vocabulary_of
from vocadapt.vocabulary.families.files.vocab_file import read_tokens
from vocadapt.vocabulary.families.wordpiece import build_tokenizer

WORDPIECE = FAMILIES["wordpiece"]

SHARED = Path(__file__).resolve().parents[2] / "shared/data"


def lines(megabytes: float) -> list[str]:
    with gzip.open(SHARED / "text/biomedical-fulltext.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read(int(megabytes * 1e6))
    return text.splitlines()


def new_words(text: list[str], known: set[str], n: int) -> list[str]:
    """Return n words without a token: those of the text, then concatenations of known words."""
    real = dict.fromkeys(
        word
        for line in text
        for word in line.lower().split()
        if word.isascii() and word.isalpha() and word not in known
    )
    stems = [word for word in known if word.isascii() and word.isalpha() and len(word) > 3]
    made = (f"{first}{last}" for first, last in itertools.product(stems, stems[:40]))
    return list(
        itertools.islice(
            dict.fromkeys(itertools.chain(real, (word for word in made if word not in known))), n
        )
    )


def seconds(tokenizer: object, text: list[str]) -> float:
    start = time.perf_counter()
    tokenizer.encode_batch(text)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=4)
    text = lines(parser.parse_args().megabytes)
    from transformers import AutoTokenizer, BertTokenizer

    original = build_tokenizer(read_tokens(SHARED / "vocab/bert-base-uncased.txt"))
    known = set(vocabulary_of(original).tokens)
    for n in (20_000, 400_000):
        words = new_words(text, known, n)
        start = time.perf_counter()
        changed = WORDPIECE.add_exact_words(original, words)
        built = time.perf_counter() - start
        seconds(original, text[:200]), seconds(changed, text[:200])
        ratio = statistics.median(
            seconds(original, text) / seconds(changed, text) for _ in range(5)
        )
        with tempfile.TemporaryDirectory() as folder:
            BertTokenizer(vocab=dict(original.get_vocab())).save_pretrained(folder)
            changed.save(f"{folder}/tokenizer.json")
            start = time.perf_counter()
            loaded = AutoTokenizer.from_pretrained(folder)
            load = time.perf_counter() - start
            assert loaded.tokenize(words[0]) == [words[0]]
        print(
            f"{len(words):>7} words: throughput {ratio:.3f} × the original, "
            f"built in {built:.1f} s, AutoTokenizer loads in {load:.1f} s"
        )


if __name__ == "__main__":
    main()
