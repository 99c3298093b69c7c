"""Two spaces and the words they share → a map from the one to the other.

    source rows x, target rows y of the anchors;  W = argmin Σ ‖x·W − y‖²;  a word outside the target gets the row x·W

The default is the paper's map: unconstrained least squares, no bias, no centering, no normalization
(Poerner et al. 2020). How good a map is, `heldout` tells; the fit's own residual does not.
"""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.files import check_file, read_json_object
from vocadapt.spaces.alignment.anchors import AnchorFilter, Anchors, find_anchors
from vocadapt.spaces.alignment.methods import (
    METHODS,
    WEIGHTS,
    AlignmentSettings,
    AnchorPairs,
    Matrix64,
    Method,
)
from vocadapt.spaces.alignment.solvers import apply_kernel_alignment
from vocadapt.spaces.space import EmbeddingSpace, Matrix, normalize_rows

__all__ = [
    "METHODS",
    "WEIGHTS",
    "Alignment",
    "AlignmentSettings",
    "AnchorFilter",
    "Anchors",
    "Method",
    "find_anchors",
    "fit_alignment",
]


@dataclass(frozen=True, eq=False)
class Alignment:
    """A fitted map: `apply` turns source rows into rows at the target's scale.

    `matrix` (d_source, d_target) works between the prepared spaces: unit length where the settings
    ask for it, minus the means (zero without centering). `scale` is the mean length of the anchors'
    target rows for unit maps, else 1. A kernel map has `landmarks` (n, d_source), the anchors'
    prepared rows, and a `matrix` (n, d_target) of one coefficient row for each.
    """

    settings: AlignmentSettings
    matrix: Matrix
    source_mean: Matrix
    target_mean: Matrix
    scale: float
    anchors: int
    landmarks: Matrix | None = None

    def apply(self, vectors: Matrix) -> Matrix:
        """Source rows (n, d_source) → rows (n, d_target) of the target's scale."""
        rows: Matrix = (self.map_source(vectors) + self.target_mean) * np.float32(self.scale)
        return rows

    def map_source(self, vectors: Matrix) -> Matrix:
        """Source rows in the prepared target space, where the map was fitted and similarities are
        read.
        """
        width = len(self.source_mean)
        if vectors.ndim != 2 or vectors.shape[1] != width:
            raise InputError(
                f"This map takes a matrix of vectors of width {width}, got the shape"
                f" {vectors.shape}."
            )
        rows: Matrix = self._unit(vectors) - self.source_mean
        return (
            rows @ self.matrix
            if self.landmarks is None
            else apply_kernel_alignment(rows, self.landmarks, self.matrix)
        )

    def prepare_target(self, vectors: Matrix) -> Matrix:
        """Target rows as the map saw them: unit length and centered where the settings ask for
        it.
        """
        rows: Matrix = self._unit(vectors) - self.target_mean
        return rows

    def _unit(self, vectors: Matrix) -> Matrix:
        return normalize_rows(vectors) if self.settings.unit else vectors

    def save(self, folder: Path) -> None:
        """Write alignment.safetensors and alignment.json into an existing folder."""
        from safetensors.numpy import save_file

        tensors = {
            "matrix": self.matrix,
            "source_mean": self.source_mean,
            "target_mean": self.target_mean,
        }
        if self.landmarks is not None:
            tensors["landmarks"] = self.landmarks
        save_file(
            {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
            folder / "alignment.safetensors",
        )
        facts = {"settings": asdict(self.settings), "scale": self.scale, "anchors": self.anchors}
        (folder / "alignment.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Alignment":
        """Read what `save` wrote; raises InputError where the folder holds no map."""
        from safetensors.numpy import load_file

        for name in ("alignment.json", "alignment.safetensors"):
            if not (folder / name).is_file():
                raise InputError(
                    f"{folder}: expected a saved map, but {name} is missing.", "Fit the map again."
                )
        facts = read_json_object(folder / "alignment.json")
        tensors = load_file(check_file(folder / "alignment.safetensors"))
        settings = facts["settings"]
        settings["anchors"] = AnchorFilter(**settings["anchors"])
        return cls(
            AlignmentSettings(**settings), scale=facts["scale"], anchors=facts["anchors"], **tensors
        )


def fit_alignment(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings | None = None,
    exclude: Collection[str] = (),
) -> Alignment:
    """Fit a map from source to target on all their anchors; `exclude` names the model's special
    tokens.

    Raises InputError where the method cannot go on with these anchors (too few, or unequal widths).
    """
    settings = settings or AlignmentSettings()
    return fit_on_anchors(
        find_anchors(source, target, settings.anchors, exclude), source, target, settings
    )


def fit_on_anchors(
    anchors: Anchors, source: EmbeddingSpace, target: EmbeddingSpace, settings: AlignmentSettings
) -> Alignment:
    """Fit a map on just these anchors: what the held-out evaluation does for every fold."""
    rows = source.matrix[anchors.source_rows], target.matrix[anchors.target_rows]
    scale = float(np.linalg.norm(rows[1], axis=1).mean()) if settings.unit else 1.0
    x, y = ((normalize_rows(side) if settings.unit else side).astype(np.float64) for side in rows)
    means: tuple[Matrix64, Matrix64] = np.zeros(source.dim), np.zeros(target.dim)
    if settings.center:
        means = x.mean(axis=0), y.mean(axis=0)
        x, y = x - means[0], y - means[1]
    pairs = AnchorPairs(x, y, _weights(anchors, source, settings.weights))
    method = METHODS[settings.method]
    matrix, x_mean, y_mean = (
        part.astype(np.float32) for part in (method.fit(pairs, settings), *means)
    )
    landmarks = pairs.x.astype(np.float32) if method.kernel else None
    return Alignment(settings, matrix, x_mean, y_mean, scale, len(anchors), landmarks)


def _weights(anchors: Anchors, source: EmbeddingSpace, name: str) -> Matrix64:
    """One weight per anchor with mean 1, from the corpus counts."""
    if name != "none" and source.counts is None:
        raise InputError(
            f"{name} weights need counts, and {source.name} has none.",
            "Train the vectors here, or use none.",
        )
    counts = (
        np.ones(len(anchors))
        if source.counts is None
        else source.counts[anchors.source_rows].astype(np.float64)
    )
    weights = WEIGHTS[name](np.maximum(counts, 1))
    return np.asarray(weights / weights.mean())
