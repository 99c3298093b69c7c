"""Train the embeddings of some tokens only, and leave those of all other tokens unchanged.

Setting the gradient of the others to zero is not enough, because weight decay changes them as well.
So the trained embeddings are a separate parameter during training:

1. `SeparatedEmbeddings.separate` replaces the embedding layer and the output layer of a network by
   modules with a fixed matrix and a small trained one. The outputs do not change.
2. The network is trained.
3. `SeparatedEmbeddings.merge` writes the trained embeddings into the original matrix, whose other
   rows remain bit-identical.
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


class PartlyTrainedEmbedding(nn.Module):
    """An embedding matrix that is not trained (`fixed`), with trained embeddings for some ids
    (`weight`).
    """

    def __init__(self, matrix: Tensor, ids: Tensor) -> None:
        super().__init__()
        self.fixed = nn.Parameter(matrix.detach(), requires_grad=False)
        self.weight = nn.Parameter(matrix.detach()[ids].clone())
        # Row of `weight` by token id; -1 for tokens that are not trained.
        place = torch.full((len(matrix),), -1, dtype=torch.long)
        place[ids] = torch.arange(len(ids))
        self.register_buffer("place", place, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up embeddings: ids (…) int64 → (…, width)."""
        place = cast(Tensor, self.place)[ids]
        return torch.where(
            (place >= 0)[..., None],
            embedding(place.clamp(min=0), self.weight),
            embedding(ids, self.fixed),
        )


class PartlyTrainedOutput(nn.Module):
    """The output layer of a network with a PartlyTrainedEmbedding.

    It uses the input embeddings if the two layers are tied (`tied`), else embeddings of its own.
    """

    def __init__(self, layer: nn.Linear, ids: Tensor, tied: PartlyTrainedEmbedding | None) -> None:
        super().__init__()
        self.own: PartlyTrainedEmbedding | None = None
        if tied is None:
            self.own = PartlyTrainedEmbedding(layer.weight, ids)
        self._tied = (tied,)  # in a tuple, so that torch does not register it as a submodule here
        self.register_buffer("ids", ids.clone(), persistent=False)

        # First trained id if the trained tokens are the last ones of the vocabulary, else None.
        first = len(layer.weight) - len(ids)
        self.first: int | None = None
        if ids.tolist() == [*range(first, len(layer.weight))]:
            self.first = first

        self.fixed_bias: nn.Parameter | None = None
        self.bias: nn.Parameter | None = None
        if layer.bias is not None:
            self.fixed_bias = nn.Parameter(layer.bias.detach(), requires_grad=False)
            self.bias = nn.Parameter(layer.bias.detach()[ids].clone())

    @property
    def rows(self) -> PartlyTrainedEmbedding:
        """The embeddings with which logits are computed."""
        return cast(PartlyTrainedEmbedding, self._tied[0] if self.own is None else self.own)

    @property
    def weight(self) -> Tensor:
        """The trained embeddings."""
        return self.rows.weight

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the logits of tokens: hidden states (…, width) → (…, tokens)."""
        trained = linear(hidden, self.rows.weight, self.bias)
        if self.first is None:
            logits = linear(hidden, self.rows.fixed, self.fixed_bias)
            return logits.index_copy(-1, cast(Tensor, self.ids), trained.to(logits.dtype))
        # The trained tokens are the last ones: skip the product with their fixed embeddings.
        bias = None
        if self.fixed_bias is not None:
            bias = self.fixed_bias[: self.first]
        fixed = linear(hidden, self.rows.fixed[: self.first], bias)
        return torch.cat([fixed, trained.to(fixed.dtype)], dim=-1)


class SeparatedEmbeddings:
    """A network whose embeddings and output biases of some ids can be separated for training, and
    merged again.
    """

    def __init__(self, network: PreTrainedModel, ids: Tensor) -> None:
        self.network, self.ids = network, ids
        self.original = cast(nn.Embedding, network.get_input_embeddings())
        self.layer = get_output_layer(network)
        self.rows = PartlyTrainedEmbedding(self.original.weight, ids)
        self.output: PartlyTrainedOutput | None = None
        if self.layer is not None:
            tied = self.rows if is_tied(network) else None
            self.output = PartlyTrainedOutput(self.layer, ids, tied)

    def separate(self) -> None:
        """Replace the layers of the network, so that only the embeddings of the ids are trained."""
        self._set_layers(self.rows, self.output)

    def merge(self) -> None:
        """Restore the layers of the network, with the trained embeddings of the ids."""
        # While they are separated, the original layers do not move with the network to a GPU.
        device = self.rows.weight.device
        self.original.to(device)
        _write_rows(self.original.weight, self.rows.weight, self.ids)
        if self.layer is not None and self.output is not None:
            self.layer.to(device)
            if self.output.own is not None:
                _write_rows(self.layer.weight, self.output.own.weight, self.ids)
            if self.output.bias is not None and self.output.fixed_bias is not None:
                # If the heads are trained, the fixed bias is trained, too.
                with torch.no_grad():
                    self.layer.bias.copy_(self.output.fixed_bias)
                _write_rows(self.layer.bias, self.output.bias, self.ids)
        self._set_layers(self.original, self.layer)

    @contextmanager
    def merged(self) -> Iterator[None]:
        """Restore the layers of the network within the context, to save it."""
        self.merge()
        try:
            yield
        finally:
            self.separate()

    def _set_layers(self, embeddings: nn.Module, output: Any) -> None:
        self.network.set_input_embeddings(embeddings)
        if self.layer is not None:
            cast(Any, get_masked_head(self.network)).decoder = output


def _write_rows(matrix: Tensor, rows: Tensor, ids: Tensor) -> None:
    """Write rows into a matrix at the given ids, in its dtype."""
    with torch.no_grad():
        matrix[ids.to(matrix.device)] = rows.detach().to(matrix.dtype)
