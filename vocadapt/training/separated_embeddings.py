"""Train only the embeddings of some tokens, and leave those of all other tokens unchanged.

Setting the gradient of the others to zero is not enough, because weight decay changes them as well,
and the optimizer would still hold its state for the whole matrix. So the trained embeddings are a
separate, small parameter during training:

1. `SeparatedEmbeddings.separate` replaces the embedding layer and the output layer of a network by
   modules with a fixed matrix and a small trained one. The outputs do not change.
2. The network is trained. The optimizer has state for the small matrices only.
3. `SeparatedEmbeddings.merge` writes the trained embeddings into the original matrix, whose other
   rows remain bit-identical.

The layers are found by `get_input_embeddings` and `get_output_embeddings`, because their names
depend on the architecture. An output layer that is tied to the embeddings computes logits with the
same trained embeddings. An untied output layer trains its own weights of these tokens, and an
output bias its entries of these tokens.

Import this module only inside functions: it loads torch and transformers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import nn
from torch.nn.functional import embedding, linear
from transformers import PreTrainedModel

from vocadapt.errors import InputError
from vocadapt.models.layers import get_output_layer, is_tied

Tensor = torch.Tensor


class PartlyTrainedEmbedding(nn.Module):
    """An embedding matrix that is not trained (`fixed`), with trained embeddings for some ids
    (`trained`).

    matrix: (tokens, width). ids: (n,) int64; a token whose id exceeds the rows of the matrix has
    only a trained embedding. start: (n, width), initial values of the trained embeddings; None
    takes them from the matrix. scale: factor of the output, 1 for most models. sparse: whether the
    gradient is sparse.
    """

    def __init__(
        self,
        matrix: Tensor,
        ids: Tensor,
        start: Tensor | None = None,
        scale: float = 1.0,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        fixed = matrix.detach()
        if start is None:
            start = fixed[ids]
        self.trained = nn.Parameter(start.detach().clone())
        self.scale, self.sparse = scale, sparse
        # Row of `trained` by token id; -1 for tokens that are not trained.
        size = max(len(fixed), int(ids.max()) + 1)
        place = torch.full((size,), -1, dtype=torch.long)
        place[ids] = torch.arange(len(ids))
        # Buffers that are not stored: they are neither trained nor part of a checkpoint.
        self.register_buffer("fixed", fixed, persistent=False)
        self.register_buffer("place", place, persistent=False)
        self.register_buffer("ids", ids.clone(), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up embeddings: ids (…) int64 → (…, width)."""
        fixed = cast(Tensor, self.fixed)
        place = cast(Tensor, self.place)[ids]
        is_trained = place >= 0
        # Clamped, because a trained token may have no row in the fixed matrix.
        looked_up = embedding(ids.clamp(max=len(fixed) - 1), fixed)
        # Look up only trained tokens in `trained`, so that a sparse gradient has no other entries.
        own = embedding(place[is_trained], self.trained, sparse=self.sparse)
        found = looked_up.index_put((is_trained,), own.to(looked_up.dtype))
        if self.scale == 1.0:
            return found
        return found * self.scale

    @property
    def weight(self) -> Tensor:
        """The whole matrix with the trained embeddings, (tokens, width), for layers that read it.

        Its gradient goes to the trained embeddings.
        """
        return cast(Tensor, self.fixed).index_copy(0, cast(Tensor, self.ids), self.trained)


class PartlyTrainedOutput(nn.Module):
    """The output layer of a network with a PartlyTrainedEmbedding.

    tied: the input embeddings, if the output layer is tied to them; None for its own weights.
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
        self.trained_bias: nn.Parameter | None = None
        if layer.bias is not None:
            self.fixed_bias = nn.Parameter(layer.bias.detach(), requires_grad=False)
            self.trained_bias = nn.Parameter(layer.bias.detach()[ids].clone())

    @property
    def rows(self) -> PartlyTrainedEmbedding:
        """The embeddings with which logits are computed."""
        return cast(PartlyTrainedEmbedding, self._tied[0] if self.own is None else self.own)

    @property
    def weight(self) -> Tensor:
        """The whole matrix with the trained embeddings, (tokens, width)."""
        return self.rows.weight

    @property
    def bias(self) -> Tensor | None:
        """The whole output bias with its trained entries, (tokens,); None if there is none."""
        if self.fixed_bias is None or self.trained_bias is None:
            return None
        return self.fixed_bias.index_copy(0, cast(Tensor, self.ids), self.trained_bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Compute the logits of tokens: hidden states (…, width) → (…, tokens)."""
        matrix = cast(Tensor, self.rows.fixed)
        trained = linear(hidden, self.rows.trained, self.trained_bias)
        if self.first is None:
            logits = linear(hidden, matrix, self.fixed_bias)
            return logits.index_copy(-1, cast(Tensor, self.ids), trained.to(logits.dtype))
        # The trained tokens are the last ones: skip the product with their fixed embeddings.
        bias = None
        if self.fixed_bias is not None:
            bias = self.fixed_bias[: self.first]
        fixed = linear(hidden, matrix[: self.first], bias)
        return torch.cat([fixed, trained.to(fixed.dtype)], dim=-1)


