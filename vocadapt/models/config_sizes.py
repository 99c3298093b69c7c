"""Sizes of a network in a config.json, whose keys depend on the architecture.

This module does not import torch.
"""

from collections.abc import Mapping
from typing import Any

LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
WIDTHS = ("hidden_size", "dim", "n_embd", "d_model")
INNER_WIDTHS = ("intermediate_size", "hidden_dim", "n_inner", "d_ff")
HEADS = ("num_attention_heads", "n_heads", "n_head", "num_heads")
POSITIONS = ("max_position_embeddings", "n_positions")
# Architectures whose first position is the id of the padding token plus 1.
POSITIONS_AFTER_PADDING = frozenset(
    {
        "camembert",
        "data2vec-text",
        "ibert",
        "longformer",
        "luke",
        "mpnet",
        "roberta",
        "roberta-prelayernorm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    }
)
PADDING_OF_ROBERTA = 1  # default padding id of these architectures


def find_size(config: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, int]:
    """Return the first of these keys that a config has, and its value; "" and 0 if it has none."""
    return next(((key, config[key]) for key in keys if config.get(key) is not None), ("", 0))


def count_positions(config: Mapping[str, Any]) -> int | None:
    """Return the largest number of tokens of an input; None if the config states no limit.

    RoBERTa has 514 positions of which 512 can be used: numbering starts after the padding token.
    """
    positions = find_size(config, POSITIONS)[1]
    if not positions:
        return None
    if config.get("model_type") in POSITIONS_AFTER_PADDING:
        padding = config.get("pad_token_id")
        if padding is None:
            padding = PADDING_OF_ROBERTA
        positions -= padding + 1
    return max(positions, 1)


def count_layers(config: Mapping[str, Any]) -> int:
    """Return the number of layers; 0 if the config does not state it."""
    return find_size(config, LAYERS)[1]
