"""Word vectors (word2vec) trained on a text: of its words, as a model's splitter makes them, and of
the tokens of a vocabulary that tokenizes it (a target space for a vocabulary without embeddings).
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import temporary_folder
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_resampled, train_word2vec
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, write_sentences
from vocadapt.training.masked.blocks import tokenize_lines
from vocadapt.training.masked.training_text import TrainingText, write_training_text
from vocadapt.vocabulary.families import Vocabulary

COUNTING_EPOCHS = 0.8  # cost of reading and counting a text, in epochs of training on it


def train_domain_vectors(
    corpus: Corpus,
    model: LanguageModel,
    settings: Word2VecSettings,
    progress: Progress = silent,
    resample: int = 0,
) -> EmbeddingSpace:
    """Train word vectors on a text; they are as wide as the model's embeddings unless the settings
    say otherwise.

    resample: seed of a bootstrap resample of the lines to train on; 0 for the text as it is.
    Raises InputError if neither the settings nor the model have a width.
    """
    if not settings.dim and model.path.is_file():
        raise InputError(
            f"{model.path} is a bare vocabulary: it has no width that the word vectors could have.",
            "Set the dimension of the vectors, such as 300. Or give the model itself.",
            "dim",
        )
    training = replace(settings, dim=settings.dim or model.dim)
    read = 1 / (1 + COUNTING_EPOCHS * settings.epochs)  # fraction of the time
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(corpus, model.splitter, sentences, part(progress, 0.0, read))
        report = part(progress, read, 1.0)
        if resample:
            return train_resampled(sentences, counts, training, resample, report)
        return train_word2vec(sentences, counts, training, report)


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
