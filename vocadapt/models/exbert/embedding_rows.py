"""Train the embeddings of some tokens only: they are separate parameters, and the rest of the
matrix is fixed.

While they are apart the network gives what it gave; put together again, the others are bit for bit
what they were.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import embedding, linear
from transformers import PreTrainedModel

from vocadapt.models.contextual.masked_loss import get_masked_head
from vocadapt.models.layers import get_output_layer, is_tied

Tensor = torch.Tensor


class ApartRows(nn.Module):
    """An embedding matrix that is not trained (`fixed`), with trained embeddings for some ids."""

    def __init__(self, whole: Tensor, ids: Tensor) -> None:
        super().__init__()
        self.fixed = nn.Parameter(whole.detach(), requires_grad=False)
        self.weight = nn.Parameter(whole.detach()[ids].clone())
        place = torch.full((len(whole),), -1, dtype=torch.long)
        place[ids] = torch.arange(len(ids))
        self.register_buffer("place", place, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids (…) → rows (…, width)."""
        at = cast(Tensor, self.place)[ids]
        return torch.where(
            (at >= 0)[..., None],
            embedding(at.clamp(min=0), self.weight),
            embedding(ids, self.fixed),
        )


class ApartScores(nn.Module):
    """The output layer over such rows: those of the input where they are shared, else rows of its
    own.
    """

    def __init__(self, layer: nn.Linear, ids: Tensor, shared: ApartRows | None) -> None:
        super().__init__()
        self.own = None if shared is not None else ApartRows(layer.weight, ids)
        self._shared = (shared,)  # in a tuple: it belongs to the embedding layer
        self.register_buffer("ids", ids.clone(), persistent=False)
        first = len(layer.weight) - len(ids)
        self.first = (
            first if ids.tolist() == [*range(first, len(layer.weight))] else None
        )  # of new rows that are the last ones
        biases = layer.bias is not None
        self.fixed_bias = nn.Parameter(layer.bias.detach(), requires_grad=False) if biases else None
        self.bias = nn.Parameter(layer.bias.detach()[ids].clone()) if biases else None

    @property
    def rows(self) -> ApartRows:
        """The rows that are scored."""
        return cast(ApartRows, self._shared[0] if self.own is None else self.own)

    @property
    def weight(self) -> Tensor:
        """The rows that move."""
        return self.rows.weight

    def forward(self, hidden: Tensor) -> Tensor:
        """Hidden states (…, width) → scores (…, tokens); new rows behind all others are not scored
        as they were besides.
        """
        if self.first is not None:
            bias = None if self.fixed_bias is None else self.fixed_bias[: self.first]
            old = linear(hidden, self.rows.fixed[: self.first], bias)
            return torch.cat(
                [old, linear(hidden, self.rows.weight, self.bias).to(old.dtype)], dim=-1
            )
        scores = linear(hidden, self.rows.fixed, self.fixed_bias)
        return scores.index_copy(
            -1, cast(Tensor, self.ids), linear(hidden, self.rows.weight, self.bias).to(scores.dtype)
        )


class Apart:
    """A network some of whose rows, and their output biases, can be taken apart and put together
    again.
    """

    def __init__(self, network: PreTrainedModel, ids: Tensor) -> None:
        self.network, self.ids = network, ids
        self.whole = cast(nn.Embedding, network.get_input_embeddings())
        self.layer = get_output_layer(network)
        self.rows = ApartRows(self.whole.weight, ids)
        self.scores = None
        if self.layer is not None:
            self.scores = ApartScores(self.layer, ids, self.rows if is_tied(network) else None)

    def take_apart(self) -> None:
        """Only the rows of the ids can move from now on."""
        self._put(self.rows, self.scores)

    def put_together(self) -> None:
        """The network has its own matrix again, the rows of the ids as they became."""
        device = self.rows.weight.device
        self.whole.to(device)
        _write(self.whole.weight, self.rows.weight, self.ids)
        if self.layer is not None and self.scores is not None:
            self.layer.to(device)
            if self.scores.own is not None:
                _write(self.layer.weight, self.scores.own.weight, self.ids)
            if self.scores.bias is not None and self.scores.fixed_bias is not None:
                with torch.no_grad():
                    self.layer.bias.copy_(
                        self.scores.fixed_bias
                    )  # moves with the heads, where these are trained
                _write(self.layer.bias, self.scores.bias, self.ids)
        self._put(self.whole, self.layer)

    @contextmanager
    def together(self) -> Iterator[None]:
        """For a while the network has its own matrix, to be saved by."""
        self.put_together()
        try:
            yield
        finally:
            self.take_apart()

    def _put(self, rows: nn.Module, scores: Any) -> None:
        self.network.set_input_embeddings(rows)
        if self.layer is not None:
            cast(Any, get_masked_head(self.network)).decoder = scores


def _write(whole: Tensor, rows: Tensor, ids: Tensor) -> None:
    with torch.no_grad():
        whole[ids.to(whole.device)] = rows.detach().to(whole.dtype)
