"""Run the last layer of a BERT only at masked positions: the masked-language-model head reads no
others.

The layers below are needed at every position, because attention reads all of them. In the last
layer only keys and values are; its queries and feed-forward part (and those of an exBERT's
extension module) are computed only at masked positions, about one in seven.

Warning: `layer.forward` of the last layer is replaced during the call (see `compute_states_at`).
"""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import torch


def compute_states_at(
    base: Any, ids: "torch.Tensor", attended: "torch.Tensor", places: "torch.Tensor"
) -> "torch.Tensor":
    """Return the output of the last layer at the given positions, (positions, width) float32.

    places: (batch, length) bool; the positions, in row-major order.
    If the layers are not BERT's, the whole output is computed and the positions are selected.
    """
    layer = _last_layer(base)
    if layer is None or not places.any():
        return cast("torch.Tensor", base(ids, attention_mask=attended)[0][places])
    chosen, there = _select_columns(places)
    # Replace forward on this instance only, and only during the call.
    layer.forward = partial(_forward_at, layer, chosen)
    try:
        found = base(ids, attention_mask=attended)[0]
    finally:
        del layer.forward
    return cast("torch.Tensor", found[there])


def _last_layer(base: Any) -> Any:
    """Return the last layer of an encoder; None if it is not BERT's or an exBERT's."""
    from transformers.models.bert.modeling_bert import BertLayer

    layers = getattr(getattr(base, "encoder", None), "layer", None)
    if not layers or getattr(base.config, "is_decoder", False):
        return None
    if type(layers[-1]) is BertLayer or hasattr(layers[-1], "at"):
        return layers[-1]
    return None


def _select_columns(places: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """Return the columns of the true entries of each row, (batch, most) int64, and a mask of the
    same shape that is False for padding.

    Example: [F T T / T F F] -> columns [1 2 / 0 1], mask [T T / T F].
    """
    import torch

    counts = places.sum(dim=1)
    most = int(counts.max())
    chosen = places.int().argsort(dim=1, descending=True, stable=True)[:, :most]
    return chosen, torch.arange(most, device=places.device) < counts[:, None]


def _forward_at(
    layer: Any,
    chosen: "torch.Tensor",
    hidden: "torch.Tensor",
    mask: "torch.Tensor | None" = None,
    *more: Any,
    **named: Any,
) -> "torch.Tensor":
    """Replacement of the layer's forward at the chosen columns: (batch, most, width)."""
    selected = hidden.gather(1, chosen[..., None].expand(-1, -1, hidden.shape[-1]))
    if mask is not None:  # the same for every query
        mask = mask[..., :1, :].expand(-1, -1, selected.shape[1], -1)
    if hasattr(layer, "at"):  # an exBERT's
        return cast("torch.Tensor", layer.at(selected, hidden, mask))
    return run_bert_layer_at(layer, selected, hidden, mask)


def run_bert_layer_at(
    layer: Any, selected: "torch.Tensor", hidden: "torch.Tensor", mask: "torch.Tensor | None"
) -> "torch.Tensor":
    """Run a BERT layer with queries at some positions only.

    selected: (batch, most, width), inputs at these positions; hidden: (batch, length, width),
    inputs at all positions, for keys and values. Returns (batch, most, width).
    """
    own = layer.attention.self
    query, key, value = own.query(selected), own.key(hidden), own.value(hidden)
    read = attend(own, query, key, value, own.num_attention_heads, mask)
    read = layer.attention.output(read, selected)
    return cast("torch.Tensor", layer.output(layer.intermediate(read), read))


def attend(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    heads: int,
    mask: "torch.Tensor | None",
) -> "torch.Tensor":
    """Compute attention as the module's config wants it: (batch, queries, units)."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.bert.modeling_bert import eager_attention_forward

    parts = [part.view(*part.shape[:-1], heads, -1).transpose(1, 2) for part in (query, key, value)]
    how = ALL_ATTENTION_FUNCTIONS.get_interface(
        module.config._attn_implementation, eager_attention_forward
    )
    dropout = module.dropout.p * module.training
    found, _ = how(module, *parts, mask, dropout=dropout, scaling=module.scaling)
    return cast("torch.Tensor", found.reshape(*query.shape))
