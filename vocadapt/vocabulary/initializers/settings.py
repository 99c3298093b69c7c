"""Settings of the initializer `distilled`, which training code reads too."""

from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.settings import LARGEST_RATE, LARGEST_SEED, SMALLEST, bounded, check_settings


@dataclass(frozen=True)
class DistilSettings:
    """Settings of token distillation.

    layer: layer whose hidden states are matched (−1: the last).
    contexts: number of contexts of each token; a context is at most `length` wordpieces of a line.
        A token with fewer contexts reuses them, so every embedding gets `passes` × `contexts`
        updates.
    batch: tokens per batch.
    lr: initial learning rate, decreased to 0; Adam with separate state for each embedding.
    seed: seed of the choice of contexts and of their order.
    Raises InputError for values out of range.
    """

    layer: int = bounded(-1, -1, 1_000, "Distilled embeddings: layer to match")
    contexts: int = bounded(12, 1, 100_000, "Distilled embeddings: contexts of a token")
    passes: int = bounded(1, 1, 10_000, "Distilled embeddings: passes over the contexts")
    length: int = bounded(32, 4, 4096, "Distilled embeddings: wordpieces of a context")
    batch: int = bounded(32, 1, 65_536, "Distilled embeddings: tokens in a batch")
    lr: float = bounded(5e-3, SMALLEST, LARGEST_RATE, "Distilled embeddings: learning rate")
    seed: int = bounded(1, 0, LARGEST_SEED, "Distilled embeddings: seed")

    def __post_init__(self) -> None:
        check_settings(self)
        if self.layer < 1 and self.layer != -1:
            raise InputError(
                f"Distilled embeddings: there is no layer {self.layer} to match.",
                "Give 1 or more, or -1 for the last.",
            )
