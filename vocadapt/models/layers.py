"""The parts of a network that depend on the vocabulary: embeddings, output layer, output bias."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import torch
    import transformers


def input_rows(network: "transformers.PreTrainedModel") -> "torch.nn.Parameter":
    """The wordpiece embedding matrix (rows, width)."""
    return cast("torch.nn.Parameter", network.get_input_embeddings().weight)


def output_layer(network: "transformers.PreTrainedModel") -> Any:
    """The layer that scores tokens, None where the head does not."""
    return cast(Any, network).get_output_embeddings()


def output_bias(network: "transformers.PreTrainedModel") -> "torch.nn.Parameter | None":
    """The bias of that layer, one number for each token."""
    return cast("torch.nn.Parameter | None", getattr(output_layer(network), "bias", None))


def is_tied(network: "transformers.PreTrainedModel") -> bool:
    """Whether the output layer shares the input rows."""
    output = output_layer(network)
    return output is not None and output.weight.data_ptr() == input_rows(network).data_ptr()
