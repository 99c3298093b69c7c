"""Alignment: a map from a source space to a target space, fitted on their shared words (anchors).

With the anchors' source vectors x and target vectors y, W = argmin Σ ‖x·W − y‖²; a word that the
target lacks gets the vector x·W.

The default is that of Poerner et al. 2020: unconstrained least squares without bias, centering or
normalization. `cross_validation` measures the quality; the residual of the fit does not.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from vocadapt.errors import InputError
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.anchors import AnchorFilter, Anchors, find_anchors
from vocadapt.spaces.alignment.methods import (
    FREQUENCY,
    METHODS,
    WEIGHTS,
    AlignmentSettings,
    AnchorPairs,
)
from vocadapt.spaces.alignment.vector_length import fit_norm_curve, read_norm_curve
from vocadapt.spaces.space import EmbeddingSpace, FloatArray, IntArray, Matrix, normalize_rows
from vocadapt.system.files import check_file, read_json_object
from vocadapt.text.summary import Summarized, Summary

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

MORE = "more."  # prefix of the tensors of a method's other arrays


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(Summarized):
    """A fitted alignment; `apply` maps source vectors to target vectors.

    `matrix` (d_source, d_target) float32 maps between the prepared spaces: normalized and
    mean-centered if the settings require it. `source_mean` (d_source,) and `target_mean`
    (d_target,) are zero without centering. `scale` is the mean norm of the anchors' target vectors
    if vectors are normalized, else 1. A kernel method also has `landmarks` (n, d_source), the
    anchors' prepared source vectors; its `matrix` (n, d_target) holds one row of coefficients for
    each. `anchors`: number of words that it was fitted on (`settings.anchors` is their filter).
    `more`: other arrays of a method, by name. `norm_curve`: (2, k) float32, log counts and norms of
    the anchors' target vectors, if mapped vectors get the norm of anchors of equal frequency.
    """

    settings: AlignmentSettings
    matrix: Matrix
    source_mean: Matrix
    target_mean: Matrix
    scale: float
    anchors: int
    landmarks: Matrix | None = None
    more: Mapping[str, Matrix] = field(default_factory=dict)
    norm_curve: Matrix | None = None

    def summarize(self) -> Summary:
        """Return the method, the number of anchors, and the dimensions of both spaces."""
        facts = {
            "anchors": self.anchors,
            "normalized": self.settings.unit,
            "centered": self.settings.center,
            "dimensions": f"{len(self.source_mean)} → {len(self.target_mean)}",
        }
        return Summary(self.settings.method, facts)

    def apply(self, vectors: Matrix, counts: IntArray | None = None) -> Matrix:
        """Map source vectors (n, d_source) to target vectors (n, d_target) float32.

        counts: (n,) int64, of the words in the text of the source. If there is a norm curve, they
        determine the norms; without counts, every norm is the mean of the curve.
        """
        mapped = (self.map_source(vectors) + self.target_mean) * np.float32(self.scale)
        if self.norm_curve is None:
            return np.asarray(mapped)
        norms = read_norm_curve(self.norm_curve, counts, len(vectors))
        return normalize_rows(np.asarray(mapped)) * norms[:, None]

    def map_source(self, vectors: Matrix) -> Matrix:
        """Map source vectors (n, d_source) into the prepared target space (n, d_target) float32.

        The alignment was fitted there, so similarities are computed there.
        """
        width = len(self.source_mean)
        if vectors.ndim != 2 or vectors.shape[1] != width:
            raise InputError(
                f"This alignment takes vectors of {width} dimensions, got the shape"
                f" {vectors.shape}.",
                code="wrong-dimensions",
            )
        rows: Matrix = _normalize(vectors, self.settings) - self.source_mean
        apply = METHODS[self.settings.method].apply
        if apply is None:
            return rows @ self.matrix
        arrays = {"matrix": self.matrix, **self.more}
        if self.landmarks is not None:
            arrays["landmarks"] = self.landmarks
        return apply(rows, np.linalg.norm(vectors, axis=1), arrays)

    def prepare_target(self, vectors: Matrix) -> Matrix:
        """Normalize and mean-center target vectors (n, d_target) if the settings require it."""
        return np.asarray(_normalize(vectors, self.settings) - self.target_mean)

    def save(self, folder: Path) -> None:
        """Write alignment.safetensors and alignment.json into an existing folder."""
        from safetensors.numpy import save_file

        arrays = {
            name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        arrays |= {f"{MORE}{name}": value for name, value in self.more.items()}
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
                    code="missing-file",
                )
        metadata = read_json_object(folder / "alignment.json")
        tensors = load_file(check_file(folder / "alignment.safetensors"))
        settings = build_settings(AlignmentSettings, metadata["settings"], str(folder))
        named = [name for name in tensors if name.startswith(MORE)]
        more = {name.removeprefix(MORE): tensors.pop(name) for name in named}
        return cls(
            settings,
            scale=metadata["scale"],
            anchors=metadata["anchors"],
            more=more,
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

    1. Normalize and mean-center both sides; remember the mean norm of the targets as the scale.
    2. Solve for the matrix, in float64; store everything as float32.
    3. Fit the norms of the anchors by frequency if they determine the length of mapped vectors.
    """
    # 1. Prepare both sides.
    method = METHODS[settings.method]
    x, x_mean, other_x = _prepare_side(source, anchors.source_rows, settings)
    y, y_mean, other_y = _prepare_side(target, anchors.target_rows, settings)
    target_rows = target.matrix[anchors.target_rows]
    scale = 1.0
    if settings.unit:
        scale = float(np.linalg.norm(target_rows, axis=1).mean())

    # 2. Solve.
    norms = np.linalg.norm(source.matrix[anchors.source_rows], axis=1).astype(np.float64)
    weights = _compute_weights(anchors, source, settings)
    solved = method.fit(AnchorPairs(x, y, weights, norms, other_x, other_y), settings)
    if isinstance(solved, np.ndarray):
        solved = {"matrix": solved}
    arrays = {name: value.astype(np.float32) for name, value in solved.items()}

    # 3. Fit the norms.
    length = method.length if settings.vector_length == "method" else settings.vector_length
    curve = None
    if length == FREQUENCY:
        curve = fit_norm_curve(source.counts, anchors.source_rows, target_rows)
    matrix = arrays.pop("matrix")
    landmarks = arrays.pop("landmarks", None)
    return Alignment(
        settings, matrix, x_mean, y_mean, scale, len(anchors), landmarks, arrays, curve
    )


