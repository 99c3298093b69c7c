"""Text as blocks of tokens for masked-language-model training.

The text is packed once; each pass over it draws a new order and new masked positions. Whole words
are masked. A word is a pre-token. Its start is packed with its tokens, because tokens alone do not
show it: in byte-level BPE, a token without Ġ may begin a pre-token, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.training.labels import IGNORE_INDEX
from vocadapt.training.training_text import read_pretoken_lines
from vocadapt.vocabulary.families import Vocabulary

if TYPE_CHECKING:
    import torch

Ids = NDArray[np.int32]
Starts = NDArray[np.bool_]
BLOCKS_AT_A_TIME = 4096  # blocks to pack or count
# Of the masked tokens, the fraction replaced by the mask token and the fraction replaced by a
# random token; the others keep their token (Devlin et al. 2019, section 3.1).
MASKED, RANDOMIZED = 0.8, 0.1


@dataclass(frozen=True, eq=False)
class Blocks:
    """A text as blocks of token ids between two special tokens; an incomplete last block is
    dropped.

    ids: (blocks, length) int32. starts: (blocks, length) bool, whether each token begins a word;
    None if all tokens except continuations begin one, as in WordPiece.
    """

    ids: Ids
    vocabulary: Vocabulary
    starts: Starts | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> int:
        """Number of tokens in one pass over the text, including special tokens."""
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

        1. Number the words.
        2. Draw the masked words, and mask all their tokens except special tokens.
        3. Replace 80 % of the masked tokens by the mask token, 10 % by a random token, and keep
           10 %.

        Example: [CLS] pain ##s heart [SEP] has the words 0 1 1 2 3. If word 1 is drawn, the labels
        are -100 pain ##s -100 -100. The input may be [CLS] [MASK] ##s heart [SEP], if ##s is one of
        the 10 % that are kept.
        """
        ids = self.ids[row].astype(np.int64)

        # 1. The word of each token.
        starts = ~self.vocabulary.is_continuation[ids]
        if self.starts is not None:
            starts = self.starts[row]
        word = np.cumsum(starts) - 1

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
        self.blocks = blocks
        self.length = length
        self.probability = probability
        self.seed = seed
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
    """Tokenize a file of space-separated pre-tokens and pack it into blocks of `length` tokens.

    The ids are written to a memory-mapped file next to the input, and the starts of words to
    another, so memory use does not grow with the text. Raises InputError if the text does not fill
    one block.
    """
    body = length - 2
    n_blocks = 0
    stream = iterate_marked_ids(sentences, vocabulary)
    cls = vocabulary.role_ids["cls"]
    sep = vocabulary.role_ids["sep"]
    files = sentences.with_suffix(".ids"), sentences.with_suffix(".starts")
    # New files, not truncated ones: a process that still maps an old file keeps its content.
    for file in files:
        file.unlink(missing_ok=True)
    with files[0].open("wb") as out_ids, files[1].open("wb") as out_starts:
        size = BLOCKS_AT_A_TIME * body
        while len(chunk := np.fromiter(islice(stream, size), dtype=np.int64)) >= body:
            marked = np.empty((len(chunk) // body, length), dtype=np.int64)
            marked[:, 0], marked[:, -1] = mark_start(cls), mark_start(sep)
            marked[:, 1:-1] = chunk[: len(marked) * body].reshape(-1, body)
            ids, starts = split_marks(marked)
            ids.tofile(out_ids)
            starts.tofile(out_starts)
            n_blocks += len(ids)
    if not n_blocks:
        raise InputError(
            f"Too little text: {len(chunk):,} tokens do not fill one block of {length}.",
            "Give more text.",
            code="little-text",
        )
    shape = n_blocks, length
    mapped_ids = np.memmap(files[0], dtype=np.int32, mode="r", shape=shape)
    mapped_starts = np.memmap(files[1], dtype=np.bool_, mode="r", shape=shape)
    return Blocks(mapped_ids, vocabulary, starts=mapped_starts)


def mark_start(i: int) -> int:
    """Return the marked id of a token that begins a word, 2 · id + 1; that of others is 2 · id."""
    return 2 * i + 1


def split_marks(marked: NDArray[np.int64]) -> tuple[Ids, Starts]:
    """Split marked ids into ids, int32, and whether each token begins a word, bool; same shapes."""
    return (marked >> 1).astype(np.int32), (marked & 1).astype(np.bool_)


def mark_ids(pretoken: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """Return the marked ids of the tokens of a pre-token; the first one begins a word."""
    ids = [2 * vocabulary.ids[token] for token in vocabulary.tokenize(pretoken)]
    return (*(i + 1 for i in ids[:1]), *ids[1:])


def iterate_marked_ids(sentences: Path, vocabulary: Vocabulary) -> Iterator[int]:
    """Yield the marked ids of all tokens of a file of pre-tokens; each distinct pre-token is
    tokenized once.
    """
    cache: dict[str, tuple[int, ...]] = {}
    for pretokens in read_pretoken_lines(sentences):
        for pretoken in pretokens:
            if pretoken not in cache:
                cache[pretoken] = mark_ids(pretoken, vocabulary)
            yield from cache[pretoken]
