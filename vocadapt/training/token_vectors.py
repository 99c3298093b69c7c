"""Word vectors of tokens: a target space for a vocabulary without embeddings, trained on a text
that it tokenizes.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from vocadapt.files import temporary_folder
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.training.masked.blocks import tokenize_lines
from vocadapt.training.masked.training_text import TrainingText, write_training_text
from vocadapt.vocabulary.families import Vocabulary


def train_token_vectors(
    corpus: Corpus,
    splitter: Splitter,
    vocabulary: Vocabulary,
    settings: Word2VecSettings,
    progress: Progress = silent,
) -> tuple[EmbeddingSpace, tuple[str, ...]]:
    """Train vectors of a vocabulary's tokens on a text; returns the space and the held-out lines.

    A token that occurs less than `settings.min_count` times gets no vector. Raises InputError for
    too little text.
    """
    with temporary_folder() as folder:
        material = write_training_text(
            corpus, splitter, Path(folder), settings.seed, part(progress, 0.0, 0.2)
        )
        space = train_on_prepared_text(
            material, vocabulary, settings, Path(folder) / "tokens.txt", part(progress, 0.2, 1.0)
        )
    return replace(space, name="word2vec over the target's tokens"), material.held_out


def train_on_prepared_text(
    material: TrainingText,
    vocabulary: Vocabulary,
    settings: Word2VecSettings,
    file: Path,
    progress: Progress = silent,
) -> EmbeddingSpace:
    """Train vectors of a vocabulary's tokens on a prepared text; special tokens get none. The
    tokenized text is written to `file` and deleted afterwards.
    """
    counts = Counter[str]()
    with file.open("w", encoding="utf-8") as out:
        for pieces in tokenize_lines(material.sentences, vocabulary):
            counts.update(pieces)
            out.write(f"{' '.join(pieces)}\n")
    known = {
        token: count for token, count in counts.most_common() if token not in vocabulary.special
    }
    try:
        return train_word2vec(
            file, WordCounts(known, material.lines, file.stat().st_size), settings, progress
        )
    finally:
        file.unlink()
