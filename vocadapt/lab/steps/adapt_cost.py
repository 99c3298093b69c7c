"""How long it takes to adapt a model, by a model of the cost: word vectors, embeddings, continued
pretraining.
"""

from collections import Counter
from dataclasses import replace

from vocadapt.lab.inputs.corpora import estimate_text_bytes
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.disk_space import measure_weights
from vocadapt.spaces.word2vec.trainer import Word2VecSettings, estimate_word2vec_seconds
from vocadapt.text.words import WordCounts
from vocadapt.training.estimates import (
    THREADS_OF_SPEED,
    WORDPIECES_PER_WORD,
    estimate_pretraining_cost,
    estimate_pretraining_speed,
)

# Seconds to adapt a model with given word vectors: measured with 14,067 new words for 15 MB of
# weights and 10,474 for 88 MB, with one thread.
ADAPTING = 11.0
ADAPTING_PER_MEGABYTE = 0.14  # of weights
SAMPLE = 1 << 20  # bytes at the beginning of a text whose words are counted for an estimate
BYTES_PER_WORD = 6  # of running text


def estimate_adaptation(spec: Spec, threads: int = THREADS_OF_SPEED) -> float:
    """Estimate the seconds of an adaptation with given word vectors: from the size of the model and,
    if it is trained on a text, from the size of the text.
    """
    recipe = spec.settings.recipe
    model = spec.inputs["model"][0]
    seconds = ADAPTING + ADAPTING_PER_MEGABYTE * measure_weights(model) / 1e6
    if recipe.pretraining.stage and "text" in spec.inputs:
        inputs = spec.open_inputs()
        wordpieces = WORDPIECES_PER_WORD * estimate_text_bytes(inputs.text) / BYTES_PER_WORD
        training = recipe.pretraining.training
        config = inputs.model.config
        speed = estimate_pretraining_speed(config, recipe.pretraining.stage, training)
        speed *= threads / THREADS_OF_SPEED
        seconds += estimate_pretraining_cost(int(wordpieces), training, speed, "").seconds
    return seconds


def estimate_vectors(spec: Spec, settings: Word2VecSettings) -> float:
    """Estimate the seconds of training word vectors on the text of a spec: from the words at its
    beginning, and from its size.
    """
    inputs = spec.open_inputs()
    words = Counter[str]()
    n_bytes = 0
    for passage in inputs.text.passages():
        words.update(passage.text.split())
        n_bytes += len(passage.text.encode())
        if n_bytes >= SAMPLE:
            break
    if not n_bytes:
        return 0.0
    # The whole text has the words of its beginning, as often as it is longer.
    longer = max(1.0, estimate_text_bytes(inputs.text) / n_bytes)
    counts = {word: round(count * longer) for word, count in words.items()}
    settings = replace(settings, dim=settings.dim or inputs.model.dim)
    return estimate_word2vec_seconds(WordCounts(counts, 0, n_bytes), settings)
