"""Alignment: a map from a source space to a target space, fitted on their shared words (anchors).

With the anchors' source vectors x and target vectors y, W = argmin Σ ‖x·W − y‖²; a word that the
target lacks gets the vector x·W.

The default is that of Poerner et al. 2020: unconstrained least squares without bias, centering or
normalization. `cross_validation` measures the quality; the residual of the fit does not.
"""

import json
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
    apply_kernel_alignment,
)
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, Matrix, normalize_rows

__all__ = [
    "METHODS",
    "WEIGHTS",
    "Alignment",
    "AlignmentSettings",
    "AnchorFilter",
    "Anchors",
    "find_anchors",
    "fit_alignment",
]


@dataclass(frozen=True, eq=False)
class Alignment:
    """A fitted alignment; `apply` maps source vectors to target vectors.

    `matrix` (d_source, d_target) float32 maps between the prepared spaces: normalized and
    mean-centered if the settings require it. `source_mean` (d_source,) and `target_mean` (d_target,)
    are zero without centering. `scale` is the mean norm of the anchors' target vectors if vectors
    are normalized, else 1. A kernel method also has `landmarks` (n, d_source), the anchors'
    prepared source vectors; its `matrix` (n, d_target) holds one row of coefficients for each.
    """

    settings: AlignmentSettings
    matrix: Matrix
    source_mean: Matrix
    target_mean: Matrix
    scale: float
    anchors: int
    landmarks: Matrix | None = None

    def apply(self, vectors: Matrix) -> Matrix:
        """Map source vectors (n, d_source) to target vectors (n, d_target) float32."""
        return np.asarray((self.map_source(vectors) + self.target_mean) * np.float32(self.scale))

    def map_source(self, vectors: Matrix) -> Matrix:
        """Map source vectors (n, d_source) into the prepared target space (n, d_target) float32.

        The alignment was fitted there, so similarities are computed there.
        """
        width = len(self.source_mean)
        if vectors.ndim != 2 or vectors.shape[1] != width:
            raise InputError(
                f"This alignment takes vectors of {width} dimensions, got the shape"
                f" {vectors.shape}."
            )
        rows: Matrix = self._normalize(vectors) - self.source_mean
        if self.landmarks is None:
            return rows @ self.matrix
        return apply_kernel_alignment(rows, self.landmarks, self.matrix)

    def prepare_target(self, vectors: Matrix) -> Matrix:
        """Normalize and mean-center target vectors (n, d_target) if the settings require it."""
        return np.asarray(self._normalize(vectors) - self.target_mean)

    def _normalize(self, vectors: Matrix) -> Matrix:
        if self.settings.unit:
            return normalize_rows(vectors)
        return vectors

    def save(self, folder: Path) -> None:
        """Write alignment.safetensors and alignment.json into an existing folder."""
        from safetensors.numpy import save_file

        arrays = {
            name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        # safetensors writes the raw buffer, so the arrays must be contiguous.
        save_file(
            {name: np.ascontiguousarray(array) for name, array in arrays.items()},
            folder / "alignment.safetensors",
        )
        metadata = {"settings": asdict(self.settings), "scale": self.scale, "anchors": self.anchors}
        text = json.dumps(metadata, indent=1) + "\n"
        (folder / "alignment.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Alignment":
        """Read what `save` wrote; raises InputError if the folder contains no alignment."""
        from safetensors.numpy import load_file

        for name in ("alignment.json", "alignment.safetensors"):
            if not (folder / name).is_file():
                raise InputError(
                    f"{folder}: expected a saved alignment, but {name} is missing.",
                    "Fit the alignment again.",
                )
        metadata = read_json_object(folder / "alignment.json")
        tensors = load_file(check_file(folder / "alignment.safetensors"))
        settings = metadata["settings"]
        settings["anchors"] = AnchorFilter(**settings["anchors"])
        return cls(
            AlignmentSettings(**settings),
            scale=metadata["scale"],
            anchors=metadata["anchors"],
            **tensors,
        )


def fit_alignment(
    source: EmbeddingSpace,
    target: EmbeddingSpace,
    settings: AlignmentSettings | None = None,
) -> Alignment:
    """Fit an alignment from source to target on all their anchors.

    Raises InputError if the method cannot be fitted: too few anchors, or unequal dimensions.
    """
    settings = settings or AlignmentSettings()
    return fit_on_anchors(find_anchors(source, target, settings.anchors), source, target, settings)


def fit_on_anchors(
    anchors: Anchors, source: EmbeddingSpace, target: EmbeddingSpace, settings: AlignmentSettings
) -> Alignment:
    """Fit an alignment on the given anchors only, for example on the training folds.

    Example: the method least-squares with normalizing and mean-centering:

    1. Normalize the anchors' vectors; remember the mean norm of the targets as the scale.
    2. Subtract each side's mean.
    3. Solve for the matrix, in float64; store everything as float32.
    """
    # 1. Select and normalize.
    source_rows = source.matrix[anchors.source_rows]
    target_rows = target.matrix[anchors.target_rows]
    scale = 1.0
    if settings.unit:
        scale = float(np.linalg.norm(target_rows, axis=1).mean())
        source_rows, target_rows = normalize_rows(source_rows), normalize_rows(target_rows)
    x, y = source_rows.astype(np.float64), target_rows.astype(np.float64)

    # 2. Mean-center.
    x_mean, y_mean = np.zeros(source.dim), np.zeros(target.dim)
    if settings.center:
        x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
        x, y = x - x_mean, y - y_mean

    # 3. Solve.
    pairs = AnchorPairs(x, y, _compute_weights(anchors, source, settings.weights))
    method = METHODS[settings.method]
    landmarks = None
    if method.kernel:
        landmarks = pairs.x.astype(np.float32)
    return Alignment(
        settings,
        method.fit(pairs, settings).astype(np.float32),
        x_mean.astype(np.float32),
        y_mean.astype(np.float32),
        scale,
        len(anchors),
        landmarks,
    )


def _compute_weights(anchors: Anchors, source: EmbeddingSpace, name: str) -> FloatArray:
    """Return one weight per anchor (n,) float64 with mean 1, from the corpus counts."""
    if name != "none" and source.counts is None:
        raise InputError(
            f"The anchor weights {name!r} need corpus counts, and {source.name} has none.",
            "Train the vectors here, or use the weights 'none'.",
        )
    counts = np.ones(len(anchors))
    if source.counts is not None:
        counts = source.counts[anchors.source_rows].astype(np.float64)
    weights = WEIGHTS[name](np.maximum(counts, 1))
    return np.asarray(weights / weights.mean())
