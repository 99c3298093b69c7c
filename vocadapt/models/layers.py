"""The parts of a network that depend on the vocabulary: embeddings, output layer, output bias."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import torch
    import transformers


def get_embeddings(network: "transformers.PreTrainedModel") -> "torch.nn.Parameter":
    """Return the wordpiece embedding matrix, (tokens, width)."""
    return cast("torch.nn.Parameter", network.get_input_embeddings().weight)


def get_output_layer(network: "transformers.PreTrainedModel") -> Any:
    """Return the output layer, which computes the logits of tokens; None if there is none."""
    return cast(Any, network).get_output_embeddings()


def get_output_bias(network: "transformers.PreTrainedModel") -> "torch.nn.Parameter | None":
    """Return the bias of the output layer, (tokens,); None if there is none."""
    return cast("torch.nn.Parameter | None", getattr(get_output_layer(network), "bias", None))


def is_tied(network: "transformers.PreTrainedModel") -> bool:
    """Return whether the output layer shares its weights with the input embeddings."""
    output = get_output_layer(network)
    return output is not None and output.weight.data_ptr() == get_embeddings(network).data_ptr()
