"""Load the transformers network and tokenizer of a model folder.

Some problems that transformers only warns about, such as missing weights, are errors here.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.files import show_path
from vocadapt.models.extension_size import is_extended
from vocadapt.models.model_files import CONFIG, check_network, read_headers
from vocadapt.models.model_folder import ModelFolder, find_embeddings
from vocadapt.text.tokenization import is_library_error, summarize_error

if TYPE_CHECKING:
    import transformers

ALIGNMENT = 64  # bytes, as in the allocator of torch
SAFE = {"trust_remote_code": False, "local_files_only": True}  # options of from_pretrained
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
            f"{model.path}: its class is {type(network).__name__}, but its files lack {len(missing)}"
            f" tensors of that class ({', '.join(missing[:2])} …); they would be random.",
            "Correct `architectures` in config.json to the class that was saved (BertModel for a"
            " model without a head).",
        )
    network.eval()
    align_memory(network)
    return Loaded(network, tuple(sorted(report["unexpected_keys"])))


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
    """Load the network with the report of transformers on missing and unexpected tensors."""
    kind = get_network_class(model)
    # Use the dtype of the stored weights, which may differ from that in config.json.
    dtype = DTYPES.get(find_embeddings(model)[2], "auto")
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


@contextmanager
def convert_library_errors(problem: str) -> Iterator[None]:
    """Convert any exception that transformers or tokenizers raise within the context into an
    InputError with this problem.

    Use it only for calls of these libraries on a user's files, whose exceptions the files cause.
    """
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if not is_library_error(error):
            raise
        raise InputError(
            f"{problem} ({type(error).__name__}: {summarize_error(error)}).",
            "Check where the files came from, or download the model again.",
        ) from error


def get_network_class(model: ModelFolder) -> Any:
    """Return the transformers class that config.json names; raises InputError if it is unknown or
    no network.
    """
    import transformers

    named = model.architecture
    if not named:
        raise InputError(
            f"{model.path}: config.json names no architecture.",
            'Add "architectures": ["BertModel"], for example.',
        )
    kind = getattr(_get_classes(model), named, None)
    if (
        kind is None
        or not isinstance(kind, type)
        or not issubclass(kind, transformers.PreTrainedModel)
    ):
        raise InputError(
            f"{model.path}: unknown architecture {named!r}, not one of transformers"
            f" {transformers.__version__}.",
            "The code of custom models is never run: choose a BERT-type model of transformers.",
        )
    return kind


def _get_classes(model: ModelFolder) -> Any:
    """Return the module that defines a model's class: transformers, or our own for an exBERT."""
    import transformers

    if not is_extended(model.config):
        return transformers
    import vocadapt.models.exbert

    return vocadapt.models.exbert


def get_auto_class(model: ModelFolder, name: str) -> Any:
    """Return the Auto class of this name; for an exBERT, its classes are registered first."""
    import transformers

    _get_classes(model)
    return getattr(transformers, name)


def load_tokenizer(model: ModelFolder) -> "transformers.PreTrainedTokenizerFast":
    """Load the folder's tokenizer: with the class that the folder names, if that class tokenizes
    like the stored tokenizer, else with the generic class.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # 1. Load it with the class that the folder names.
    stored = json.loads(model.fast_tokenizer.to_str())
    if (model.path / CONFIG).exists():
        _ = model.config  # raises InputError for an invalid config.json
    options: dict[str, Any] = dict(SAFE)
    if not (model.path / "tokenizer.json").is_file():
        options["do_lower_case"] = model.splitter.lowercase
    with convert_library_errors(f"{show_path(model.path)}: transformers cannot open its tokenizer"):
        tokenizer = run_quietly(lambda: AutoTokenizer.from_pretrained(model.path, **options))
    # 2. That class may rebuild parts of the tokenizer, as transformers 5 does for BERT. If a part
    #    differs from the stored one, use the generic class, which keeps all parts.
    loaded = json.loads(tokenizer.backend_tokenizer.to_str())
    if any(loaded[part] != stored[part] for part in ("normalizer", "pre_tokenizer", "model")):
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=model.fast_tokenizer,
            model_max_length=tokenizer.model_max_length,
            padding_side=tokenizer.padding_side,
            **tokenizer.special_tokens_map,
        )
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer  # type: ignore[no-any-return]


def run_quietly(work: Any) -> Any:
    """Call a function that uses transformers without progress bars and warnings; the caller must
    check for problems itself.
    """
    from transformers.utils import logging

    level = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return work()
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
