"""Training only the wordpiece rows that the examples use: a step costs the same however many rows a
vocabulary has.

A row that no example uses has no gradient, and under Adam without weight decay it never moves.
Leaving it out of the training therefore changes nothing, and saves the optimizer two more numbers
for every number of it, and every checkpoint three.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    import transformers


@contextmanager
def restrict_embeddings(
    network: "transformers.PreTrainedModel", used: NDArray[np.integer], pad: int
) -> Iterator[NDArray[np.int64]]:
    """Give a network only the rows of the ids `used` for a while; yields the new id of every old
    one (-1: left out).

    Afterwards it has all its rows again, the used ones as they became. The padding row is always
    among them.
    """
    import torch

    whole = cast("torch.nn.Embedding", network.get_input_embeddings())
    kept = np.unique(np.append(used, pad)).astype(np.int64)
    renamed = np.full(whole.num_embeddings, -1, dtype=np.int64)
    renamed[kept] = np.arange(len(kept))
    chosen, moves = torch.from_numpy(kept), whole.weight.requires_grad
    padding = None if whole.padding_idx is None else int(renamed[whole.padding_idx])
    few = torch.nn.Embedding(
        len(kept), whole.embedding_dim, padding, _weight=whole.weight.detach()[chosen].clone()
    )
    few.weight.requires_grad = moves
    network.set_input_embeddings(few)
    try:
        yield renamed
    finally:
        with torch.no_grad():
            whole.weight[chosen.to(whole.weight.device)] = few.weight.detach().to(
                whole.weight.device
            )
        network.set_input_embeddings(whole.to(few.weight.device))
