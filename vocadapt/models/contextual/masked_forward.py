"""What leaves a BERT's last layer at some places of a text alone, for a masked-word head reads it
nowhere else.

The layers before are needed at every place, for attention reads there. In the last one only keys
and values are: its queries, its feed-forward part and, of an exBERT, the same of the module beside
it are asked for at one place in seven.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import torch


def states_at(
    base: Any, ids: "torch.Tensor", attended: "torch.Tensor", places: "torch.Tensor"
) -> "torch.Tensor":
    """What leaves the last layer of `base` where `places` (batch, length) is true: (places, width),
    row after row.

    A network with layers of another kind than BERT's is read whole.
    """
    layer = _last_layer(base)
    if layer is None or not places.any():
        return cast("torch.Tensor", base(ids, attention_mask=attended)[0][places])
    chosen, there = _columns(places)
    layer.forward = partial(_forward_at, layer, chosen)  # of this layer, as long as it takes
    try:
        found = base(ids, attention_mask=attended)[0]
    finally:
        del layer.forward
    return cast("torch.Tensor", found[there])


def _last_layer(base: Any) -> Any:
    from transformers.models.bert.modeling_bert import BertLayer

    layers = getattr(getattr(base, "encoder", None), "layer", None)
    if not layers or getattr(base.config, "is_decoder", False):
        return None
    known = type(layers[-1]) is BertLayer or hasattr(layers[-1], "at")
    return layers[-1] if known else None


def _columns(places: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """The columns of the true places of each row, in order, and others where a row has fewer; which
    of them are true ones.
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
    """In place of the layer's own forward: (batch, most, width)."""
    asked = hidden.gather(1, chosen[..., None].expand(-1, -1, hidden.shape[-1]))
    mask = (
        mask if mask is None else mask[..., :1, :].expand(-1, -1, asked.shape[1], -1)
    )  # alike for every query
    at = layer.at if hasattr(layer, "at") else partial(bert_layer_at, layer)
    return cast("torch.Tensor", at(asked, hidden, mask))


def bert_layer_at(
    layer: Any, asked: "torch.Tensor", hidden: "torch.Tensor", mask: "torch.Tensor | None"
) -> "torch.Tensor":
    """BERT's layer with `asked` (batch, most, width) as its queries, and all of `hidden` as its
    keys and values.
    """
    own = layer.attention.self
    query, key, value = own.query(asked), own.key(hidden), own.value(hidden)
    read = attend(own, query, key, value, own.num_attention_heads, mask)
    read = layer.attention.output(read, asked)
    return cast("torch.Tensor", layer.output(layer.intermediate(read), read))


def attend(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    heads: int,
    mask: "torch.Tensor | None",
) -> "torch.Tensor":
    """Attention of some heads as the module's config wants it: (batch, queries, units)."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.bert.modeling_bert import eager_attention_forward

    parts = [part.view(*part.shape[:-1], heads, -1).transpose(1, 2) for part in (query, key, value)]
    how = ALL_ATTENTION_FUNCTIONS.get_interface(
        module.config._attn_implementation, eager_attention_forward
    )
    dropout = module.dropout.p if module.training else 0.0
    found, _ = how(module, *parts, mask, dropout=dropout, scaling=module.scaling)
    return cast("torch.Tensor", found.reshape(*query.shape))
