"""Word vectors of bootstrap resamples of a text, to measure how much they depend on its lines.

The bootstrap of Antoniak and Mimno (2018, Evaluating the stability of embedding-based word
similarities) samples as many lines as the text has, with replacement. A sample lacks about 37 % of
the lines and contains others several times.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.words import WordCounts


def train_resampled(
    sentences: Path,
    counts: WordCounts,
    settings: Word2VecSettings,
    seed: int,
    progress: Progress = silent,
) -> EmbeddingSpace:
    """Train word vectors on a bootstrap resample of the lines of a words file.

    The vocabulary is the words that occur `settings.min_count` times in the whole text and at least
    once in the sample. The sample is a temporary file in the folder of `sentences`. Raises
    InputError for too little text.
    """
    sample = sentences.with_name(f"resampled-{seed}.txt")
    try:
        drawn = resample(sentences, sample, seed)
        frequent = [word for word, n in counts.counts.items() if n >= settings.min_count]
        kept = {word: drawn[word] for word in frequent if drawn[word]}
        if not kept:
            raise InputError(
                f"No word of the text occurs {settings.min_count} times.",
                "Give more text, or lower the minimum count.",
            )
        sample_counts = WordCounts(kept, counts.lines, counts.bytes)
        return train_word2vec(sample, sample_counts, replace(settings, min_count=1), progress)
    finally:
        sample.unlink(missing_ok=True)


def resample(sentences: Path, sample: Path, seed: int) -> Counter[str]:
    """Write a bootstrap resample of a words file, in the original order; return its word counts.

    Example: of 3 lines, 3 random line numbers [2 0 2] -> times [1 0 2] -> lines 0 2 2.
    """
    with sentences.open("rb") as file:
        lines = sum(1 for _ in file)
    drawn = np.random.default_rng(seed).integers(0, max(lines, 1), lines)
    times = np.bincount(drawn, minlength=lines).tolist()
    words = Counter[str]()
    with sentences.open("rb") as file, sample.open("wb") as out:
        for line, count in zip(file, times, strict=True):
            if not count:
                continue
            out.write(line * count)
            for word in line.decode().rstrip("\n").split(" "):
                words[word] += count
    return words
