"""Settings of the training of word vectors that all trainers have."""

from dataclasses import dataclass

import numpy as np

from vocadapt.settings import ABOVE_ZERO, MAX_SEED, CheckedSettings, setting
from vocadapt.spaces.space import FloatArray
from vocadapt.system.cores import count_cores


@dataclass(frozen=True)
class TrainingSettings(CheckedSettings):
    """Settings of the training of word vectors; except for the epochs, the defaults are word2vec's
    own, CBOW with negative sampling (Mikolov et al. 2013).

    With one thread, training is bit-reproducible.
    """

    dim: int = setting(
        0,
        "dimension of the vectors",
        high=20_000,
        label="Dimension",
        empty="the model's own",
    )
    window: int = setting(5, "context words on either side", low=1, high=1_000)
    min_count: int = setting(
        5, "minimum number of occurrences: rarer words get no vector", low=1, label="Min count"
    )
    negative: int = setting(
        5, "negative samples for each word", low=1, high=1_000, label="Negative samples"
    )
    skip_gram: bool = setting(
        False, "train skip-gram instead of CBOW", label="Skip-gram instead of CBOW"
    )
    alpha: float = setting(
        0.025, "initial learning rate", low=ABOVE_ZERO, high=1, label="Learning rate"
    )
    epochs: int = setting(
        0, "passes over the text", high=100_000, words={"auto": 0}, empty="fitted to the text"
    )
    sample: float = setting(
        1e-3,
        "threshold above which frequent words are downsampled",
        high=1,
        flag="--subsample",
        label="Subsampling threshold",
    )
    seed: int = setting(1, "random seed of the training", high=MAX_SEED)
    workers: int = setting(
        0, "threads; 1: bit-reproducible", high=256, label="Threads", empty="all cores"
    )
    cbow_sum: bool = setting(
        False,
        "in CBOW, sum the context vectors instead of averaging them",
        label="Sum instead of mean",
    )

    @property
    def threads(self) -> int:
        """Number of threads: `workers`, or one for each core that this process may use."""
        return self.workers or count_cores()


def compute_keep_probabilities(counts: FloatArray, sample: float) -> FloatArray:
    """Return the probability that subsampling keeps a word, (words,) float64, from word counts.

    counts: (words,). A word of frequency f is kept with the probability (√(f/sample) + 1) ·
    sample/f, at most 1, as in word2vec; all are kept if `sample` is 0.
    """
    if not sample:
        return np.ones(len(counts))
    ratio = counts / (sample * counts.sum())
    return np.asarray(np.minimum(1, (np.sqrt(ratio) + 1) / ratio))
