"""Time from text to word vectors, against gensim's training alone on prepared words. Target: at most
1.15 times as long.

    python benchmarks/vectors.py [megabytes of text] [dimension] [rounds]

Ours: the text is split and counted (`write_sentences`), then vectors are trained for 5 epochs. gensim:
only `train`, from the existing file of words (corpus_file, its mode for all cores) and vocabulary.
Imports are not timed. The two alternate, and the best round of each counts. On a busy machine compare
the CPU seconds.
"""

import gzip
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gensim.models import Word2Vec

from vocadapt.spaces.word2vec.trainer import (
    Word2VecSettings,
    measure_word2vec,
    train_word2vec,
)
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import write_sentences

TEXT = (
    Path(__file__).resolve().parents[2] / "shared" / "data" / "text" / "biomedical-fulltext.txt.gz"
)
WANTED = 1.15


def sample(megabytes, path):
    with gzip.open(TEXT, "rt", encoding="utf-8") as file, path.open("w", encoding="utf-8") as out:
        size = 0
        for line in file:
            size += out.write(line)
            if size > megabytes * 1e6:
                return


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def bare_gensim(words, counts, settings):
    model = Word2Vec(
        vector_size=settings.dim, workers=settings.threads, epochs=settings.epochs, seed=1
    )
    model.build_vocab_from_freq(dict(counts.counts))
    return timed(
        lambda: model.train(
            corpus_file=str(words), total_words=counts.words, epochs=settings.epochs
        )
    )[1]


def measure(text, words, settings, rounds):
    split, trained, bare = [], [], []
    for _ in range(rounds):
        counts, seconds = timed(
            lambda: write_sentences(open_corpus([text]), Splitter.bert(), words)
        )
        split.append(seconds)
        space, seconds = timed(lambda counts=counts: train_word2vec(words, counts, settings).space)
        trained.append(seconds)
        bare.append(bare_gensim(words, counts, settings))
    return (
        counts,
        space,
        *(tuple(map(min, zip(*times, strict=True))) for times in (split, trained, bare)),
    )


def main(megabytes=12.0, dim=384, rounds=2):
    if not TEXT.is_file():
        print("not run: ../shared does not exist next to this checkout")
        return 0
    settings = Word2VecSettings(dim=int(dim), trainer="gensim", epochs=5)
    with TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        sample(megabytes, text)
        counts, space, split, trained, bare = measure(
            text, Path(folder) / "sentences.txt", settings, int(rounds)
        )
    print(
        f"{counts.words:,} words ({megabytes:.0f} MB), {len(space):,} vectors × {space.dim},"
        f" {settings.threads} threads"
    )
    for name, (wall, cpu) in (
        ("split and count", split),
        ("train", trained),
        ("gensim's training alone", bare),
    ):
        print(f"  {name:24}{wall:7.1f} s {cpu:7.1f} CPU s")
    speed, guess = (
        counts.words * settings.epochs / trained[0] / 1e3,
        measure_word2vec(counts, settings).seconds,
    )
    print(
        f"  {speed:.0f} k words/s; estimated time {guess:.1f} s; load of the machine"
        f" {os.getloadavg()[0]:.1f}"
    )
    ratio, cpu = ((a + b) / c for a, b, c in zip(split, trained, bare, strict=True))
    verdict = "ok" if ratio <= WANTED else "TOO SLOW"
    print(
        f"text → vectors: {ratio:.2f} × the time of gensim's training, {cpu:.2f} × its CPU time"
        f" (target ≤ {WANTED}): {verdict}"
    )
    return int(ratio > WANTED)


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
