"""Plan + spaces → Rows: one row per new token, with its provenance.

An initialiser is one function from Materials to rows, registered in INITIALISERS; it appears in recipes, on the command
line and on the page by that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.spaces.alignment import Alignment
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.plan import VocabularyPlan


@dataclass(frozen=True)
class RowSettings:
    """Which initialiser makes the rows, and what it needs: the seed and standard deviation of random rows."""

    method: str = "aligned"
    seed: int = 1
    sd: float = 0.02  # BERT's own initializer_range

    def __post_init__(self) -> None:
        if self.method not in INITIALISERS:
            raise InputError(f"Unknown initialiser {self.method!r}.", f"Choose one of: {', '.join(INITIALISERS)}.")
        if self.seed < 0 or not 0 <= self.sd < float("inf"):
            raise InputError(f"Random rows need a seed and a deviation of 0 or more, got {self.seed} and {self.sd}.")


@dataclass(frozen=True)
class Provenance:
    """What a row is made of: a sentence's worth of how, and its donors with their weights."""

    how: str
    donors: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """One float32 row of the model's width for each token, in the same order, and where each came from."""

    tokens: tuple[str, ...]
    matrix: Matrix
    provenance: tuple[Provenance, ...]


@dataclass(frozen=True, eq=False)
class Materials:
    """What initialisers draw on: the plan, the model's own rows, and word vectors with their map where there are any."""

    plan: VocabularyPlan
    model: EmbeddingSpace
    domain: EmbeddingSpace | None = None
    alignment: Alignment | None = None


@dataclass(frozen=True)
class Initialiser:
    """An initialiser, the sentence that explains it, its formula, its source, and whether it needs a fitted map."""

    make: Callable[[Materials, RowSettings], tuple[Matrix, tuple[Provenance, ...]]]
    about: str
    formula: str
    source: str
    needs_alignment: bool = False


def initialise(materials: Materials, settings: RowSettings) -> Rows:
    """Make the row of every token the plan needs one for; raises InputError when the materials do not suffice."""
    matrix, provenance = INITIALISERS[settings.method].make(materials, settings)
    return Rows(materials.plan.new_rows, matrix, provenance)


def aligned(materials: Materials, settings: RowSettings) -> tuple[Matrix, tuple[Provenance, ...]]:
    """The word's vector, sent through the map."""
    if materials.alignment is None:
        raise InputError("Aligned rows need a map from the word vectors to the model, and none was fitted.")
    tokens, vectors = _word_vectors(materials)
    how = f"its word vector through the {materials.alignment.settings.method} map"
    return materials.alignment.apply(vectors), tuple(Provenance(how, ((token, 1.0),)) for token in tokens)


def identity(materials: Materials, settings: RowSettings) -> tuple[Matrix, tuple[Provenance, ...]]:
    """The word's vector as it is."""
    tokens, vectors = _word_vectors(materials)
    if vectors.shape[1] != materials.model.dim:
        raise InputError(
            f"Identity rows need word vectors of the model's width {materials.model.dim}, these have {vectors.shape[1]}.",
            f"Train vectors with --dim {materials.model.dim}, or choose aligned rows.",
        )
    return vectors, tuple(Provenance("its word vector, not mapped", ((token, 1.0),)) for token in tokens)


def random(materials: Materials, settings: RowSettings) -> tuple[Matrix, tuple[Provenance, ...]]:
    """Rows that mean nothing, as the floor to compare with."""
    tokens = materials.plan.new_rows
    rows = np.random.default_rng(settings.seed).normal(0.0, settings.sd, (len(tokens), materials.model.dim))
    how = f"random normal, sd {settings.sd:g}, seed {settings.seed}"
    return rows.astype(np.float32), tuple(Provenance(how) for _ in tokens)


def _word_vectors(materials: Materials) -> tuple[tuple[str, ...], Matrix]:
    """The tokens that need a row and their word vectors; every one must have a vector."""
    tokens, domain = materials.plan.new_rows, materials.domain
    if domain is None:
        raise InputError("These rows are made of word vectors, and none were given.", "Give --vectors or --corpus.")
    missing = [token for token in tokens if token not in domain]
    if missing:
        raise InputError(f"{len(missing)} of {len(tokens)} new tokens have no word vector, {missing[0]!r} first.")
    return tokens, domain.matrix[domain.rows(tokens)]


INITIALISERS: dict[str, Initialiser] = {
    "aligned": Initialiser(
        aligned,
        "the word's vector, sent through the fitted map",
        "W · w",
        "Poerner et al. 2020, Creating new input vectors",
        needs_alignment=True,
    ),
    "identity": Initialiser(identity, "the word's vector as it is, not mapped", "w", "Poerner et al. 2020, ablation W = 1"),
    "random": Initialiser(random, "random rows that mean nothing: the floor", "N(0, sd²)", "Poerner et al. 2020, ablation"),
}
