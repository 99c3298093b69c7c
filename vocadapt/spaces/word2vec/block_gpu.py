"""The training in blocks on a GPU, by torch: the algorithm of `block_kernel` for several blocks at
once.

A GPU is fast only with large arrays, so up to `BLOCKS` blocks are trained in one step: all vectors
are those at the start of the step, except those of predicted words. The changes of a word that
occurs several times in a step are added, so a step has fewer blocks if one word would occur too
often in it. Arrays of a step have the dimensions block b, position in the block t, group g, shared
negative k, and vector d.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.spaces.space import FloatArray, Matrix
from vocadapt.spaces.word2vec.block_plan import BLOCK, LINE_END, Noise, Shape, plan_shape
from vocadapt.spaces.word2vec.settings import TrainingSettings
from vocadapt.system.files import MEGABYTE

if TYPE_CHECKING:
    from torch import Generator, Tensor, device

# Blocks per step: 1,024 tokens. With 4,096 the alignment was worse (docs/large-corpora.md).
BLOCKS = 16
OCCURRENCES = 16.0  # of the most frequent word in a step, at most
ARRAYS = 8  # arrays of a step that have the size of its vectors


@dataclass(frozen=True)
class Tokens:
    """The tokens of a slice after subsampling.

    words: (n,) int64. starts, ends: (n,) int64, first position of the token's line, and the last
    one + 1.
    """

    words: "Tensor"
    starts: "Tensor"
    ends: "Tensor"


@dataclass(frozen=True)
class Step:
    """The random choices of one step.

    positions: (b, t) int64, in the slice. firsts, lasts: (b, t) int64, the window of each position:
    first position, and the last one + 1. contexts: (b, t) float32, number of words in it besides
    the token itself; 0 beyond the end of the slice. negatives: (b, sets, k) int64, words.
    rates: (b, 1) float32, learning rates.
    """

    positions: "Tensor"
    firsts: "Tensor"
    lasts: "Tensor"
    contexts: "Tensor"
    negatives: "Tensor"
    rates: "Tensor"


def select_device() -> "device":
    """Return the GPU that torch uses; raises InputError if there is none."""
    import torch

    device = torch.accelerator.current_accelerator(check_available=True)
    if device is None:
        raise InputError(
            "The trainer 'blocks-gpu' needs a GPU, and torch finds none.",
            "Choose the trainer 'blocks', or install a torch for your GPU.",
            "trainer",
        )
    return device


def check_memory(device: "device", words: int, settings: TrainingSettings) -> None:
    """Check that the vectors and the arrays of a step fit into the free memory of the GPU.

    Raises InputError if they do not.
    """
    import torch

    shape = plan_shape(settings)
    per_block = shape.block + 2 * shape.window + shape.block // shape.group * shape.shared
    if settings.skip_gram:
        per_block += 2 * shape.window * shape.block
    rows = 2 * words + ARRAYS * BLOCKS * per_block
    needed = rows * settings.dim * np.float32().nbytes
    free, _ = torch.accelerator.get_memory_info(device)
    if needed > free:
        raise InputError(
            f"The word vectors need {needed / MEGABYTE:,.0f} MB of the GPU's memory, and"
            f" {free / MEGABYTE:,.0f} MB are free.",
            "Raise min_count, lower dim, or choose the trainer 'blocks'.",
            "trainer",
        )


def plan_blocks_per_step(counts: FloatArray, keep: Matrix) -> int:
    """Return the number of blocks that are trained at once, 1 to BLOCKS.

    counts: (words,) float64. keep: (words,) float32, probabilities of subsampling. Example: of 100
    tokens that are kept, 10 are the most frequent word -> 6.4 per block of 64 -> 2 blocks.
    """
    kept = counts * keep
    per_block = BLOCK * kept.max() / kept.sum()
    return int(np.clip(OCCURRENCES / per_block, 1, BLOCKS))


class GpuTrainer:
    """Input and output vectors on a GPU, trained slice by slice.

    inputs, outputs: (words, d) float32. blocks: blocks per step.
    """

    def __init__(
        self,
        inputs: Matrix,
        outputs: Matrix,
        noise: Noise,
        settings: TrainingSettings,
        device: "device",
        blocks: int,
    ) -> None:
        import torch

        self.device = device
        self.blocks = blocks
        self.host_inputs = inputs
        self.host_outputs = outputs
        self.inputs = torch.tensor(inputs, device=device)
        self.outputs = torch.tensor(outputs, device=device)
        self.keep = torch.tensor(noise.keep, device=device)
        self.chance = torch.tensor(noise.chance, device=device)
        self.alias = torch.tensor(noise.alias, device=device, dtype=torch.int64)
        self.shape = plan_shape(settings)
        self.skip_gram = settings.skip_gram

    def copy_vectors(self) -> None:
        """Copy the vectors from the GPU into the arrays that the trainer was made with."""
        self.host_inputs[:] = self.inputs.cpu().numpy()
        self.host_outputs[:] = self.outputs.cpu().numpy()

    def train(
        self, ids: NDArray[np.int32], rates: tuple[float, float], state: NDArray[np.uint64]
    ) -> None:
        """Train on a slice of word ids.

        rates: learning rates at the start and at the end of the slice. state: (1,) uint64, seeds
        the random generator.
        """
        import torch

        generator = torch.Generator(self.device)
        generator.manual_seed(int(state[0] >> np.uint64(1)))  # torch's seeds are signed
        text = torch.tensor(ids, device=self.device, dtype=torch.int64)
        tokens = subsample(text, self.keep, generator)
        count = len(tokens.words)
        stride = self.blocks * self.shape.block
        with torch.inference_mode():
            for start in range(0, count, stride):
                step = self.draw_step(tokens, start, rates, generator)
                if self.skip_gram:
                    train_skip_gram(self.inputs, self.outputs, tokens, step, self.shape)
                else:
                    train_cbow(self.inputs, self.outputs, tokens, step, self.shape)
        # Progress and cancellation are by slice, so wait for its end.
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)

    def draw_step(
        self, tokens: Tokens, start: int, rates: tuple[float, float], generator: "Generator"
    ) -> Step:
        """Draw windows and negatives for the blocks that begin at position `start`."""
        import torch

        # 1. Positions: whole blocks; those beyond the end of the slice get no context.
        shape, count, device = self.shape, len(tokens.words), self.device
        blocks = min(self.blocks, math.ceil((count - start) / shape.block))
        positions = start + torch.arange(blocks * shape.block, device=device)
        positions = positions.view(blocks, shape.block)
        inside = positions < count
        known = positions.clamp(max=count - 1)

        # 2. Windows: 1 to `window` words on either side, in the token's line.
        radius = torch.randint(
            1, shape.window + 1, positions.shape, generator=generator, device=device
        )
        firsts = torch.maximum(tokens.starts[known], known - radius)
        lasts = torch.minimum(tokens.ends[known], known + radius + 1)
        contexts = (lasts - firsts - 1) * inside

        # 3. Negatives, by Walker's alias method.
        size = (blocks, shape.sets, shape.shared)
        words = torch.randint(len(self.chance), size, generator=generator, device=device)
        uniform = torch.rand(size, generator=generator, device=device)
        negatives = torch.where(uniform < self.chance[words], words, self.alias[words])

        # 4. The learning rate falls evenly over the slice.
        begins = positions[:, :1] / count
        falling = rates[0] + (rates[1] - rates[0]) * begins
        return Step(known, firsts, lasts, contexts.float(), negatives, falling.float())


def subsample(text: "Tensor", keep: "Tensor", generator: "Generator") -> Tokens:
    """Drop frequent words at random, and find the line of each remaining token.

    text: (ids,) int64. keep: (words,) float32, probabilities.
    """
    import torch

    ends_line = text == LINE_END
    lines = ends_line.cumsum(0)
    uniform = torch.rand(len(text), generator=generator, device=text.device)
    kept = ~ends_line & (uniform < keep[text.clamp(min=0)])
    lines = lines[kept]
    return Tokens(
        text[kept], torch.searchsorted(lines, lines), torch.searchsorted(lines, lines, right=True)
    )


def train_cbow(
    inputs: "Tensor", outputs: "Tensor", tokens: Tokens, step: Step, shape: Shape
) -> None:
    """Train CBOW on the blocks of one step: change `inputs` and `outputs` (words, d) in place."""
    import torch

    # 1. Running sums of the input vectors of each block and of one window on both sides.
    own = tokens.words[step.positions]
    left = step.positions[:, :1] - shape.window
    reach = torch.arange(shape.block + 2 * shape.window, device=inputs.device)
    around = tokens.words[(left + reach).clamp(0, len(tokens.words) - 1)]
    sums = torch.nn.functional.pad(inputs[around].cumsum(1), (0, 0, 1, 0))

    # 2. Hidden vectors: the mean of the input vectors in the window, without the token itself.
    firsts = (step.firsts - left).unsqueeze(2).expand(-1, -1, inputs.shape[1])
    lasts = (step.lasts - left).unsqueeze(2).expand(-1, -1, inputs.shape[1])
    hidden = sums.gather(1, lasts) - sums.gather(1, firsts) - inputs[own]
    each = 1 / step.contexts.clamp(min=1).unsqueeze(2)
    if shape.average:
        hidden *= each

    # 3. Negatives.
    weights = step.contexts.clamp(max=1)
    gradient = train_on_negatives(outputs, hidden, weights, own, step, shape)

    # 4. The tokens themselves.
    vectors = outputs[own]
    logits = (hidden * vectors).sum(2)
    changes = (step.rates * weights * (1 - logits.sigmoid())).unsqueeze(2)
    gradient += changes * vectors
    outputs.index_add_(0, own.flatten(), (changes * hidden).flatten(0, 1))

    # 5. A gradient applies to all words of the window: running sums of a difference array. The
    #    token itself does not get its own.
    if not shape.average:
        gradient *= each
    differences = torch.zeros_like(sums)
    differences.scatter_add_(1, firsts, gradient)
    differences.scatter_add_(1, lasts, -gradient)
    spread = differences.cumsum(1)[:, :-1]
    spread[:, shape.window : shape.window + shape.block] -= gradient
    inputs.index_add_(0, around.flatten(), spread.flatten(0, 1))


def train_skip_gram(
    inputs: "Tensor", outputs: "Tensor", tokens: Tokens, step: Step, shape: Shape
) -> None:
    """Train skip-gram on the blocks of one step: change `inputs` and `outputs` (words, d) in
    place.
    """
    import torch

    # 1. Hidden vectors: that of a token is its input vector, and predicts each word in the window.
    own = tokens.words[step.positions]
    hidden = inputs[own]

    # 2. Negatives, which count once for each predicted word. Every word may be one.
    nothing = torch.full_like(own, LINE_END)
    gradient = train_on_negatives(outputs, hidden, step.contexts, nothing, step, shape)

    # 3. The words in the window, one distance from the token at a time.
    for distance in (*range(-shape.window, 0), *range(1, shape.window + 1)):
        places = step.positions + distance
        predicted = (places >= step.firsts) & (places < step.lasts) & (step.contexts > 0)
        words = tokens.words[places.clamp(0, len(tokens.words) - 1)]
        vectors = outputs[words]
        logits = (hidden * vectors).sum(2)
        changes = (step.rates * predicted * (1 - logits.sigmoid())).unsqueeze(2)
        gradient += changes * vectors
        outputs.index_add_(0, words.flatten(), (changes * hidden).flatten(0, 1))

    # 4. Input vectors.
    inputs.index_add_(0, own.flatten(), gradient.flatten(0, 1))


def train_on_negatives(
    outputs: "Tensor",
    hidden: "Tensor",
    weights: "Tensor",
    excluded: "Tensor",
    step: Step,
    shape: Shape,
) -> "Tensor":
    """Return the gradient of the negatives, (b, t, d), and update their output vectors.

    hidden: (b, t, d). weights: (b, t), number of word pairs. excluded: (b, t), the word that must
    not be a negative there.
    """
    import torch

    # 1. The negatives of each group of tokens: group g takes set g modulo `sets`.
    groups = shape.block // shape.group
    sets = torch.arange(groups, device=hidden.device) % shape.sets
    words = step.negatives[:, sets]  # (b, g, k)
    vectors = outputs[words]  # (b, g, k, d)

    # 2. Changes of the scores, (b, g, tokens of the group, k).
    grouped = hidden.view(len(hidden), groups, shape.group, -1)
    scores = (grouped @ vectors.transpose(2, 3)).sigmoid()
    factors = step.rates * weights * -(shape.negative / shape.shared)
    scores *= factors.view(len(hidden), groups, shape.group, 1)
    scores *= excluded.view(len(hidden), groups, shape.group, 1) != words.unsqueeze(2)

    # 3. Gradients of the hidden vectors, and changes of the negatives.
    changes = scores.transpose(2, 3) @ grouped
    outputs.index_add_(0, words.flatten(), changes.flatten(0, 2))
    return (scores @ vectors).view_as(hidden)
