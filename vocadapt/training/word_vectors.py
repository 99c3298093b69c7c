"""Training of word vectors on a text.

The vectors are those of its words, as split by a model, or those of the tokens of a vocabulary. The
latter are a target space for a vocabulary without embeddings.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.counted_trainer import PairCounter
from vocadapt.spaces.word2vec.trainer import (
    TrainedVectors,
    Word2VecSettings,
    choose_training,
    estimate_memory,
    train_resampled,
    train_word2vec,
)
from vocadapt.system.files import temporary_folder
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts, write_sentences
from vocadapt.training.training_text import TrainingText, tokenize_lines, write_training_text
from vocadapt.vocabulary.families import Vocabulary

WORDS_COUNTED = 0.2  # fraction of the progress until the words are counted


def train_domain_vectors(
    corpus: Corpus,
    model: LanguageModel,
    settings: Word2VecSettings,
    progress: Progress = silent,
    resample: int = 0,
    checkpoint: Path | None = None,
    pair_counter: PairCounter | None = None,
) -> TrainedVectors:
    """Train word vectors on a text; their default dimension is that of the model's embeddings.

    resample: seed of a bootstrap resample of the lines; 0 for none. checkpoint: folder from which
    an interrupted training resumes. pair_counter: counts the pairs of this corpus elsewhere.
    Raises InputError if no dimension is defined, or if only one word is frequent enough.
    """
    if not settings.dim and model.path.is_file():
        raise InputError(
            f"{model.path} has no embeddings that define the dimension of the word vectors.",
            "Set the dimension, such as 300, or give the model instead.",
            "dim",
        )
    training = replace(settings, dim=settings.dim or model.dim)
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        report = part(progress, 0.0, WORDS_COUNTED)
        counts = write_sentences(corpus, model.splitter, sentences, report)
        frequent = [word for word, n in counts.counts.items() if n >= settings.min_count]
        if len(frequent) == 1:
            raise InputError(
                f"Word vectors need several words: only {frequent[0]!r} occurs"
                f" {settings.min_count} times or more.",
                "Give a text with more different words, or lower min_count.",
                code="one-word",
            )
        report = part(progress, WORDS_COUNTED, 1.0)
        training = choose_training(counts, training).settings
        report(0.0, f"trainer {training.trainer}, {estimate_memory(counts, training)}")
        if resample:
            return train_resampled(sentences, counts, training, resample, report, checkpoint)
        return train_word2vec(sentences, counts, training, report, checkpoint, pair_counter)


def train_token_vectors(
    corpus: Corpus,
    splitter: Splitter,
    vocabulary: Vocabulary,
    settings: Word2VecSettings,
    progress: Progress = silent,
) -> tuple[EmbeddingSpace, tuple[str, ...]]:
    """Train vectors of a vocabulary's tokens on a text; returns the space and the held-out lines.

    Tokens that occur less than `settings.min_count` times get no vector. Raises InputError if the
    text is too short.
    """
    with temporary_folder() as folder:
        text = write_training_text(
            corpus, splitter, Path(folder), settings.seed, part(progress, 0.0, 0.2)
        )
        space = train_on_prepared_text(
            text, vocabulary, settings, Path(folder) / "tokens.txt", part(progress, 0.2, 1.0)
        )
    return replace(space, name="vectors of the target's tokens"), text.held_out


def train_on_prepared_text(
    text: TrainingText,
    vocabulary: Vocabulary,
    settings: Word2VecSettings,
    file: Path,
    progress: Progress = silent,
) -> EmbeddingSpace:
    """Train vectors of a vocabulary's tokens on a prepared text; special tokens get none.

    The tokenized text is written to `file` and deleted afterwards.
    """
    counts = Counter[str]()
    with file.open("w", encoding="utf-8") as out:
        for tokens in tokenize_lines(text.sentences, vocabulary):
            counts.update(tokens)
            out.write(f"{' '.join(tokens)}\n")
    regular = {
        token: count for token, count in counts.most_common() if token not in vocabulary.special
    }
    try:
        return train_word2vec(
            file, WordCounts(regular, text.lines, file.stat().st_size), settings, progress
        ).space
    finally:
        file.unlink()
