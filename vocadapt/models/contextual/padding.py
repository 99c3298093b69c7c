"""Stretches of text of several lengths as one batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import torch


def padded(rows: Sequence[ArrayLike], pad: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Wordpiece ids, a row for each stretch, filled up with `pad`; and the attention mask: both
    (rows, longest).
    """
    import torch

    shape = (len(rows), max(len(np.asarray(row)) for row in rows))
    ids, attended = np.full(shape, pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for place, row in enumerate(map(np.asarray, rows)):
        ids[place, : len(row)], attended[place, : len(row)] = row, 1
    return torch.from_numpy(ids), torch.from_numpy(attended)
