"""LanguageModel: the one place that finds, reads and checks a pretrained model.

A model is a hub name, a folder, or, where only the vocabulary matters, a bare vocab.txt. Its parts
are read when first asked for: the vocabulary, the splitter and the wordpiece rows need neither
torch nor transformers and take a fraction of a second; the network with its head takes seconds.
Only safetensors are read, and no code of a model is ever run.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.files import check_path, expand_path, show_path
from vocadapt.models.config_checks import read_config
from vocadapt.models.weights import NUMBERS, read_headers
from vocadapt.models.weights import weight_files as weight_files  # others take it from here
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families import Vocabulary, family_of, read_tokenizer, vocabulary_of

if TYPE_CHECKING:
    import transformers

ROWS = "word_embeddings.weight"  # how the wordpiece rows of every BERT-type architecture are named
FILES = ("*.json", "*.txt", "*.safetensors")
UNTELLING = (
    "model",
    "checkpoint",
    "final",
    "output",
)  # names of folders that every model could have
SNAPSHOT = re.compile(
    r"models--(.+?)[/\\]snapshots[/\\]"
)  # how the hub's cache names a model's folder
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A local model: its files and its parts, each loaded on first use.

    `path` is a folder, or a bare vocab.txt, which has a vocabulary and a splitter but no rows and
    no network.
    """

    path: Path
    name: str
    lowercase: bool | None = None  # casing of a bare vocab.txt, where it is given and not inferred

    @property
    def hub_name(self) -> str | None:
        """Its name on the hub, where its files lie in the hub's cache."""
        found = SNAPSHOT.search(str(self.path))
        return found[1].replace("--", "/") if found else None

    @property
    def architecture(self) -> str:
        """The class that its config.json says it was saved as; "" where it names none."""
        return str((self.config.get("architectures") or [""])[0])

    @cached_property
    def fast_tokenizer(self) -> Tokenizer:
        """The tokenizer of the tokenizers library, without truncation."""
        return read_tokenizer(self.path, self.lowercase)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens by id."""
        return vocabulary_of(self.fast_tokenizer)

    @cached_property
    def splitter(self) -> Splitter:
        """The model's own normalizer and pre-tokenizer: what makes words out of text."""
        return family_of(self.fast_tokenizer).make_splitter(self.fast_tokenizer)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """config.json, as it is written."""
        if self.path.is_file():
            raise InputError(
                f"{self.path} is a vocabulary without a model.",
                "Give a model folder or a hub name.",
            )
        return read_config(self.path)

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The wordpiece rows, one for each token in the order of their ids, in float32."""
        rows = read_rows(self)
        tokens = self.vocabulary.tokens
        if len(tokens) > len(rows):
            raise InputError(
                f"{self.path}: its tokenizer has {len(tokens)} tokens and its embedding matrix only"
                f" {len(rows)} rows.",
                "Tokenizer and weights do not belong together: check where the files came from.",
            )
        matrix = np.ascontiguousarray(rows[: len(tokens)], dtype=np.float32)
        kinds = self.vocabulary.find_kinds(tokens, tokens)
        return EmbeddingSpace(tokens, matrix, name=self.name, kinds=kinds)

    @cached_property
    def word_space(self) -> EmbeddingSpace:
        """The wordpiece rows under names by which words of a text find them (see
        `Vocabulary.names`), to compare them with word vectors.
        """
        names, tokens = self.vocabulary.names, self.vocabulary.tokens
        if names == tokens:
            return self.space
        return replace(self.space, words=names, kinds=self.vocabulary.find_kinds(names, tokens))

    @property
    def dim(self) -> int:
        """Width of a wordpiece row."""
        return self.space.dim

    @cached_property
    def tokenizer(self) -> "transformers.PreTrainedTokenizerFast":
        """The transformers tokenizer, cutting exactly as `fast_tokenizer` does, truncation off."""
        from vocadapt.models.loading import load_tokenizer

        return load_tokenizer(self)

    @cached_property
    def network(self) -> "transformers.PreTrainedModel":
        """The network with the head it was saved with, in evaluation mode and its stored dtype."""
        from vocadapt.models.loading import load_network

        return load_network(self).network

    @cached_property
    def reader(self) -> "transformers.PreTrainedModel":
        """The network in float32, to run on text: a CPU takes six times as long in float16."""
        from vocadapt.models.loading import load_network

        network = load_network(self).network
        network.float()
        return network


def name_of(path: Path) -> str:
    """Return the name of a model folder: its own, or that of the folder around it if its own is not
    telling.

    The folder of all models tells no more than such a name.
    """
    told = path.name in UNTELLING and path.parent.name not in ("", "models")
    return path.parent.name if told else path.name


def open_model(
    name_or_folder: str | Path, offline: bool | None = None, lowercase: bool | None = None
) -> LanguageModel:
    """Find a model: a folder, a vocab.txt, or a hub name (downloaded once, then read from the local
    cache).

    `offline` True never asks the network; None leaves it to HF_HUB_OFFLINE. `lowercase` overrules
    the casing that is inferred from a bare vocab.txt. Raises InputError when there is no such
    model.
    """
    path = expand_path(name_or_folder)
    if _exists(path):
        check_path(path)
        return LanguageModel(path.resolve(), name_of(path.resolve()), lowercase)
    name = str(name_or_folder)
    if not HUB_NAME.fullmatch(name):
        raise InputError(
            f"{show_path(name)}: no such file or folder.",
            "Give a model folder, a hub name, or a vocab.txt.",
        )
    return LanguageModel(download(name, offline), name, lowercase)


def _exists(path: Path) -> bool:
    """Return whether a path exists, even if it is not readable; False for names that cannot be
    paths.
    """
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def download(name: str, offline: bool | None = None, files: tuple[str, ...] = FILES) -> Path:
    """Return the local folder of a hub model; raises InputError if it is not cached and may not be
    downloaded.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    local_only = (
        os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0") if offline is None else offline
    )
    try:
        return Path(
            snapshot_download(name, allow_patterns=list(files), local_files_only=local_only)
        )
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        how = "offline" if local_only else "the model hub did not give it"
        raise InputError(
            f"{name}: no folder of this name here, and no model of this name in the local cache"
            f" ({how}).",
            "Check the name, or give the folder of a saved model.",
        ) from error


