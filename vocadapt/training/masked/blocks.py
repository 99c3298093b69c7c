"""Text as blocks of wordpieces for masked-language-model training.

The text is packed once; each pass over it draws a new order and new masked positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import torch

Ids = NDArray[np.int32]
BLOCKS_AT_A_TIME = 4096  # blocks to pack or count
# Of the masked tokens, the fraction replaced by [MASK] and the fraction replaced by a random token;
# the others keep their token (Devlin et al. 2019, section 3.1).
MASKED, RANDOMIZED = 0.8, 0.1


@dataclass(frozen=True, eq=False)
class Blocks:
    """A text as blocks of wordpiece ids between [CLS] and [SEP]; an incomplete last block is
    dropped.

    ids: (blocks, length) int32.
    """

    ids: Ids
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> int:
        """Number of wordpieces in one pass over the text, including special tokens."""
        return int(self.ids.size)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of occurrences of each id, (vocabulary,) int64."""
        counts = np.zeros(len(self.vocabulary), dtype=np.int64)
        # In slices, because the ids may be memory-mapped and larger than memory.
        for first in range(0, len(self), BLOCKS_AT_A_TIME):
            ids = self.ids[first : first + BLOCKS_AT_A_TIME].ravel()
            counts += np.bincount(ids, minlength=len(self.vocabulary))
        return counts

    @cached_property
    def is_maskable(self) -> NDArray[np.bool_]:
        """Whether each id may be masked or replace a masked token: every token that is not
        special, (vocabulary,) bool.
        """
        return ~self.vocabulary.is_special

    def get_extra_inputs(self, row: int) -> "dict[str, torch.Tensor]":
        """Return the additional model inputs of a block; plain blocks have none."""
        return {}

    def mask_block(
        self, row: int, rng: np.random.Generator, probability: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Mask whole words of a block, each with the given probability.

        Returns the input ids and the labels, both (length,) int64; labels of positions that are
        not masked are IGNORE_INDEX.

        1. Number the words: a wordpiece that does not continue a word begins the next one.
        2. Draw the masked words, and mask all their wordpieces except special tokens.
        3. Replace 80 % of the masked wordpieces by [MASK], 10 % by a random token, and keep 10 %.

        Example: [CLS] pain ##s heart [SEP] has the words 0 1 1 2 3. If word 1 is drawn, the labels
        are -100 pain ##s -100 -100. The input may be [CLS] [MASK] ##s heart [SEP], if ##s is one of
        the 10 % that are kept.
        """
        ids = self.ids[row].astype(np.int64)

        # 1. The word of each wordpiece.
        word = np.cumsum(~self.vocabulary.is_continuation[ids]) - 1

        # 2. Masked positions and their labels.
        word_is_masked = rng.random(word[-1] + 1) < probability
        masked = word_is_masked[word] & self.is_maskable[ids]
        labels = np.where(masked, ids, IGNORE_INDEX)

        # 3. Inputs at the masked positions.
        draw = rng.random(len(ids))
        random_tokens = rng.choice(np.flatnonzero(self.is_maskable), len(ids))
        hidden = masked & (draw < MASKED)
        replaced = masked & (draw >= MASKED) & (draw < MASKED + RANDOMIZED)
        ids[hidden] = self.vocabulary.role_ids["mask"]
        ids[replaced] = random_tokens[replaced]
        return ids, labels


class MaskedBlockDataset:
    """Torch dataset of `length` masked blocks: every pass over the text has a new random order and
    new masked positions.

    Item i depends only on the seed and i, so an interrupted training resumes with the same blocks
    and the same masked positions.
    """

    def __init__(self, blocks: Blocks, length: int, probability: float, seed: int) -> None:
        self.blocks, self.length, self.probability, self.seed = blocks, length, probability, seed
        # The last pass and its permutation of the blocks.
        self._order: tuple[int, NDArray[np.int64]] = (-1, np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, "torch.Tensor"]:
        import torch

        epoch, position = divmod(index, len(self.blocks))
        if self._order[0] != epoch:
            order = np.random.default_rng([self.seed, epoch]).permutation(len(self.blocks))
            self._order = (epoch, order)
        rng = np.random.default_rng([self.seed, epoch, position])
        row = int(self._order[1][position])
        ids, labels = self.blocks.mask_block(row, rng, self.probability)
        return {
            "input_ids": torch.from_numpy(ids),
            "labels": torch.from_numpy(labels),
            **self.blocks.get_extra_inputs(row),
        }


def pack_blocks(sentences: Path, vocabulary: Vocabulary, length: int) -> Blocks:
    """Tokenize a file of space-separated words and pack it into blocks of `length` wordpieces.

    The ids are written to a memory-mapped file next to the input, so memory use does not grow with
    the text. Raises InputError if the text does not fill one block.
    """
    body = length - 2
    n_blocks = 0
    lines = tokenize_lines(sentences, vocabulary)
    stream = (vocabulary.ids[token] for tokens in lines for token in tokens)
    file = sentences.with_suffix(".ids")
    # A new file, not a truncated one: a process that still maps the old file keeps its content.
    file.unlink(missing_ok=True)
    with file.open("wb") as out:
        size = BLOCKS_AT_A_TIME * body
        while len(chunk := np.fromiter(islice(stream, size), dtype=np.int32)) >= body:
            ids = np.empty((len(chunk) // body, length), dtype=np.int32)
            ids[:, 0], ids[:, -1] = vocabulary.role_ids["cls"], vocabulary.role_ids["sep"]
            ids[:, 1:-1] = chunk[: len(ids) * body].reshape(-1, body)
            ids.tofile(out)
            n_blocks += len(ids)
    if not n_blocks:
        raise InputError(
            f"Too little text: {len(chunk):,} wordpieces do not fill one block of {length}.",
            "Give more text.",
        )
    return Blocks(np.memmap(file, dtype=np.int32, mode="r", shape=(n_blocks, length)), vocabulary)


def tokenize_lines(sentences: Path, vocabulary: Vocabulary) -> Iterator[list[str]]:
    """Yield the wordpieces of each line of a words file; each distinct word is tokenized once."""
    cache: dict[str, tuple[str, ...]] = {}
    with sentences.open(encoding="utf-8") as file:
        for line in file:
            tokens: list[str] = []
            for word in line.split():
                if word not in cache:
                    cache[word] = vocabulary.tokenize(word)
                tokens += cache[word]
            yield tokens
