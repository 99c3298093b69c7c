"""The step that trains word vectors on a text."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from vocadapt.errors import InputError
from vocadapt.lab.cluster.ray_counts import count_pairs_on_ray
from vocadapt.lab.inputs.corpora import read_or_sample_counts
from vocadapt.lab.steps.step import (
    MODEL,
    TEXT,
    PlannedStep,
    SpaceNumbers,
    Spec,
    Step,
    StepContext,
    TextStep,
    summarize_space,
)
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.settings import MAX_SEED, setting
from vocadapt.spaces.io.storage import save_space
from vocadapt.spaces.word2vec.trainer import AUTO, COUNTED, Word2VecSettings, measure_word2vec
from vocadapt.system.forecasts import Work
from vocadapt.training.word_vectors import train_domain_vectors
from vocadapt.vocabulary.plan.planning import split_addable_words

HERE = "local"  # where pairs of words are counted: on this machine
FLOAT = 4  # bytes
WIDTH = 768  # dimension of vectors trained for a model
BYTES_PER_WORD = 6  # of running text
HEAPS = 30.0  # Heaps' law: distinct words ≈ HEAPS · √words


@dataclass(frozen=True)
class VectorsStep(TextStep):
    """Which lines are read, and how the vectors are trained."""

    word2vec: Word2VecSettings = field(default_factory=Word2VecSettings)
    resample: int = setting(
        0,
        "train on a bootstrap resample of the lines, drawn with this seed",
        high=MAX_SEED,
        label="Resampling seed",
        empty="the text itself",
    )
    on: str = setting(
        HERE,
        "where counted vectors count the pairs of words: local, ray or ray://HOST:PORT",
        flag="--on",
    )


@dataclass(frozen=True, kw_only=True)
class VectorsNumbers(SpaceNumbers):
    """Figures of trained word vectors; `new_words`: words that can be added to the model;
    `left_out`: others that the model lacks, by the reason why its tokenizer cannot produce them;
    `beyond_memory`: words without a vector because of the memory it would need; `trainer`,
    `epochs`: those that were used.
    """

    new_words: int
    left_out: Mapping[str, int]
    workers: int
    training_seconds: float
    trainer: str
    epochs: int
    beyond_memory: int


def train_vectors(context: StepContext, settings: VectorsStep) -> VectorsNumbers:
    """Train word vectors on a text, with a model's words and dimension."""
    # 1. Pairs of words may be counted on a cluster.
    word2vec = settings.word2vec
    pair_counter = None
    if settings.on != HERE:
        word2vec = check_cluster_settings(settings)
        pair_counter = partial(
            count_pairs_on_ray, context.inputs.text, context.inputs.model.splitter, settings.on
        )

    # 2. Train, and record what was chosen.
    trained = train_domain_vectors(
        context.inputs.text,
        context.inputs.model,
        word2vec,
        context.progress,
        settings.resample,
        context.checkpoint,
        pair_counter,
    )
    space = trained.space
    used = trained.settings
    chosen = replace(settings.word2vec, trainer=used.trainer, epochs=used.epochs)
    context.used.append(replace(settings, word2vec=chosen))
    save_space(space, context.draft)
    model = context.inputs.model
    addable, left_out = split_addable_words(model.vocabulary, model.splitter, space.words)
    return VectorsNumbers(
        **vars(summarize_space(space)),
        new_words=len(addable),
        left_out={reason: len(words) for reason, words in left_out.items()},
        workers=settings.word2vec.threads,
        training_seconds=trained.training_seconds,
        trainer=used.trainer,
        epochs=used.epochs,
        beyond_memory=trained.beyond_memory,
    )


def check_cluster_settings(settings: VectorsStep) -> Word2VecSettings:
    """Return settings whose pairs can be counted on a cluster; raises InputError if theirs cannot."""
    if settings.resample:
        raise InputError(
            "A resample of the text is drawn on this machine, not on a cluster.",
            "Give only one of them.",
            code="not-on-a-cluster",
        )
    word2vec = settings.word2vec
    if word2vec.trainer == AUTO:
        word2vec = replace(word2vec, trainer=COUNTED)
    if word2vec.trainer != COUNTED:
        raise InputError(
            "Only counted vectors are computed on a cluster, and the trainer is"
            f" {word2vec.trainer}.",
            "Set the trainer to counts, or train on this machine.",
            "trainer",
            code="not-on-a-cluster",
        )
    return word2vec


def measure_vector_training(planned: PlannedStep, settings: Word2VecSettings) -> Work:
    """Return the work of training word vectors on the text of a step."""
    model = planned.inputs.model
    counts = read_or_sample_counts(planned.root, planned.inputs.text, model.splitter)
    return measure_word2vec(counts, replace(settings, dim=settings.dim or model.dim))


def measure_vectors(spec: Spec) -> int:
    """Return the bytes of the vectors of as many words as a text of this size has."""
    words = measure_files(spec.inputs["text"]) / BYTES_PER_WORD
    return int(HEAPS * math.sqrt(words)) * (spec.settings.word2vec.dim or WIDTH) * FLOAT


STEP = Step(
    "vectors",
    "Train word vectors",
    VectorsStep,
    train_vectors,
    makes="vectors",
    needs=(replace(TEXT, flag=""), replace(MODEL, bare=True)),
    libraries=("numpy", "tokenizers", "gensim", "numba", "safetensors"),
    writes=measure_vectors,
    command=("vectors", "train"),
    start_up=3.0,
    work=lambda planned: measure_vector_training(planned, planned.spec.settings.word2vec),
    seed="word2vec.seed",
    resumes=True,
)
