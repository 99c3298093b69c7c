"""ModelFolder: the files of a pretrained model, read without torch and transformers.

A model is a folder, or a bare vocab.txt if only the vocabulary is needed. Reading the vocabulary,
the splitter or the embeddings takes a fraction of a second. Weights are read only from safetensors
files, and no code of a model is run.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.model_files import NUMBERS, read_config, read_headers
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.text.words import Splitter
from vocadapt.vocabulary.families import Vocabulary, family_of, read_tokenizer, vocabulary_of

# End of the name of the embedding matrix in every BERT-type architecture.
ROWS = "word_embeddings.weight"
GENERIC_NAMES = ("model", "checkpoint", "final", "output")  # folder names that identify no model
SNAPSHOT = re.compile(r"models--(.+?)[/\\]snapshots[/\\]")  # in the path of a cached hub model


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """The files of a local model, each read on first use.

    path: a folder, or a bare vocab.txt, which has a vocabulary and a splitter but no embeddings.
    lowercase: whether a bare vocab.txt is uncased; None to infer it.
    """

    path: Path
    name: str
    lowercase: bool | None = None

    @property
    def hub_name(self) -> str | None:
        """The name of a hub model in the local cache; None for any other model."""
        found = SNAPSHOT.search(str(self.path))
        if found is None:
            return None
        return found[1].replace("--", "/")

    @property
    def architecture(self) -> str:
        """The class that config.json names; "" if it names none."""
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
        """The model's normalizer and pre-tokenizer, which split text into words."""
        return family_of(self.fast_tokenizer).make_splitter(self.fast_tokenizer)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The content of config.json."""
        if self.path.is_file():
            raise InputError(
                f"{self.path} is a vocabulary file, not a model.",
                "Give a model folder or a hub name.",
            )
        return read_config(self.path)

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The input embeddings (tokens, width) float32, in the order of the token ids."""
        rows = read_embeddings(self)
        tokens = self.vocabulary.tokens
        if len(tokens) > len(rows):
            raise InputError(
                f"{self.path}: its tokenizer has {len(tokens)} tokens and its embedding matrix only"
                f" {len(rows)} rows.",
                "Tokenizer and weights do not belong together: check where the files came from.",
            )
        matrix = np.ascontiguousarray(rows[: len(tokens)], dtype=np.float32)
        return EmbeddingSpace(
            tokens, matrix, name=self.name, kinds=self.vocabulary.find_kinds(tokens, tokens)
        )

    @cached_property
    def word_space(self) -> EmbeddingSpace:
        """The embeddings with the names of their tokens (`Vocabulary.names`), under which they can
        be compared with word vectors.
        """
        names, tokens = self.vocabulary.names, self.vocabulary.tokens
        if names == tokens:
            return self.space
        return replace(self.space, words=names, kinds=self.vocabulary.find_kinds(names, tokens))

    @property
    def dim(self) -> int:
        """Width of the embeddings."""
        return self.space.dim


def name_of(path: Path) -> str:
    """Return the name of a model: that of its folder, or of the parent folder if the name of the
    folder is generic, such as "final".
    """
    if path.name in GENERIC_NAMES and path.parent.name not in ("", "models"):
        return path.parent.name
    return path.name


def read_embeddings(model: ModelFolder) -> Matrix:
    """Read the stored input embedding matrix (rows, width), as float32."""
    from safetensors import safe_open

    file, name, dtype = find_embeddings(model)
    if dtype != "BF16":
        with safe_open(file, "np") as tensors:
            return np.asarray(tensors.get_tensor(name), dtype=np.float32)
    with safe_open(file, "pt") as tensors:  # NumPy has no bfloat16
        return np.asarray(tensors.get_tensor(name).float().numpy())


def find_embeddings(model: ModelFolder) -> tuple[Path, str, str]:
    """Return file, name and stored dtype ("F32", "F16", "BF16") of the wordpiece embedding matrix.

    Raises InputError if a file cannot be read, if there is no such matrix (the architecture is not
    BERT-type), and if its dtype is not supported.
    """
    # Read config.json first: this raises InputError for a bare vocabulary file.
    architecture = model.config.get("model_type", "unknown")
    tensors = read_headers(model.path)
    name = next((name for name in tensors if name.endswith(ROWS)), None)
    if name is None:
        raise InputError(
            f"{model.path}: no tensor named …{ROWS} in its weights (architecture {architecture}).",
            "Choose a BERT-type model, such as bert-base-uncased.",
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
