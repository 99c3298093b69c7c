"""Plan + spaces → Rows: one row per new token, with its provenance.

An initializer is one function from Materials to rows, registered where it stands; it appears in
recipes, on the command line and on the page by that.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.settings import LARGEST_SEED, SMALLEST, bounded, check_settings
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.initializers.distilled import DISTILLED, DistilSettings
from vocadapt.vocabulary.initializers.materials import (
    Initializer,
    Materials,
    Provenance,
    Registered,
    Rows,
    mean_row,
    ordinary,
    provenance_line,
)
from vocadapt.vocabulary.initializers.simple import SIMPLE
from vocadapt.vocabulary.initializers.sparse import SPARSE
from vocadapt.vocabulary.initializers.transfer import TRANSFER
from vocadapt.vocabulary.overlap import position
from vocadapt.vocabulary.plan.plan import VocabularyPlan

__all__ = [
    "INITIALIZERS",
    "DistilSettings",
    "Initializer",
    "Materials",
    "Provenance",
    "RowSettings",
    "Rows",
    "initialize",
    "match_norms",
    "mean_row",
    "provenance_line",
]

INITIALIZERS: Registered = {**SIMPLE, **TRANSFER, **SPARSE, **DISTILLED}


@dataclass(frozen=True)
class RowSettings:
    """Which initializer makes the rows, and what it needs: the seed and standard deviation of
    random rows; how many `neighbors` (0: the method's own, semantic 3, wechsel 10); the
    `temperature` of wechsel; the `atoms` of omp, at most; the settings of distilled.

    `norm_matched` brings every new row to the median length of the old rows of its position class
    (word start, continuation).
    """

    method: str = "aligned"
    seed: int = bounded(1, 0, LARGEST_SEED, "Seed of the new embeddings")
    sd: float = bounded(0.02, 0, 1000, "Standard deviation of random embeddings")  # BERT's
    neighbors: int = bounded(0, 0, 10_000, "Neighbors of a new token")
    temperature: float = bounded(0.1, SMALLEST, 1e6, "Temperature")
    atoms: int = bounded(64, 1, 10_000, "Atoms")
    norm_matched: bool = False
    distil: DistilSettings = field(default_factory=DistilSettings)

    def __post_init__(self) -> None:
        if self.method not in INITIALIZERS:
            raise InputError(
                f"Unknown initializer {self.method!r}.",
                f"Choose one of: {', '.join(INITIALIZERS)}.",
            )
        check_settings(self)


def initialize(materials: Materials, settings: RowSettings) -> Rows:
    """Make the row of every token the plan needs one for; raises InputError when the materials do
    not suffice.
    """
    matrix, provenance = INITIALIZERS[settings.method].make(materials, settings)
    rows = Rows(materials.plan.new_rows, matrix, provenance)
    return match_norms(rows, materials.plan, materials.model) if settings.norm_matched else rows


def match_norms(rows: Rows, plan: VocabularyPlan, model: EmbeddingSpace) -> Rows:
    """The rows at the median length of the old rows of their position class; a zero row stays
    zero.
    """
    old = ordinary(plan, model)
    lengths, went_on = _norms(model.matrix[model.rows(old)]), _going_on(plan, old)
    new, goes_on = _norms(rows.matrix), _going_on(plan, rows.tokens)
    medians = {
        kind: float(np.median(lengths[went_on == kind] if (went_on == kind).any() else lengths))
        for kind in (False, True)
    }
    wanted = np.where(goes_on, medians[True], medians[False])
    factor = np.divide(wanted, new, out=np.zeros_like(new), where=new > 0)
    names = {False: "word starts", True: "continuations"}
    provenance = tuple(
        replace(
            source,
            how=(
                f"{source.how}; at the median length of old {names[bool(kind)]},"
                f" {medians[bool(kind)]:.3g}"
            ),
        )
        for source, kind in zip(rows.provenance, goes_on, strict=True)
    )
    return Rows(
        rows.tokens, np.asarray(rows.matrix * factor[:, None], dtype=np.float32), provenance
    )


def _norms(matrix: Matrix) -> Matrix:
    norms: Matrix = np.linalg.norm(matrix, axis=1)
    return norms


def _going_on(plan: VocabularyPlan, tokens: tuple[str, ...] | list[str]) -> NDArray[np.bool_]:
    return np.array([position(token, plan.base) == "continuation" for token in tokens], dtype=bool)
