"""Types of the initializers: inputs (Materials), results (NewEmbeddings), settings and registry."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import (
    ABOVE_ZERO,
    MAX_LEARNING_RATE,
    MAX_SEED,
    CheckedSettings,
    ExtensibleSettings,
    setting,
)
from vocadapt.spaces.alignment.alignment import Alignment
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.text.summary import SHOWN, Summarized, Summary, Table
from vocadapt.vocabulary.plan.plan import VocabularyPlan

NO_VECTOR = "without a vector in the target space"
MAX_DONORS = 5  # donors that the description of an embedding lists


class Donors(Sequence[tuple[str, float]]):
    """The (donor, weight) pairs of an embedding, created lazily: FOCUS has millions of them.

    Equal to a tuple of the same pairs.
    """

    def __init__(self, names: Sequence[str], columns: NDArray[np.int64], weights: Matrix) -> None:
        self._names, self._columns, self._weights = names, columns, weights

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(
            map(self._names.__getitem__, self._columns.tolist()),
            self._weights.tolist(),
            strict=True,
        )

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Donors, tuple)) and tuple(self) == tuple(other)


@dataclass(frozen=True)
class Provenance:
    """The origin of an embedding.

    how: description of how it was computed; donors: tokens whose embeddings were mixed, with their
        weights.
    fallback: whether another initializer computed it, because the chosen one could not.
    """

    how: str
    donors: Sequence[tuple[str, float]] = ()
    fallback: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class NewEmbeddings(Summarized):
    """Embeddings of new tokens.

    matrix: (tokens, dim) float32; provenance: the origin of each, in the same order.
    make_output_rows: computes the rows of an untied output layer, (tokens, width) float32, from the
        space of its old rows; None for the mean of the pieces.
    """

    tokens: tuple[str, ...]
    matrix: Matrix
    provenance: tuple[Provenance, ...]
    make_output_rows: Callable[[EmbeddingSpace], Matrix] | None = None

    def summarize(self) -> Summary:
        """Return the first new tokens, with the origin of each embedding."""
        sources = [source.how for source in self.provenance[:SHOWN]]
        rows = list(zip(self.tokens[:SHOWN], sources, strict=True))
        table = Table(
            ("token", "embedding"), rows, len(self.tokens), "new embeddings", frozenset({"token"})
        )
        return Summary("", {"tokens": len(self.tokens), "fallbacks": self.fallbacks}, (table,))

    @property
    def fallbacks(self) -> int:
        """Number of embeddings that another initializer computed."""
        return sum(source.fallback for source in self.provenance)


@dataclass(frozen=True)
class FittingSettings(CheckedSettings):
    """Settings of embeddings fitted to a text with Adam, which has a state for each embedding.

    If a token has fewer contexts, they are repeated, so every embedding gets `passes` × `contexts`
    updates.
    """

    contexts: int = setting(12, "number of contexts of each token", low=1, high=100_000)
    passes: int = setting(1, "passes over the contexts", low=1, high=10_000)
    length: int = setting(32, "maximum wordpieces of a context", low=4, high=4096)
    batch: int = setting(
        32, "tokens per batch", low=1, high=65_536, label="Batch size", flag="--batch-size"
    )
    lr: float = setting(
        5e-3,
        "initial learning rate, decreased to 0",
        low=ABOVE_ZERO,
        high=MAX_LEARNING_RATE,
        label="Learning rate",
        flag="--learning-rate",
    )
    seed: int = setting(1, "random seed of the contexts and of their order", high=MAX_SEED)

    def count_layers_needed(self, layers: int) -> int:
        """Return the number of layers that are computed, of `layers`."""
        raise NotImplementedError


@dataclass(frozen=True)
class DistilSettings(FittingSettings):
    """Settings of token distillation: the hidden states of one layer are matched.

    Raises InputError for an invalid layer.
    """

    layer: int = setting(
        -1, "layer whose hidden states are matched", low=-1, high=1_000, words={"last": -1}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layer < 1 and self.layer != -1:
            raise InputError(
                f"Distilled embeddings: there is no layer {self.layer} to match.",
                "Give 1 or more, or -1 for the last layer.",
                "layer",
            )

    def count_layers_needed(self, layers: int) -> int:
        """Return the number of the layer to match."""
        if self.layer < 0:
            return layers
        return self.layer


@dataclass(frozen=True)
class AttentionSettings(FittingSettings):
    """Settings of matched attention: its outputs in the first layers are matched."""

    depth: float = setting(
        0.333,
        "fraction of the layers whose attention is matched, from the first one on",
        low=ABOVE_ZERO,
        high=1,
        label="Fraction of the layers",
    )

    def count_layers_needed(self, layers: int) -> int:
        """Return the number of layers whose attention is matched, at least 1."""
        return math.ceil(self.depth * layers)


@dataclass(frozen=True)
class JoinSettings(CheckedSettings):
    """Settings of joined states: the layer, and the words that the map is fitted on."""

    layer: int = setting(
        0,
        "layer whose hidden states are mapped",
        high=1_000,
        empty="the one that recovers held-out embeddings best",
    )
    words: int = setting(
        6000, "number of the model's own words to fit the map on", low=10, high=1_000_000
    )
    ridge: float = setting(
        0.1,
        "ridge penalty of the map, a fraction of the mean variance of the states",
        low=ABOVE_ZERO,
        high=1_000,
        label="Ridge penalty",
    )
    seed: int = setting(1, "random seed of the words", high=MAX_SEED)


@dataclass(frozen=True)
class GroundingSettings(CheckedSettings):
    """Settings of grounding with Adam, which has separate state for each embedding.

    In each pass, a random part of the words of every description is masked and predicted; a decoder
    predicts all of them.
    """

    passes: int = setting(20, "passes over the glossary", low=1, high=10_000)
    length: int = setting(
        64, "maximum wordpieces of a description; longer ones are cut", low=8, high=4096
    )
    batch: int = setting(
        32, "descriptions per batch", low=1, high=65_536, label="Batch size", flag="--batch-size"
    )
    masked: float = setting(
        0.5, "fraction of the description to mask", low=ABOVE_ZERO, high=1, label="Masked fraction"
    )
    lr: float = setting(
        5e-3,
        "initial learning rate, decreased to 0",
        low=ABOVE_ZERO,
        high=MAX_LEARNING_RATE,
        label="Learning rate",
        flag="--learning-rate",
    )
    seed: int = setting(1, "random seed of the masks and of the order", high=MAX_SEED)


@dataclass(frozen=True, eq=False)
class JoinedEmbeddings:
    """Embeddings mapped from hidden states.

    matrix: (new tokens, dim) float32. is_joined: (new tokens,) bool; the others are the mean of
    their pieces, because the model cannot spell them. agreement: (new tokens,) cosine of the last
    hidden states with the embedding and with the pieces; NaN where not joined. how: their
    provenance.
    """

    matrix: Matrix
    is_joined: NDArray[np.bool_]
    agreement: Matrix
    how: str


Initialized = tuple[Matrix, tuple[Provenance, ...]]
# Trains embeddings on a text: plan, initial embeddings (tokens, dim), settings, progress → the
# trained embeddings (tokens, dim), and the number of contexts of each (tokens,).
Distil = Callable[
    [VocabularyPlan, Matrix, FittingSettings, Progress], tuple[Matrix, NDArray[np.int64]]
]

# Trains embeddings on the descriptions of a glossary: arguments as above → the trained embeddings,
# and the number of descriptions of each (tokens,).
Ground = Callable[
    [VocabularyPlan, Matrix, GroundingSettings, Progress], tuple[Matrix, NDArray[np.int64]]
]


class Joiner(Protocol):
    """Runs the network on single words that are split into pieces."""

    def join(self, materials: "Materials", settings: JoinSettings) -> JoinedEmbeddings:
        """Map hidden states to the embeddings of the new tokens of the materials."""

    def compute_states(self, words: Sequence[Sequence[str]], layer: int) -> Matrix:
        """Return the states of a layer at the last piece of each word, (words, width); raises
        InputError for a layer that the model lacks.
        """


@dataclass(frozen=True, eq=False)
class Materials:
    """Inputs of the initializers.

    plan: vocabulary plan; its `new_embeddings` are the tokens to initialize.
    model: wordpiece embeddings of the model.
    domain: word vectors of the domain, by token (see `Vocabulary.spell_words`).
    alignment: fitted from the domain (or from the target, without a domain) to the model.
    target: embeddings of a target model, or vectors trained on a text tokenized with its
    vocabulary.
    distiller: trains embeddings on a text and reports its progress; grounder: on a glossary.
    joiner: runs the network on words that are split into pieces.
    """

    plan: VocabularyPlan
    model: EmbeddingSpace
    domain: EmbeddingSpace | None = None
    alignment: Alignment | None = None
    target: EmbeddingSpace | None = None
    distiller: Distil | None = None
    progress: Progress = silent
    joiner: Joiner | None = None
    grounder: Ground | None = None

    @property
    def similarity_space(self) -> EmbeddingSpace:
        """The space in which similar tokens are found: the target, or else the domain.

        Raises InputError if there is neither.
        """
        space = self.domain if self.target is None else self.target
        if space is None:
            raise InputError(
                "These embeddings are mixed from tokens that are similar in a target space, but no"
                " target space was given.",
                "Give a target model, word vectors, or a text.",
                code="no-target-space",
            )
        return space

    @cached_property
    def donors(self) -> tuple[str, ...]:
        """Common tokens, by id: old tokens that keep their embedding and have a vector in the
        target space.

        Special and [unused] tokens, and those that the tokenizer never produces, are excluded.
        Raises InputError if there are none.
        """
        space = self.similarity_space
        kept = frozenset(self.plan.kept)
        trained = list_trained_tokens(self.plan, self.model)
        is_produced = self.model.kinds.is_produced
        common = tuple(
            token
            for token in trained
            if token in kept and has_vector(space, token) and is_produced(token)
        )
        if not common:
            raise InputError(
                f"{self.model.name} and {space.name} ({len(space):,} tokens) have no token in"
                " common that keeps its embedding.",
                "Check that both have the same language and casing.",
                code="no-common-token",
            )
        return common


@dataclass(frozen=True)
class InitializerSettings(ExtensibleSettings):
    """Settings of the initialization of new embeddings.

    Each initializer names those that only some initializers use (`Initializer.settings`), and the
    class of those that it alone has (`Initializer.own`).
    """

    method: str = setting(
        "aligned",
        "initializer of new embeddings",
        choices=lambda: INITIALIZERS,
        label="Initializer",
        flag="--initializer",
    )
    seed: int = setting(1, "random seed of random embeddings", high=MAX_SEED)
    sd: float = setting(
        0.02,
        "standard deviation of random embeddings, BERT's by default",
        high=1000,
        label="Standard deviation",
    )
    neighbors: int = setting(
        0, "neighbors used by semantic and wechsel", high=10_000, empty="3 and 10"
    )
    temperature: float = setting(0.1, "softmax temperature of wechsel", low=ABOVE_ZERO, high=1e6)
    atoms: int = setting(64, "maximum number of donors of omp", low=1, high=10_000)
    norm_matched: bool = setting(
        False,
        "scale every new embedding to the median norm of the old ones of its position class",
        label="Norm-matched",
    )


@dataclass(frozen=True)
class Initializer:
    """An initializer with its explanation, formula, source and inputs.

    make: computes the embeddings of `plan.new_embeddings`, (tokens, dim) float32.
    needs_alignment: whether it needs a fitted alignment. fits_map: whether it fits a map to the
        model's own words, which takes seconds.
    needs: input in addition to the model: "" none, "words" word vectors, "target" a target model,
        "similar" word vectors or a target model, "text" a text, "glossary" descriptions of words,
        "network" the weights of the model.
    reads_rows: whether it computes embeddings from those of old tokens, and so output rows from
        theirs.
    settings: names of the settings (`InitializerSettings`) that it uses, of those that not all
        initializers use.
    own: frozen dataclass of the settings that it alone has, each declared by `setting`.
    """

    make: Callable[[Materials, InitializerSettings], Initialized]
    about: str
    formula: str
    source: str
    needs_alignment: bool = False
    needs: str = ""
    settings: tuple[str, ...] = ()
    own: type[Any] | None = None
    reads_rows: bool = False
    fits_map: bool = False


# All initializers by name; filled by `initialize`, which imports the modules that define them.
INITIALIZERS: dict[str, Initializer] = {}


def list_trained_tokens(plan: VocabularyPlan, model: EmbeddingSpace) -> list[str]:
    """Return the old tokens with trained embeddings, by id: neither special nor [unused]."""
    base = plan.base
    return [
        token
        for token in base.tokens
        if token in model and base.position(token) not in ("special", "unused")
    ]


def has_vector(space: EmbeddingSpace, token: str) -> bool:
    """Return whether a space has a nonzero vector for a token."""
    return token in space and bool(space[token].any())


def compute_mean_embedding(model: EmbeddingSpace) -> Matrix:
    """Compute the mean of all embeddings, (dim,) float32, in double precision."""
    mean: Matrix = model.matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean


def format_provenance(token: str, source: Provenance, max_donors: int = MAX_DONORS) -> str:
    """Describe the origin of an embedding in one line, with the `max_donors` largest weights.

    Example: "hypertension = 1/3 obesity + 1/3 asthma + 1/3 alcoholism".
    """
    donors = source.donors
    if not donors or donors == ((token, 1.0),):
        return f"{token} = {source.how}"
    # 1. Write equal weights as fractions, others as decimals.
    is_mean = len({weight for _, weight in donors}) == 1
    is_mean = is_mean and abs(donors[0][1] * len(donors) - 1) < 1e-6
    denominator = len(donors) if is_mean else 0
    # 2. List the donors with the largest weights, and the number of the others.
    heaviest = sorted(donors, key=lambda donor: -abs(donor[1]))[:max_donors]
    terms = [f"{_format_weight(weight, denominator)}{name}" for name, weight in heaviest]
    line = f"{token} = {' + '.join(terms)}".replace("+ -", "− ")
    if len(donors) > len(heaviest):
        line += f" + … ({len(donors) - len(heaviest)} more)"
    if source.fallback:
        line += f"  ({source.how})"
    return line


def _format_weight(weight: float, denominator: int) -> str:
    """Format a weight with a space after it: "1/3 ", ".25 ", "" for a single donor."""
    if denominator:
        return f"1/{denominator} " if denominator > 1 else ""
    if abs(weight) >= 0.005:
        return f"{weight:.2f} ".replace("0.", ".", 1)
    return f"{weight:.1g} "
