"""Word vectors of a domain: trained on words of a text, as a model's splitter makes them."""

from dataclasses import replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import temporary_folder
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.resampling import train_resampled
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, train_word2vec
from vocadapt.text.corpus import Corpus
from vocadapt.text.words import write_sentences

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
    training = replace(settings, dim=settings.dim or _read_width(model))
    read = 1 / (1 + COUNTING_EPOCHS * settings.epochs)  # fraction of the time
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(corpus, model.splitter, sentences, part(progress, 0.0, read))
        report = part(progress, read, 1.0)
        if resample:
            return train_resampled(sentences, counts, training, resample, report)
        return train_word2vec(sentences, counts, training, report)


def _read_width(model: LanguageModel) -> int:
    """Return the width of a model's embeddings; raises InputError for a vocab.txt, which has none."""
    if model.path.is_file():
        raise InputError(
            f"{model.path} is a bare vocabulary: it has no width that the word vectors could have.",
            "Set the dimension of the vectors, such as 300. Or give the model itself.",
            "dim",
        )
    return model.dim
