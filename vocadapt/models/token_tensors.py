"""Find the tensors of a network with one entry for each token, in every architecture.

They are the input embeddings, the output layer if it is not tied to them, and the output bias. An
architecture may keep a second copy of each (RoBERTa's `lm_head.bias` and `lm_head.decoder.bias`),
which transformers lists in `_tied_weights_keys`; a network that is not tied stores both.
"""

import re
from typing import TYPE_CHECKING, Any, cast

from vocadapt.errors import InputError
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer
from vocadapt.models.model_files import read_headers
from vocadapt.models.model_folder import ModelFolder
from vocadapt.models.network_class import build_without_weights

if TYPE_CHECKING:
    import torch
    import transformers

# Sizes in config.json that may equal the size of the vocabulary by chance.
OTHER_SIZES = (
    "hidden_size",
    "intermediate_size",
    "embedding_size",
    "max_position_embeddings",
    "type_vocab_size",
    "num_labels",
)
# Tensors of a language-model head with one entry for each token, which the network's class may
# lack.
OUTPUT = re.compile(
    r"(?:^|\.)(?:decoder|predictions|lm_head|generator_lm_head|vocab_projector|pred_layer\.proj)"
    r"\.(?:weight|bias)$"
)


def list_token_tensors(
    network: "transformers.PreTrainedModel",
) -> "dict[str, torch.nn.Parameter]":
    """Return the parameters with an entry for each token by name, each once."""
    # 1. Embeddings, output layer and bias.
    found: list[Any] = [get_embeddings(network)]
    layer = get_output_layer(network)
    bias = get_output_bias(network)
    if layer is not None:
        found.append(layer.weight)
    if bias is not None:
        found.append(bias)

    # 2. The copies of each, which are other parameters if the network is not tied.
    every = dict(network.named_parameters(remove_duplicate=False))
    pairs = _list_copies(network)
    for one, other in (*pairs, *((two, one) for one, two in pairs)):
        value = every.get(one)
        copy = every.get(other)
        if value is not None and copy is not None and _contains(found, value):
            found.append(copy)
    return {name: value for name, value in network.named_parameters() if _contains(found, value)}


def check_other_tables(
    model: ModelFolder, network: "transformers.PreTrainedModel", unused: tuple[str, ...]
) -> None:
    """Raise InputError if another tensor also has an entry for each token: it would not be resized.

    unused: names of stored tensors that the network's class does not have.
    """
    rows = len(get_embeddings(network))
    # 1. Tensors of the network. A size may equal the number of rows by chance, so compare them with
    #    those of a network with one more token.
    known = list_token_tensors(network).values()
    tables = [
        name
        for name, value in network.state_dict(keep_vars=True).items()
        if rows in value.shape and not _contains(known, value)
    ]
    if tables:
        larger = build_without_weights(model, vocab_size=rows + 1).state_dict()
        shapes = {name: value.shape for name, value in network.state_dict().items()}
        tables = [name for name in tables if larger[name].shape != shapes[name]]

    # 2. Stored tensors that the network's class does not have.
    stored = read_headers(model.path)
    sizes = {getattr(network.config, key, None) for key in OTHER_SIZES}
    tables += [
        name
        for name in unused
        if rows in stored[name].shape and rows not in sizes and not OUTPUT.search(name)
    ]
    if tables:
        raise InputError(
            f"{model.path}: besides embeddings, output layer and output bias it has another tensor"
            f" with one entry for each of the {rows:,} tokens: {', '.join(tables[:3])}.",
            "vocadapt cannot change the vocabulary of such a model: choose another.",
            code="other-token-tensor",
        )


def read_unused_outputs(
    model: ModelFolder, unused: tuple[str, ...], rows: int
) -> "dict[str, torch.Tensor]":
    """Read the stored tensors of a language-model head that are not part of the network and have an
    entry for each of the `rows` tokens, by name.
    """
    from safetensors import safe_open

    stored = read_headers(model.path)
    values = {}
    for name in filter(OUTPUT.search, unused):
        if name in stored and stored[name].shape[:1] == (rows,):
            with safe_open(stored[name].file, "pt") as tensors:
                values[name] = tensors.get_tensor(name)
    return values


def _list_copies(network: "transformers.PreTrainedModel") -> list[tuple[str, str]]:
    """List the pairs of parameter names that transformers ties in this class."""
    keys = cast(Any, network)._tied_weights_keys or {}
    return list(keys.items()) if isinstance(keys, dict) else []


def _contains(values: Any, wanted: Any) -> bool:
    return any(value is wanted for value in values)
