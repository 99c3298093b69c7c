"""Training with only the embeddings that the examples use, so that the cost of a step does not
depend on the vocabulary size.

An embedding that no example uses has no gradient, and under Adam without weight decay it never
changes. Leaving it out changes nothing, and saves two optimizer values for each of its values, and
three in every checkpoint.
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
    """Give a network only the embeddings of the ids `used` in a `with` block; yields the new id of
    every old one, (vocabulary,) int64, -1 if left out.

    Afterwards the network has all embeddings again, the used ones with their trained values. The
    padding embedding is always included.
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
