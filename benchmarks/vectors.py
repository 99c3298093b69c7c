"""Seconds from text to word vectors by the trainer gensim, against gensim's training alone on prepared
words.

Ours: the text is split and counted, then vectors are trained for 5 epochs. The baseline is only
`train`, from the existing file of words (corpus_file, its mode for all cores) and vocabulary. Imports
are not timed.
"""

import gzip
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from gensim.models import Word2Vec

from benchmarks._figures import SHARED, Figure, run, time_in_turn
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import open_corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, write_sentences

TEXT = SHARED / "text" / "biomedical-fulltext.txt.gz"
SETTINGS = Word2VecSettings(dim=384, trainer="gensim", epochs=5)


def sample(megabytes: float, path: Path) -> None:
    """Write the beginning of the text, up to the end of a line."""
    with gzip.open(TEXT, "rt", encoding="utf-8") as file, path.open("w", encoding="utf-8") as out:
        size = 0
        for line in file:
            size += out.write(line)
            if size > megabytes * 1e6:
                return


def measure(full: bool) -> Iterator[Figure]:
    """Train on 4 MB, with --full on 30 MB."""
    megabytes = 30 if full else 4
    with TemporaryDirectory() as folder:
        text, words = Path(folder) / "text.txt", Path(folder) / "sentences.txt"
        sample(megabytes, text)
        counts = write_sentences(open_corpus([text]), Splitter.bert(), words)
        works = {
            "ours": partial(train_on_text, text, words),
            "gensim": partial(train_bare, words, counts),
        }
        seconds = time_in_turn(works, 3)
    yield Figure(
        f"{megabytes} MB, {SETTINGS.dim} dimensions, {SETTINGS.threads} threads",
        seconds["ours"],
        baseline=seconds["gensim"],
        against="gensim's training alone",
        target=1.15,
    )


def train_on_text(text: Path, words: Path) -> None:
    """Train word vectors on a text."""
    counts = write_sentences(open_corpus([text]), Splitter.bert(), words)
    train_word2vec(words, counts, SETTINGS)


def train_bare(words: Path, counts: WordCounts) -> None:
    """Train with gensim on words that are counted already."""
    model = Word2Vec(
        vector_size=SETTINGS.dim, workers=SETTINGS.threads, epochs=SETTINGS.epochs, seed=1
    )
    model.build_vocab_from_freq(dict(counts.counts))
    model.train(corpus_file=str(words), total_words=counts.words, epochs=SETTINGS.epochs)


if __name__ == "__main__":
    sys.exit(run(measure))
