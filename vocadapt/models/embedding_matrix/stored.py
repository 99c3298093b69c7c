"""Find the input embeddings among the stored tensors of a model, without reading weights.

Most architectures use one of a few names, so neither torch nor transformers is needed. For all
others, the network is built without weights, and transformers returns the parameter.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.model_files import (
    NUMBERS,
    ModelFiles,
    StoredTensor,
    build_mismatch_error,
    read_headers,
)
from vocadapt.spaces.space import Matrix

if TYPE_CHECKING:
    import transformers

# Suffixes of the names of input embeddings, in the order of the search: an encoder-decoder may also
# store the shared matrix under the names of its encoder and decoder.
NAMES = (
    "shared.weight",  # T5
    "word_embeddings.weight",  # BERT, DistilBERT, ELECTRA, RoBERTa, DeBERTa, ALBERT, BLOOM
    "tok_embeddings.weight",  # ModernBERT
    "embed_tokens.weight",  # Llama, Qwen, Gemma
    "wte.weight",  # GPT-2
    "embed_in.weight",  # GPT-NeoX
    "word_embedding.weight",  # XLNet
    "tokens_embed.weight",  # GPT
)


def find_embeddings(model: ModelFiles) -> tuple[str, StoredTensor]:
    """Return the name and the stored tensor of the input embeddings of a model.

    Raises InputError if a file cannot be read, if there are no embeddings, if their number is not
    the `vocab_size` of config.json, and if their dtype is not supported.
    """
    # 1. Read config.json first: this raises InputError for a bare vocabulary file.
    config = model.config
    tensors = read_headers(model.path)

    # 2. Find the name.
    name = find_by_name(tensors, config.get("vocab_size"))
    if name is None:
        name = _find_by_class(model, tensors)

    # 3. Check dtype and shape.
    stored = tensors[name]
    if stored.dtype not in NUMBERS or len(stored.shape) != 2:
        shape = " × ".join(map(str, stored.shape))
        raise InputError(
            f"{stored.file}: the embeddings are {stored.dtype} of shape {shape}, expected a matrix"
            f" of {', '.join(NUMBERS)}.",
            "Save the model in float32.",
        )
    stated = config.get("vocab_size")
    if stated is not None and stated != stored.shape[0]:
        raise build_mismatch_error(
            model.path, f"vocab_size is {stated:,}, but the weights have {stored.shape[0]:,}"
        )
    return name, stored


def find_by_name(tensors: Mapping[str, StoredTensor], rows: int | None = None) -> str | None:
    """Return the only name with a suffix of input embeddings; None if there is none, or if several
    names have the same suffix. A matrix with `rows` rows is preferred.

    Example: of transformer.wte.weight and transformer.wpe.weight it is the first.
    """
    fitting = [name for name, stored in tensors.items() if stored.shape[:1] == (rows,)]
    for names in (fitting, list(tensors)):
        for ending in NAMES:
            found = [name for name in names if f".{name}".endswith(f".{ending}")]
            if len(found) == 1:
                return found[0]
            if found:
                return None
    return None


def read_embeddings(model: ModelFiles) -> Matrix:
    """Read the stored input embedding matrix (rows, width), as float32."""
    from safetensors import safe_open

    name, stored = find_embeddings(model)
    if stored.dtype != "BF16":
        with safe_open(stored.file, "np") as tensors:
            return np.asarray(tensors.get_tensor(name), dtype=np.float32)
    with safe_open(stored.file, "pt") as tensors:  # NumPy has no bfloat16
        return np.asarray(tensors.get_tensor(name).float().numpy())


def _find_by_class(model: ModelFiles, tensors: Mapping[str, StoredTensor]) -> str:
    """Build the network without weights, and return the stored name of its input embeddings."""
    from vocadapt.models.layers import find_input_embeddings
    from vocadapt.models.network_class import SUPPORTED, build_without_weights

    network = build_without_weights(model)
    layer = find_input_embeddings(network)
    if layer is not None:
        for name in _list_names(network, layer.weight):
            if name in tensors:
                return name
    architecture = model.config.get("model_type", "unknown")
    raise InputError(
        f"{model.path}: the weights have no tensor with the name of the input embeddings of its"
        f" architecture ({architecture}).",
        f"Choose {SUPPORTED}.",
        code="no-embeddings",
    )


def _list_names(network: "transformers.PreTrainedModel", weight: object) -> list[str]:
    """List the names under which a parameter may be stored: with and without the prefix of the
    network without its head.
    """
    own = [
        name for name, value in network.named_parameters(remove_duplicate=False) if value is weight
    ]
    prefix = f"{network.base_model_prefix}."
    return [*own, *(name.removeprefix(prefix) for name in own), *(prefix + name for name in own)]
