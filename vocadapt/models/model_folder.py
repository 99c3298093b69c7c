"""ModelFolder: the files of a pretrained model, read without torch and transformers.

A model is a folder, or a bare vocab.txt if only the vocabulary is needed. Reading the vocabulary,
the splitter or the embeddings takes a fraction of a second. Weights are read only from safetensors
files, and no code of a model is run.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.checks.config_rules import read_config
from vocadapt.models.config_ids import find_named_tokens
from vocadapt.models.config_sizes import count_positions
from vocadapt.models.embedding_matrix.stored import find_embeddings, read_embeddings
from vocadapt.models.model_files import GENERATION
from vocadapt.spaces.space import EmbeddingSpace, TokenKinds
from vocadapt.system.files import read_json_object
from vocadapt.text.splitter import Splitter
from vocadapt.text.summary import Summarized, Summary
from vocadapt.vocabulary.families import (
    Vocabulary,
    explain_casing,
    family_of,
    read_roles,
    read_tokenizer,
    vocabulary_of,
)
from vocadapt.vocabulary.families.files.tokenizer_checks import TOKENIZER

LOG = logging.getLogger(__name__)
GENERIC_NAMES = ("model", "checkpoint", "final", "output")  # folder names that identify no model
SNAPSHOT = re.compile(r"models--(.+?)[/\\]snapshots[/\\]")  # in the path of a cached hub model


@dataclass(frozen=True, eq=False, repr=False)
class ModelFolder(Summarized):
    """The files of a local model, each read on first use.

    path: a folder, or a bare vocab.txt, which has a vocabulary and a splitter but no embeddings.
    lowercase: whether a bare vocab.txt, or a folder that does not state it, is uncased; None to
        infer it.
    """

    path: Path
    name: str
    lowercase: bool | None = None

    def summarize(self) -> Summary:
        """Return the name and the place; nothing is read, so that any path can be shown."""
        return Summary(self.name, {"path": str(self.path)})

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
        tokenizer = read_tokenizer(self.path, self.lowercase)
        if self.casing_note:
            LOG.warning("%s: %s", self.name, self.casing_note)
        return tokenizer

    @cached_property
    def limits(self) -> Mapping[str, Any]:
        """The truncation and the padding in tokenizer.json, which are off while a text is read."""
        file = self.path / TOKENIZER
        stored = read_json_object(file) if file.is_file() else {}
        return {name: stored[name] for name in ("truncation", "padding") if stored.get(name)}

    @cached_property
    def casing_note(self) -> str:
        """How the casing of the folder was inferred, and what another reading would change; "" if
        there is no doubt.
        """
        return explain_casing(self.path, self.lowercase)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens by id, and the special tokens that the files declare."""
        vocabulary = vocabulary_of(self.fast_tokenizer)
        declared = read_roles(self.path, self.fast_tokenizer)
        named = find_named_tokens(self.path, vocabulary.tokens, vocabulary.reserved_tokens)
        return replace(vocabulary, declared_roles=declared, named=named)

    @cached_property
    def splitter(self) -> Splitter:
        """The model's normalizer and pre-tokenizer, which split text into words."""
        return family_of(self.fast_tokenizer).make_splitter(self.fast_tokenizer)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The content of config.json."""
        if self.path.is_file():
            raise InputError(
                f"{self.path} is a file, not a model folder.",
                "Give a model folder or a hub name.",
                code="bare-vocabulary",
            )
        return read_config(self.path)

    @cached_property
    def generation(self) -> Mapping[str, Any]:
        """The content of generation_config.json; empty if there is none."""
        file = self.path / GENERATION
        return read_json_object(file) if file.is_file() else {}

    def check_rows(self) -> None:
        """Raise InputError if the tokenizer has more tokens than the embedding matrix has rows.

        Only the headers of the weights are read, so this can come before any work.
        """
        tokens = len(self.vocabulary)
        rows = find_embeddings(self)[1].shape[0]
        if tokens > rows:
            raise InputError(
                f"{self.path}: its tokenizer has {tokens:,} tokens and its embedding matrix only"
                f" {rows:,} rows.",
                "Tokenizer and weights do not belong together: check where the files came from.",
                code="more-tokens-than-rows",
            )

    def check_finite(self, is_finite: NDArray[np.bool_]) -> None:
        """Raise InputError if the embedding of a token is not finite; the first one is named.

        is_finite: (tokens,) bool. Rows without a token may hold anything.
        """
        faulty = np.flatnonzero(~is_finite)
        if len(faulty):
            raise InputError(
                f"{self.path}: {len(faulty):,} of {len(is_finite):,} tokens have an embedding that"
                f" is not finite, {self.vocabulary.tokens[faulty[0]]!r} (id {faulty[0]:,}) first.",
                "Download or save the model again, or give these tokens an embedding, such as the"
                " mean of the others.",
                code="not-finite",
            )

    @cached_property
    def space(self) -> EmbeddingSpace:
        """The input embeddings (tokens, width) float32, in the order of the token ids."""
        self.check_rows()
        rows = read_embeddings(self)
        tokens = self.vocabulary.tokens
        matrix = np.ascontiguousarray(rows[: len(tokens)], dtype=np.float32)
        self.check_finite(np.isfinite(np.abs(matrix).max(axis=1)))
        return EmbeddingSpace(tokens, matrix, name=self.name, kinds=self._find_kinds(tokens))

    @cached_property
    def word_space(self) -> EmbeddingSpace:
        """The embeddings with the names of their tokens (`Vocabulary.names`), under which they can
        be compared with word vectors.
        """
        names, tokens = self.vocabulary.names, self.vocabulary.tokens
        if names == tokens:
            return self.space
        return replace(self.space, words=names, kinds=self._find_kinds(names))

    def _find_kinds(self, names: Sequence[str]) -> TokenKinds:
        return self.vocabulary.find_kinds(names, self.vocabulary.tokens, self.splitter)

    @property
    def dim(self) -> int:
        """Width of the embeddings; that of the layers may be larger (ALBERT)."""
        return self.space.dim

    @property
    def positions(self) -> int | None:
        """Largest number of tokens of an input, special tokens included; None if unlimited."""
        return count_positions(self.config)


def describe_id(model: ModelFolder, i: int) -> str:
    """Describe an id: by its token; by its row after the tokens if the embedding has no token; or
    by the id itself if there is no embedding.
    """
    tokens = model.vocabulary.tokens
    n_rows = model.config.get("vocab_size", 0)
    if 0 <= i < len(tokens):
        return tokens[i]
    if len(tokens) <= i < n_rows:
        return f"row {i - len(tokens)} after the tokens"
    return f"id {i}"


def name_of(path: Path) -> str:
    """Return the name of a model: that of its folder, or of the parent folder if the name of the
    folder is generic, such as "final".
    """
    if path.name in GENERIC_NAMES and path.parent.name not in ("", "models"):
        return path.parent.name
    return path.name
