"""A layer of exBERT: BERT's layer, a smaller extension layer with the same input, and a gate that
mixes both.

    H' = g · T_ofs(H) + (1 − g) · T_ext(H),   g = σ(w · H + b), a number for each token       (Tai et al. 2020, 3.2)

Each of the two layers ends in its own LayerNorm. The tensors of BERT's layer have the same names as
in BERT.
"""

import copy
from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import linear
from transformers.models.bert.modeling_bert import (
    BertEncoder,
    BertIntermediate,
    BertLayer,
    BertOutput,
)

from vocadapt.models.bert_attention import attend, run_bert_layer_at
from vocadapt.models.exbert.config import ExBertConfig

Tensor = torch.Tensor


class ExtensionAttention(nn.Module):
    """Self-attention with inputs of the model's width, fewer units, and as many heads as BERT."""

    def __init__(self, config: ExBertConfig) -> None:
        super().__init__()
        self.config = config
        self.heads = config.num_attention_heads
        units = config.extension_hidden_size
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, units) for _ in range(3))
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)
        self.scaling = (units // self.heads) ** -0.5
        self.is_causal = False  # read by the attention functions of transformers

    def forward(self, hidden: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, width) → (batch, length, units)."""
        parts = (self.query, self.key, self.value)
        weight, bias = (
            torch.cat([getattr(part, name) for part in parts]) for name in ("weight", "bias")
        )
        # One wide matrix product is faster than three narrow ones and the sum of their gradients.
        query, key, value = linear(hidden, weight, bias).chunk(3, dim=-1)
        return attend(self, query, key, value, self.heads, mask)

    def at(self, selected: Tensor, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Compute the same at the selected positions only: (batch, positions, width) → (batch,
        positions, units).
        """
        return attend(
            self, self.query(selected), self.key(hidden), self.value(hidden), self.heads, mask
        )


class ExtensionModule(nn.Module):
    """The extension module of a layer: attention and feed-forward of a smaller size, each followed
    by a projection to the model's width and a residual connection.
    """

    def __init__(self, config: ExBertConfig) -> None:
        super().__init__()
        self.attention = ExtensionAttention(config)
        self.attention_output = BertOutput(
            _set_intermediate_size(config, config.extension_hidden_size)
        )
        inner = _set_intermediate_size(config, config.extension_intermediate_size)
        self.intermediate, self.output = BertIntermediate(inner), BertOutput(inner)

    def forward(self, hidden: Tensor, mask: Tensor | None = None, **more: Any) -> Tensor:
        """(batch, length, width) → the same shape."""
        return self._add_feed_forward(self.attention(hidden, mask), hidden)

    def at(self, selected: Tensor, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Compute the same at the selected positions only: (batch, positions, width) → the same
        shape.
        """
        return self._add_feed_forward(self.attention.at(selected, hidden, mask), selected)

    def _add_feed_forward(self, context: Tensor, hidden: Tensor) -> Tensor:
        attended = self.attention_output(context, hidden)
        return cast(Tensor, self.output(self.intermediate(attended), attended))


class Gate(nn.Linear):
    """The weight of BERT's layer in a token's output vector, between 0 and 1."""

    def forward(self, hidden: Tensor) -> Tensor:
        """(batch, length, width) → (batch, length, 1)."""
        return torch.sigmoid(super().forward(hidden))


class ExBertLayer(BertLayer):
    """BERT's layer, with an extension module and a gate if the config has one."""

    def __init__(self, config: ExBertConfig, layer_idx: int | None = None) -> None:
        super().__init__(config, layer_idx=layer_idx)
        self.extended = bool(config.extension_hidden_size)
        if self.extended:
            self.extension, self.gate = ExtensionModule(config), Gate(config.hidden_size, 1)

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, *args: Any, **kwargs: Any
    ) -> Tensor:
        """(batch, length, width) → the same shape."""
        own: Tensor = super().forward(hidden_states, attention_mask, *args, **kwargs)
        if not self.extended:
            return own
        for name in ("encoder_attention_mask", "past_key_values"):  # only decoders use them
            kwargs.pop(name, None)
        # With a gate of 1, lerp returns `own` bit for bit; g · own + (1 − g) · extension may not.
        return torch.lerp(
            self.extension(hidden_states, attention_mask, **kwargs), own, self.gate(hidden_states)
        )

    def at(self, selected: Tensor, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Compute the same at the selected positions only: (batch, positions, width) → the same
        shape.
        """
        own = run_bert_layer_at(self, selected, hidden, mask)
        if not self.extended:
            return own
        return torch.lerp(self.extension.at(selected, hidden, mask), own, self.gate(selected))


class ExBertEncoder(BertEncoder):
    """BERT's encoder with the layers of exBERT."""

    def __init__(self, config: ExBertConfig) -> None:
        nn.Module.__init__(self)  # that of BertEncoder would build BERT's layers first
        self.config = config
        self.layer = nn.ModuleList(
            [ExBertLayer(config, place) for place in range(config.num_hidden_layers)]
        )


def _set_intermediate_size(config: ExBertConfig, units: int) -> ExBertConfig:
    changed = copy.deepcopy(config)
    changed.intermediate_size = units
    return changed
