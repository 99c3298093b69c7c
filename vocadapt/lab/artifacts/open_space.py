"""Open any space by name: the wordpiece embeddings of a model, or word vectors."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import expand_path
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.diagnostics.evaluation import detect_casing
from vocadapt.spaces.io.storage import VECTORS, load_space
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter


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
    def special(self) -> frozenset[str]:
        """The model's special tokens; none for word vectors."""
        return self.model.vocabulary.special if self.model else frozenset()

    @cached_property
    def added(self) -> frozenset[str]:
        """Tokens that the pretrained model did not have; empty for word vectors.

        They are known for a model adapted here. For other models they are the tokenizer's added
        tokens.
        """
        if self.model is None:
            return frozenset()
        from vocadapt.models.adapted_model import before_of

        before = before_of(self.model)
        if before is not None:
            return frozenset(self.model.vocabulary.tokens) - frozenset(before.vocabulary.tokens)
        listed = self.model.fast_tokenizer.get_added_tokens_decoder().values()
        trained = self.model.fast_tokenizer.get_vocab(with_added_tokens=False)
        return frozenset(
            token.content for token in listed if not token.special and token.content not in trained
        )

    @cached_property
    def splitter(self) -> Splitter | None:
        """The splitter that normalizes a typed word for this space; None if words are taken
        literally.
        """
        return self.model.splitter if self.model else detect_casing(self.space)


def open_space(name: str | Path, offline: bool | None = None) -> OpenedSpace:
    """Open a folder of word vectors, a model folder, or a model by its hub name.

    Raises InputError for anything else, and for a bare vocabulary, which has no embeddings.
    """
    folder = expand_path(name)
    if os.path.isfile(folder / VECTORS):  # unlike Path, false for a name too long
        return OpenedSpace(folder, load_space(folder))
    try:
        model = open_model(name, offline)
    except InputError as error:
        raise InputError(
            f"{str(name)[:200]}: expected word vectors or a model, found neither.",
            "Give a folder that `vectors train` or `vectors import` wrote, a model folder, or a hub"
            " name.",
        ) from error
    return OpenedSpace(model.path, model.space, model)
