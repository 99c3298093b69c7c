"""A BERT layer at some positions only: queries there, keys and values everywhere."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import torch


def run_bert_layer_at(
    layer: Any, selected: "torch.Tensor", hidden: "torch.Tensor", mask: "torch.Tensor | None"
) -> "torch.Tensor":
    """Run a BERT layer with queries at some positions only.

    selected: (batch, positions, width), inputs at these positions; hidden: (batch, length, width),
    inputs at all positions, for keys and values. Returns (batch, positions, width).
    """
    attention = layer.attention.self
    query = attention.query(selected)
    key = attention.key(hidden)
    value = attention.value(hidden)
    context = attend(attention, query, key, value, attention.num_attention_heads, mask)
    attended = layer.attention.output(context, selected)
    return cast("torch.Tensor", layer.output(layer.intermediate(attended), attended))


def attend(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    heads: int,
    mask: "torch.Tensor | None",
) -> "torch.Tensor":
    """Compute attention with the implementation that the module's config names, (batch, queries,
    units).
    """
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.bert.modeling_bert import eager_attention_forward

    parts = [part.view(*part.shape[:-1], heads, -1).transpose(1, 2) for part in (query, key, value)]
    compute_attention = ALL_ATTENTION_FUNCTIONS.get_interface(
        module.config._attn_implementation, eager_attention_forward
    )
    context, _ = compute_attention(
        module, *parts, mask, dropout=module.dropout.p * module.training, scaling=module.scaling
    )
    return cast("torch.Tensor", context.reshape(*query.shape))