class SeparatedEmbeddings:
    """A network whose embeddings and output biases of some ids can be separated for training, and
    merged again.

    ids: (n,) int64, sorted. Raises InputError for an unknown kind of embedding or output layer.
    """

    def __init__(self, network: PreTrainedModel, ids: Tensor) -> None:
        self.network, self.ids = network, ids
        self.original = cast(nn.Embedding, network.get_input_embeddings())
        self.layer = get_output_layer(network)
        scale = find_scale(self.original)
        self.rows = PartlyTrainedEmbedding(self.original.weight, ids, scale=scale)
        self.output: PartlyTrainedOutput | None = None
        if self.layer is not None:
            if not isinstance(self.layer, nn.Linear):
                raise _build_unknown_layer_error("output layer", self.layer)
            tied = None
            if is_tied(network):
                tied = self.rows
            self.output = PartlyTrainedOutput(self.layer, ids, tied)

    def separate(self) -> None:
        """Replace the layers of the network, so that only the embeddings of the ids are trained."""
        replace_module(self.network, self.original, self.rows)
        if self.output is not None:
            replace_module(self.network, self.layer, self.output)

    def merge(self) -> None:
        """Restore the layers of the network, with the trained embeddings of the ids."""
        # The original layers did not move with the network to a GPU while they were separated.
        device = self.rows.trained.device
        self.original.to(device)
        _write_rows(self.original.weight, self.rows.trained, self.ids)
        replace_module(self.network, self.rows, self.original)
        if self.output is None:
            return
        self.layer.to(device)
        if self.output.own is not None:
            _write_rows(self.layer.weight, self.output.own.trained, self.ids)
        if self.output.trained_bias is not None and self.output.fixed_bias is not None:
            # If the heads were trained, the fixed bias was trained, too.
            with torch.no_grad():
                self.layer.bias.copy_(self.output.fixed_bias)
            _write_rows(self.layer.bias, self.output.trained_bias, self.ids)
        replace_module(self.network, self.output, self.layer)

    @contextmanager
    def merged(self) -> Iterator[None]:
        """Restore the layers of the network within the context, to save it."""
        self.merge()
        try:
            yield
        finally:
            self.separate()


def replace_module(network: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Replace a module of a network wherever it is registered.

    The setters of transformers would also set biases elsewhere, which would then be shared.
    """
    for parent in [*network.modules()]:
        for name, child in [*parent.named_children()]:
            if child is old:
                setattr(parent, name, new)


def find_scale(layer: nn.Module) -> float:
    """Return the factor by which an embedding layer scales embeddings, 1 for most models.

    Raises InputError for a layer that computes something else.
    """
    if type(layer).forward is nn.Embedding.forward:
        return 1.0
    scale = getattr(layer, "embed_scale", None)
    if not isinstance(layer, nn.Embedding) or scale is None:
        raise _build_unknown_layer_error("embedding layer", layer)
    return float(scale)


def _build_unknown_layer_error(what: str, layer: object) -> InputError:
    return InputError(
        f"New embeddings cannot be trained alone with the {what} {type(layer).__name__}.",
        "Train all parameters.",
        "trained",
        code="other-embedding-layer",
    )


def _write_rows(matrix: Tensor, rows: Tensor, ids: Tensor) -> None:
    """Write rows into a matrix at the given ids, in its dtype."""
    with torch.no_grad():
        matrix[ids.to(matrix.device)] = rows.detach().to(matrix.dtype)