def read_rows(model: LanguageModel) -> Matrix:
    """The wordpiece embedding matrix as it is stored (rows, width), in float32."""
    from safetensors import safe_open

    file, name, dtype = find_rows(model)
    with safe_open(file, "pt" if dtype == "BF16" else "np") as tensors:  # numpy has no bfloat16
        stored = tensors.get_tensor(name)
    return np.asarray(stored.float().numpy() if dtype == "BF16" else stored, dtype=np.float32)


def find_rows(model: LanguageModel) -> tuple[Path, str, str]:
    """Return file, name and stored dtype ("F32", "F16", "BF16") of the wordpiece embedding matrix.

    Raises InputError if no file can be read, if there is no such matrix (the architecture is not
    BERT-type), and if its dtype is not supported.
    """
    architecture = model.config.get(
        "model_type", "unknown"
    )  # read first: a bare vocabulary ends here
    tensors = read_headers(model.path)
    name = next((name for name in tensors if name.endswith(ROWS)), None)
    if name is None:
        raise InputError(
            f"{model.path}: no tensor named …{ROWS} in its weights (architecture {architecture}).",
            "vocadapt works with BERT-type models. Choose a BERT-type model, such as"
            " bert-base-uncased.",
        )
    stored = tensors[name]
    if stored.dtype not in NUMBERS or len(stored.shape) != 2:
        shape = " × ".join(map(str, stored.shape))
        raise InputError(
            f"{stored.file}: the embeddings are {stored.dtype} of shape {shape}, expected a matrix"
            f" of {', '.join(NUMBERS)}.",
            "Save the model in float32.",
        )
    return stored.file, name, stored.dtype
