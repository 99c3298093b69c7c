"""Settings of the initializer `distilled`, which training code reads too."""

from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.settings import ABOVE_ZERO, MAX_LEARNING_RATE, MAX_SEED, check_settings, setting


@dataclass(frozen=True)
class DistilSettings:
    """Settings of token distillation; Adam with separate state for each embedding.

    A token with fewer contexts reuses them, so every embedding gets `passes` × `contexts` updates.
    Raises InputError for a layer that cannot exist.
    """

    layer: int = setting(
        -1, "layer whose hidden states are matched", low=-1, high=1_000, words={"last": -1}
    )
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

    def __post_init__(self) -> None:
        check_settings(self)
        if self.layer < 1 and self.layer != -1:
            raise InputError(
                f"Distilled embeddings: there is no layer {self.layer} to match.",
                "Give 1 or more, or -1 for the last.",
                "layer",
            )
