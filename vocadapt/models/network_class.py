"""The transformers class of a model folder, and a network of that class without weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.extension_size import is_extended
from vocadapt.models.model_files import ModelFiles
from vocadapt.system.files import show_path
from vocadapt.text.tokenization import is_library_error, summarize_error

if TYPE_CHECKING:
    import transformers

SAFE = {"trust_remote_code": False, "local_files_only": True}  # options of from_pretrained
SUPPORTED = (
    "an encoder or decoder of transformers with token embeddings, such as BERT, DistilBERT,"
    " ELECTRA, RoBERTa, XLM-R, DeBERTa, ALBERT, ModernBERT, GPT-2, Llama or Qwen"
)


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
            code="library-failed",
        ) from error


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


def get_network_class(model: ModelFiles) -> Any:
    """Return the transformers class that config.json names, or the class without a head if
    config.json has no `architectures`. Raises InputError if the class is unknown or not a network.
    """
    import transformers

    named = model.architecture
    if not named and model.config.get("architectures") is None:
        return _get_headless_class(model)
    if not named:
        raise _build_unnamed_error(model)
    kind = getattr(_get_classes(model), named, None)
    if not isinstance(kind, type) or not issubclass(kind, transformers.PreTrainedModel):
        raise _build_unknown_error(model)
    return kind


def get_class_name(model: ModelFiles) -> str:
    """Return the name of the class that `get_network_class` returns. A class that config.json names
    is not imported: importing torch takes seconds.
    """
    if not model.architecture:
        return str(get_network_class(model).__name__)
    if model.architecture not in dir(_get_classes(model)):
        raise _build_unknown_error(model)
    return model.architecture


def get_auto_class(model: ModelFiles, name: str) -> Any:
    """Return the Auto class of this name; for an exBERT, its classes are registered first."""
    import transformers

    _get_classes(model)
    return getattr(transformers, name)


def load_config(model: ModelFiles) -> "transformers.PreTrainedConfig":
    """Load the config of a model with transformers."""
    with convert_library_errors(
        f"{show_path(model.path)}: transformers cannot read its config.json"
    ):
        return run_quietly(  # type: ignore[no-any-return]
            lambda: get_auto_class(model, "AutoConfig").from_pretrained(model.path, **SAFE)
        )


def build_without_weights(
    model: ModelFiles, vocab_size: int | None = None
) -> "transformers.PreTrainedModel":
    """Build a network of the model's class on the meta device, which allocates no memory.

    vocab_size: number of tokens; None for that of config.json.
    """
    import torch

    kind = get_network_class(model)
    config = load_config(model)
    if vocab_size is not None:
        config.get_text_config().vocab_size = vocab_size
    with (
        convert_library_errors(f"{show_path(model.path)}: transformers cannot build its network"),
        torch.device("meta"),
    ):
        return run_quietly(lambda: kind(config))  # type: ignore[no-any-return]


def _get_classes(model: ModelFiles) -> Any:
    """Return the module that defines a model's class: transformers, or our own for an exBERT."""
    import transformers

    if not is_extended(model.config):
        return transformers
    import vocadapt.models.exbert

    return vocadapt.models.exbert


def _get_headless_class(model: ModelFiles) -> Any:
    """Return the class without a head of the model type, as in published DeBERTa-v3 folders."""
    from transformers import MODEL_MAPPING

    kind: Any = MODEL_MAPPING.get(type(load_config(model)), None)
    if kind is None:
        raise _build_unnamed_error(model)
    return kind


def _build_unknown_error(model: ModelFiles) -> InputError:
    import transformers

    return InputError(
        f"{model.path}: unknown architecture {model.architecture!r}, not one of transformers"
        f" {transformers.__version__}.",
        f"The code of custom models is never run: choose {SUPPORTED}.",
        code="unknown-architecture",
    )


def _build_unnamed_error(model: ModelFiles) -> InputError:
    return InputError(
        f"{model.path}: config.json names no architecture.",
        'Add "architectures": ["BertModel"], for example.',
        code="no-architecture",
    )
