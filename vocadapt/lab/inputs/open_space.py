"""Open any space by name: the wordpiece embeddings of a model, or word vectors."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.diagnostics.evaluation import detect_casing
from vocadapt.spaces.io.storage import VECTORS, load_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import expand_path
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.wordpiece import find_word_kinds


@dataclass(frozen=True, eq=False)
class OpenedSpace:
    """A space, its folder, and its model (None for word vectors)."""

    folder: Path
    space: EmbeddingSpace
    model: LanguageModel | None = None

    @property
    def kind(self) -> str:
        """ "wordpieces" or "word vectors"."""
        return "wordpieces" if self.model else "word vectors"

    @cached_property
    def added(self) -> frozenset[str]:
        """Tokens that the original model did not have; empty for word vectors.

        For a model that vocadapt adapted they come from its original model, for other models from
        the tokenizer's list of added tokens.
        """
        if self.model is None:
            return frozenset()
        from vocadapt.models.adapted_model import open_base_model

        # An adapted model records its original model: tokens that it lacks were added.
        before = open_base_model(self.model)
        if before is not None:
            known = frozenset(before.vocabulary.tokens)
            added = [token not in known for token in self.model.vocabulary.tokens]
            return frozenset(compress(self.model.vocabulary.names, added))
        return self.model.vocabulary.whole

    @cached_property
    def splitter(self) -> Splitter | None:
        """The splitter that normalizes the user's queries; None if they are taken literally."""
        return self.model.splitter if self.model else detect_casing(self.space)


def open_space(name: str | Path, offline: bool | None = None) -> OpenedSpace:
    """Open a folder of word vectors, a model folder, or a model by its hub name.

    Raises InputError for anything else, and for a bare vocabulary, which has no embeddings.
    """
    folder = expand_path(name)
    if os.path.isfile(folder / VECTORS):  # Path.is_file would raise for a name that is too long
        space = load_space(folder)
        return OpenedSpace(folder, replace(space, kinds=find_word_kinds(space.words)))
    try:
        model = open_model(name, offline)
    except InputError as error:
        raise InputError(
            f"{str(name)[:200]}: expected word vectors or a model, found neither.",
            "Give a folder that `vectors train` or `vectors import` wrote, a model folder, or a hub"
            " name.",
            code="no-vectors-or-model",
        ) from error
    return OpenedSpace(model.path, model.word_space, model)
