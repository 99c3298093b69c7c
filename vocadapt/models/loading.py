"""Load the transformers network of a model folder.

Some problems that transformers only warns about, such as missing weights, are errors here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.checks.network_sizes import check_network
from vocadapt.models.embedding_matrix.stored import find_embeddings
from vocadapt.models.layers import get_embeddings
from vocadapt.models.model_files import read_headers
from vocadapt.models.model_folder import ModelFolder
from vocadapt.models.network_class import (
    SAFE,
    convert_library_errors,
    get_network_class,
    run_quietly,
)
from vocadapt.models.token_tensors import list_token_tensors
from vocadapt.system.files import show_path

if TYPE_CHECKING:
    import transformers

ALIGNMENT = 64  # bytes, as in the allocator of torch
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True, eq=False)
class Loaded:
    """A network, and the names of stored tensors that its class does not have."""

    network: "transformers.PreTrainedModel"
    unused: tuple[str, ...]


def load_network(model: ModelFolder) -> Loaded:
    """Load the network of the class in the folder's `architectures`, in evaluation mode and its
    stored dtype.

    Raises InputError for an architecture that transformers does not have, and for missing weights,
    which transformers would initialize at random with only a warning.
    """
    network, report = _load_with_report(model)
    missing = sorted(report["missing_keys"])
    # A model that was saved without a pooler is loaded without one.
    if missing and all("pooler." in name for name in missing):
        network, report = _load_with_report(model, add_pooling_layer=False)
        missing = sorted(report["missing_keys"])
    if missing:
        raise InputError(
            f"{model.path}: its class is {type(network).__name__}, but its files lack"
            f" {len(missing)} tensors of that class ({', '.join(missing[:2])} …); they would be"
            " random.",
            "Correct `architectures` in config.json to the class that was saved (BertModel for a"
            " model without a head).",
            code="missing-tensors",
        )
    network.eval()
    align_memory(network)
    check_token_rows(model, network)
    return Loaded(network, tuple(sorted(report["unexpected_keys"])))


def check_token_rows(model: ModelFolder, network: "transformers.PreTrainedModel") -> None:
    """Raise InputError if the embedding of a token is not finite."""
    rows = get_embeddings(network).detach()[: len(model.vocabulary)]
    model.check_finite(rows.isfinite().all(dim=1).numpy())


def clear_free_rows(model: ModelFolder, network: "transformers.PreTrainedModel") -> None:
    """Set the entries without a token that are not finite to 0, before a training.

    Some checkpoints have NaN there. No input reads them, but a head would compute the score of
    each, and the sum of the weights would look as if the training had diverged.
    """
    for value in list_token_tensors(network).values():
        free = value.data[len(model.vocabulary) :]
        free[~free.isfinite()] = 0


def align_memory(network: "transformers.PreTrainedModel") -> None:
    """Copy every weight that is not aligned in memory.

    Weights are memory-mapped, so their addresses depend on the length of the file's header. The
    kernels that a CPU chooses depend on the alignment, and their results may differ in the last
    bit: without copies, two models with different headers would not be bit-equal.
    """
    for parameter in network.parameters():
        if parameter.data_ptr() % ALIGNMENT:
            parameter.data = parameter.data.clone()


def _load_with_report(
    model: ModelFolder, **options: Any
) -> tuple["transformers.PreTrainedModel", dict[str, Any]]:
    kind = get_network_class(model)
    model.check_rows()
    # Use the dtype of the stored weights, which may differ from that in config.json.
    dtype = DTYPES.get(find_embeddings(model)[1].dtype, "auto")
    check_network(model.path, model.config, read_headers(model.path))
    with convert_library_errors(f"{show_path(model.path)}: config.json and weights do not match"):
        return load_weights(model, kind, dtype=dtype, **options)


def load_weights(model: ModelFolder, kind: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Load a network of class `kind` from a folder with the report of transformers on missing and
    unexpected tensors.
    """
    loaded: tuple[Any, dict[str, Any]] = run_quietly(
        lambda: kind.from_pretrained(
            model.path, output_loading_info=True, use_safetensors=True, **SAFE, **options
        )
    )
    return loaded