def _prepare_side(
    space: EmbeddingSpace, anchors: IntArray, settings: AlignmentSettings
) -> tuple[FloatArray, Matrix, Matrix]:
    """Return the prepared vectors of the anchors (n, d) float64, the mean that was subtracted (d,)
    float32, and for a method that induces pairs the prepared vectors of other words (m, d) float32.

    anchors: (n,) int64, their rows. The other words are the most frequent ordinary words that are
    not anchors. Without counts, the order of the space is taken as the order of frequency, as in
    files of word vectors and in most vocabularies.
    """
    rows = _normalize(space.matrix[anchors], settings).astype(np.float64)
    mean: Matrix = np.zeros(space.dim, np.float32)
    if settings.center:
        center = rows.mean(axis=0)
        rows = rows - center
        mean = center.astype(np.float32)
    if not METHODS[settings.method].induces:
        return rows, mean, np.empty((0, space.dim), np.float32)
    excluded = space.kinds.special | space.kinds.placeholders | space.kinds.continuations
    ordinary = np.array([word not in excluded for word in space.words])
    ordinary[anchors] = False
    others = np.flatnonzero(ordinary)
    if space.counts is not None:
        others = others[np.argsort(-space.counts[others], kind="stable")]
    vectors = _normalize(space.matrix[others[: settings.induction_cutoff]], settings)
    return rows, mean, np.asarray(vectors - mean)


def _normalize(vectors: Matrix, settings: AlignmentSettings) -> Matrix:
    return normalize_rows(vectors) if settings.unit else vectors


def _compute_weights(
    anchors: Anchors, source: EmbeddingSpace, settings: AlignmentSettings
) -> FloatArray:
    """Return one weight per anchor (n,) float64 with mean 1, from the corpus counts: as the
    settings say or, if they name none and counts are known, as the method does.
    """
    name = settings.weights
    if name == "none" and source.counts is not None:
        name = METHODS[settings.method].weighting
    if name != "none" and source.counts is None:
        raise InputError(
            f"The anchor weights {name!r} need corpus counts, and {source.name} has none.",
            "Train the vectors here, or use the weights 'none'.",
            code="no-counts",
        )
    counts = np.ones(len(anchors))
    if source.counts is not None:
        counts = source.counts[anchors.source_rows].astype(np.float64)
    weights = WEIGHTS[name](np.maximum(counts, 1))
    return np.asarray(weights / weights.mean())
