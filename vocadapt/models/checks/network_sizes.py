"""Compare a config.json with the stored tensors, before memory is allocated for the network."""

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.models.checks.config_rules import ACTIVATIONS
from vocadapt.models.config_sizes import HEADS, LAYERS, WIDTHS, find_size
from vocadapt.models.embedding_matrix.stored import find_by_name
from vocadapt.models.model_files import (
    CONFIG,
    REMEDY,
    StoredTensor,
    build_mismatch_error,
    build_value_error,
)
from vocadapt.system.files import show_path

LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block)\.(\d+)\.")
# Keys of a size in config.json, the end of the name of a tensor with this size, and its axis.
STORED_SIZES = (
    (("max_position_embeddings",), r"(?<!\w)position_embeddings\.weight", 0),
    (("n_positions",), r"(?:^|\.)wpe\.weight", 0),
    (("type_vocab_size",), r"token_type_embeddings.weight", 0),
    # BERT, RoBERTa, ELECTRA, DeBERTa; then DistilBERT, ALBERT, GPT-2, Llama and Qwen
    (("intermediate_size",), r"layers?\.0\.intermediate\.dense\.weight", 0),
    (("hidden_dim",), r"layers?\.0\.ffn\.lin1\.weight", 0),
    (("intermediate_size",), r"albert_layers\.0\.ffn\.weight", 0),
    (("n_inner",), r"(?:^|\.)h\.0\.mlp\.c_fc\.weight", 1),
    (("intermediate_size",), r"layers\.0\.mlp\.gate_proj\.weight", 0),
    (("intermediate_size",), r"layers\.0\.mlp\.Wo\.weight", 1),  # ModernBERT
    (("hidden_size",), r"layers?\.0\.attention\.self\.query\.weight", 1),
    (("hidden_size",), r"embedding_hidden_mapping_in\.weight", 0),  # ALBERT
    (("extension_hidden_size",), r"layers?\.0\.extension\.attention\.query\.weight", 0),
    (("extension_intermediate_size",), r"layers?\.0\.extension\.intermediate\.dense\.weight", 0),
)
EMBEDDING_WIDTHS = ("embedding_size", "word_embed_proj_dim", *WIDTHS)


def check_network(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, StoredTensor]
) -> None:
    """Raise InputError if config.json does not match the stored tensors.

    Imports torch, because transformers' table of activations does.
    """
    # 1. Check that the values of config.json are consistent.
    _check_activation(folder / CONFIG, config)
    _check_heads(folder / CONFIG, config)

    # 2. Compare the number of layers with the tensors.
    layers = {found[1] for name in tensors if (found := LAYER.search(name))}
    key, stated = find_size(config, LAYERS)
    if layers and stated > len(layers):
        raise build_mismatch_error(
            folder, f"{key} is {stated:,}, but the weights have {len(layers):,} layers"
        )

    # 3. Compare the sizes with the tensors.
    _check_sizes(folder, config, tensors)
    _check_projections(folder, config, tensors)
    padding = config.get("pad_token_id")
    rows = config.get("vocab_size")
    if isinstance(padding, int) and rows is not None and padding >= rows:
        raise build_mismatch_error(
            folder, f"pad_token_id is {padding:,}, but there are {rows:,} embeddings"
        )


def _check_sizes(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, StoredTensor]
) -> None:
    for keys, ending, axis in STORED_SIZES:
        (key, size), pattern = find_size(config, keys), re.compile(ending + "$")
        names = filter(pattern.search, tensors)
        _check_axis(folder, key, size, [tensors[name].shape for name in names][:1], axis)
    name = find_by_name(tensors, config.get("vocab_size"))
    if name is not None:
        shapes = [tensors[name].shape]
        _check_axis(folder, *find_size(config, ("vocab_size",)), shapes, 0)
        _check_axis(folder, *find_size(config, EMBEDDING_WIDTHS), shapes, 1)
    key, width = find_size(config, WIDTHS)
    sides = set(chain.from_iterable(tensor.shape for tensor in tensors.values()))
    if key and width not in sides:
        raise build_mismatch_error(folder, f"{key} is {width:,}, but no tensor has this width")


def _check_axis(
    folder: Path, key: str, size: int, shapes: list[tuple[int, ...]], axis: int
) -> None:
    """Raise InputError if the first shape has a different size on an axis."""
    if not key or not shapes or len(shapes[0]) <= axis:
        return
    if shapes[0][axis] != size:
        raise build_mismatch_error(
            folder, f"{key} is {size:,}, but the weights have {shapes[0][axis]:,}"
        )


def _check_projections(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, StoredTensor]
) -> None:
    """Raise InputError if the size of the queries or keys of a Llama-type layer is not the number
    of heads times the units of a head.
    """
    heads = find_size(config, HEADS)[1]
    width = find_size(config, WIDTHS)[1]
    units = config.get("head_dim") or (width // heads if heads else 0)
    stated = {"q_proj": heads, "k_proj": config.get("num_key_value_heads") or heads}
    for projection, number in stated.items():
        ending = f"layers.0.self_attn.{projection}.weight"
        shapes = [tensor.shape for name, tensor in tensors.items() if name.endswith(ending)][:1]
        if shapes and units and shapes[0][0] != number * units:
            raise build_mismatch_error(
                folder,
                f"{number:,} attention heads of {units:,} units, but {projection} has"
                f" {shapes[0][0]:,} rows",
            )


def _check_activation(path: Path, config: Mapping[str, Any]) -> None:
    from transformers.activations import ACT2FN

    for key in ACTIVATIONS:
        name = config.get(key)
        if name is not None and name not in ACT2FN:
            raise build_value_error(path, key, name, "an activation of transformers, such as gelu")


def _check_heads(path: Path, config: Mapping[str, Any]) -> None:
    width = find_size(config, WIDTHS)[1]
    heads = find_size(config, HEADS)[1]
    if config.get("head_dim") is None and width and heads and width % heads:
        raise InputError(
            f"{show_path(path)}: the hidden size {width:,} is not a multiple of the {heads:,}"
            " attention heads.",
            REMEDY,
        )
