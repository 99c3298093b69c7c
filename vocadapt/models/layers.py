"""The parts of a network that depend on the vocabulary: embeddings, output layer, output bias.

They are found by `get_input_embeddings` and `get_output_embeddings` of transformers, because their
names depend on the architecture.
"""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import torch
    import transformers


def find_input_embeddings(network: "transformers.PreTrainedModel") -> "torch.nn.Embedding | None":
    """Return the input embedding layer; None for a network without token embeddings."""
    try:
        layer = cast("torch.nn.Embedding", network.get_input_embeddings())
    except NotImplementedError:
        return None
    if getattr(layer, "weight", None) is None:  # embeddings of image patches
        return None
    return layer


def get_embeddings(network: "transformers.PreTrainedModel") -> "torch.nn.Parameter":
    """Return the input embedding matrix, (rows, width)."""
    return cast("torch.nn.Parameter", network.get_input_embeddings().weight)


def get_output_layer(network: "transformers.PreTrainedModel") -> Any:
    """Return the output layer, which computes the logits of tokens; None if there is none, or if
    the head multiplies by the input embeddings themselves (DeBERTa-v2 without `legacy`).
    """
    layer = cast(Any, network).get_output_embeddings()
    weight = getattr(layer, "weight", None)
    if weight is None or len(weight) != len(get_embeddings(network)):
        return None
    return layer


def get_output_bias(network: "transformers.PreTrainedModel") -> "torch.nn.Parameter | None":
    """Return the bias of the logits of tokens, (rows,); None if there is none.

    It belongs to the output layer, or to the head if there is no output layer.
    """
    layer = get_output_layer(network)
    if layer is not None:
        return cast("torch.nn.Parameter | None", getattr(layer, "bias", None))
    rows = len(get_embeddings(network))
    prefix = f"{network.base_model_prefix}."
    for name, value in network.named_parameters():
        # The bias of a language-model head, as in DeBERTa-v2.
        is_bias = name.endswith(("lm_head.bias", "predictions.bias"))
        if is_bias and value.shape == (rows,) and not name.startswith(prefix):
            return value
    return None


def has_token_logits(network: "transformers.PreTrainedModel") -> bool:
    """Return whether a network computes logits of tokens."""
    return get_output_layer(network) is not None or get_output_bias(network) is not None


def is_tied(network: "transformers.PreTrainedModel") -> bool:
    """Return whether the output layer shares its weights with the input embeddings."""
    output = get_output_layer(network)
    return output is not None and output.weight.data_ptr() == get_embeddings(network).data_ptr()


def find_attention_modules(network: "transformers.PreTrainedModel") -> "list[torch.nn.Module]":
    """Return the modules that compute attention, first layer first; layers may share one.

    They are found by the names of their classes: the innermost module of a layer whose class is
    called an attention, such as BertSelfAttention in BertAttention.
    """
    found = []
    for module in network.modules():
        inside = list(module.modules())[1:]
        if _is_attention(module) and not any(map(_is_attention, inside)):
            found.append(module)
    return found


def _is_attention(module: "torch.nn.Module") -> bool:
    return "Attention" in type(module).__name__
