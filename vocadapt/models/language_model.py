"""LanguageModel: a pretrained model with its network, opened by a folder or a hub name.

Loading the network takes seconds; the attributes of `ModelFolder` do not need it.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from vocadapt.errors import InputError
from vocadapt.models.loading import load_network
from vocadapt.models.model_folder import ModelFolder, name_of
from vocadapt.models.transformers_tokenizer import load_tokenizer
from vocadapt.system.files import check_path, expand_path, show_path

if TYPE_CHECKING:
    import transformers

FILES = ("*.json", "*.txt", "*.safetensors")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
# Ends of file names: no hub model has such a name.
FILE_ENDINGS = (".txt", ".json", ".safetensors", ".bin", ".model", ".vocab", ".zip", ".gz")


class UnknownModelError(InputError):
    """There is no model of this name on the machine, and none was downloaded. `name`: that name."""

    def __init__(self, name: str, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy, code="unknown-model")
        self.name = name


@dataclass(frozen=True, eq=False, repr=False)
class LanguageModel(ModelFolder):
    """A local model: its files, its tokenizer and its network, each loaded on first use."""

    @cached_property
    def tokenizer(self) -> "transformers.PreTrainedTokenizerFast":
        """The transformers tokenizer; it gives the same tokens as `fast_tokenizer`, and does not
        truncate.
        """
        return load_tokenizer(self)

    @cached_property
    def network(self) -> "transformers.PreTrainedModel":
        """The network with its stored head, in evaluation mode and its stored dtype."""
        return load_network(self).network

    @cached_property
    def reader(self) -> "transformers.PreTrainedModel":
        """The network in float32, for inference: on a CPU, float16 takes six times as long."""
        network = load_network(self).network
        network.float()
        return network


def open_model(
    name_or_folder: str | Path, offline: bool | None = None, lowercase: bool | None = None
) -> LanguageModel:
    """Open a model from a folder, a vocab.txt, or a hub name (downloaded once, then read from the
    local cache).

    offline: whether to use only the local cache (default: the environment variable HF_HUB_OFFLINE).
    lowercase: whether a bare vocab.txt is uncased (default: inferred).
    Raises InputError if there is no such model. A name that may be a mistyped path is not sent to
    the hub (`check_hub_name`).
    """
    path = expand_path(name_or_folder)
    if _exists(path):
        check_path(path)
        return LanguageModel(path.resolve(), name_of(path.resolve()), lowercase)
    name = str(name_or_folder)
    check_hub_name(name)
    return LanguageModel(download_model(name, offline), name, lowercase)


def check_hub_name(name: str) -> None:
    """Raise InputError if a name that is not a path here is not a hub name, or may be a mistyped
    path: the name of a user's file must not be sent to the hub.

    It may be one if it ends like a file, or begins with a folder that is here, as models/my-bert
    does where there is a folder `models`; in the second case a model in the local cache is opened.
    """
    if not HUB_NAME.fullmatch(name) or name.lower().endswith(FILE_ENDINGS):
        raise InputError(
            f"{show_path(name)}: no such file or folder.",
            "Give a model folder, a hub name, or a vocab.txt.",
            code="missing-file",
        )
    if begins_with_folder(name) and not is_cached(name):
        raise InputError(
            f"{show_path(name)}: no such file or folder.",
            f"Check the spelling. There is a folder {name.partition('/')[0]} here, so this is not"
            " looked up on the model hub: for that, work in another folder.",
            code="missing-file",
        )


def begins_with_folder(name: str) -> bool:
    """Return whether a name of several parts begins with a folder in the working directory."""
    first, _, rest = name.partition("/")
    return bool(rest) and os.path.isdir(first)


def _exists(path: Path) -> bool:
    """Return whether a path exists, readable or not; False for a string that cannot be a path."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def download_model(name: str, offline: bool | None = None, files: tuple[str, ...] = FILES) -> Path:
    """Return the local folder of a hub model; raises InputError if it is not cached and may not be
    downloaded.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    if offline is None:
        offline = os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0")
    try:
        return Path(snapshot_download(name, allow_patterns=list(files), local_files_only=offline))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = "it could not be downloaded from the model hub"
        if offline:
            reason = "offline mode, nothing is downloaded"
        raise UnknownModelError(
            name,
            f"{name}: no folder of this name here, and no model of this name in the local cache"
            f" ({reason}).",
            "Check the name, or give the folder of a saved model.",
        ) from error


def is_cached(name: str) -> bool:
    """Return whether a hub model is in the local cache and can be opened without downloading."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False


def filter_cached(names: Iterable[str]) -> tuple[str, ...]:
    """Return the hub names that are in the local cache, in their order."""
    return tuple(name for name in names if is_cached(name))
