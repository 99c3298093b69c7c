"""Pad sequences of wordpiece ids to one batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import torch


def pad_batch(rows: Sequence[ArrayLike], pad: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Pad id sequences with `pad` to the longest one; returns the ids and the attention mask, both
    (rows, longest) int64.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    ids = [torch.from_numpy(np.array(row, dtype=np.int64)) for row in rows]
    mask = [torch.ones_like(row) for row in ids]
    padded = pad_sequence(ids, batch_first=True, padding_value=pad)
    return padded, pad_sequence(mask, batch_first=True)
