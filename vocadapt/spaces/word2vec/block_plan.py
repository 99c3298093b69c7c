"""The plan of a training in blocks: sizes, probabilities of words, and random states."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vocadapt.spaces.space import FloatArray, Matrix
from vocadapt.spaces.word2vec.settings import TrainingSettings, compute_keep_probabilities

BLOCK = 64  # tokens: their vectors and sums fit into the second-level cache
GROUP = 4  # tokens that share negatives: the rows of the kernel's products (TILE)
NOISE_EXPONENT = 0.75  # of the counts, for the distribution of negatives
LINE_END = -1  # in a text of word ids


class Noise(NamedTuple):
    """The probabilities of keeping words, and Walker's alias tables to draw negatives.

    keep: (words,) float32. chance: (words,) float32, alias: (words,) int32: for a uniform word i,
    the negative is i with probability chance[i], and alias[i] otherwise.
    """

    keep: Matrix
    chance: Matrix
    alias: NDArray[np.int32]


class Shape(NamedTuple):
    """Sizes of a training.

    window, negative: context words on either side, and negatives per word. block: tokens between
    two updates of the input vectors, a multiple of `group`. group: number of tokens that share
    negatives. shared: number of these negatives. Both are multiples of TILE.
    sets: sets of negatives per block; group g takes set g modulo `sets`. average: CBOW averages
    context vectors instead of adding them.
    """

    window: int
    negative: int
    block: int
    group: int
    shared: int
    sets: int
    average: bool


@dataclass(frozen=True)
class SharedNegatives:
    """Numbers of shared negatives.

    ratio: shared negatives of a group for each negative of word2vec. sets: sets of them per block.
    """

    ratio: float
    sets: int


# In CBOW, a context word is trained with the negatives of all groups in whose windows it occurs; in
# skip-gram, only with those of its own group. On 8 MB of biomedicine (5 epochs, 3 seeds), P@5 of CBOW
# is .197 with 4 sets of 12 negatives, .191 with 6 sets of 8, and .195 by gensim.
CBOW = SharedNegatives(2.4, 4)
SKIP_GRAM = SharedNegatives(6.4, 2)


def count_shared_negatives(settings: TrainingSettings) -> int:
    """Return the number of negatives that a group of tokens shares: usually 12, 32 in skip-gram."""
    sharing = SKIP_GRAM if settings.skip_gram else CBOW
    return GROUP * math.ceil(settings.negative * sharing.ratio / GROUP)


def plan_shape(settings: TrainingSettings) -> Shape:
    """Return the sizes of a training for the trainers of blocks."""
    return Shape(
        window=settings.window,
        negative=settings.negative,
        block=BLOCK,
        group=GROUP,
        shared=count_shared_negatives(settings),
        sets=SKIP_GRAM.sets if settings.skip_gram else CBOW.sets,
        average=not settings.cbow_sum,
    )


def compute_noise(counts: FloatArray, sample: float) -> Noise:
    """Compute the probabilities of keeping words and the tables of negatives, from word counts.

    counts: (words,) float64. Negatives are drawn in proportion to count^0.75, by the tables of
    Walker 1977:

    1. Divide the probability 1 into one equal slot per word, which the word fills up to its own
       probability.
    2. Fill the rest of the slot of a word with less than one slot by a word with more than one.

    Example: probabilities [.75 .25] and slots of .5 -> relative sizes [1.5 .5] -> the rest of
    slot 1 goes to word 0: chances [1 .5], aliases [0 0].
    """
    # 1. Size of each word in slots.
    sizes = counts**NOISE_EXPONENT
    sizes = (sizes / sizes.sum() * len(counts)).tolist()
    chance = [1.0] * len(sizes)
    alias = list(range(len(sizes)))
    small = [word for word, size in enumerate(sizes) if size < 1]
    large = [word for word, size in enumerate(sizes) if size >= 1]

    # 2. Fill the slots.
    while small and large:
        word = small.pop()
        donor = large.pop()
        chance[word], alias[word] = sizes[word], donor
        sizes[donor] -= 1 - sizes[word]
        if sizes[donor] < 1:
            small.append(donor)
        else:
            large.append(donor)
    keep = compute_keep_probabilities(counts, sample).astype(np.float32)
    return Noise(keep, np.array(chance, np.float32), np.array(alias, np.int32))


def derive_state(seed: int, number: int) -> NDArray[np.uint64]:
    """Return the state of the random generator for a slice, (1,) uint64, mixed by splitmix64."""
    bits = np.array([seed], np.uint64) << np.uint64(32) | np.uint64(number)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ bits >> np.uint64(shift)) * np.uint64(factor)
    # The generator stays at 0 if its state is 0.
    return np.asarray((bits ^ bits >> np.uint64(31)) | np.uint64(1))
