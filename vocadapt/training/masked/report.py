"""What a training on masked tokens reports, to its manifest, its page and its command."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vocadapt.progress import percent
from vocadapt.report.table import Finding
from vocadapt.training.masked.validation import LossChange
from vocadapt.training.trained_parameters import describe_old_embeddings


@dataclass(frozen=True, kw_only=True)
class TrainingReport:
    """Metrics of a training, and its loss in nats on held-out lines: `before` and `after` it, and
    of a `unigram` model.

    loss_interval: 95 % intervals of the first two; None for too little text. trainable, frozen:
    numbers of parameters. old_embeddings: see `compare_old_embeddings`. pairs, of_documents,
    true_next, padding: of next-sentence prediction. stored_as, updates_lost_to_rounding: of a model
    stored in half precision. held_out_asked: digest of the masked words. curve, next_curve: (step,
    loss). checkpoints: folders of the intermediate models.
    """

    stage: str
    tokens: int
    steps: int
    seconds: float
    tokens_per_second: float
    trainable: int
    frozen: int
    loss_per_character: Mapping[str, float]
    held_out_words: int
    held_out_windows: int | None = None
    loss_interval: Mapping[str, tuple[float, float] | None] | None = None
    loss_change: LossChange | None = None
    loss_per_byte: Mapping[str, float] | None = None
    held_out_too_long: int | None = None
    trained: str | None = None
    optimizer_bytes: int | None = None
    old_embeddings: Mapping[str, int] | None = None
    pairs: int | None = None
    of_documents: int | None = None
    true_next: float | None = None
    padding: float | None = None
    stored_as: str | None = None
    updates_lost_to_rounding: float | None = None
    held_out_asked: str | None = None
    held_out_curve: Mapping[str, Any] | None = None
    curve: tuple[tuple[int, float], ...] | None = None
    next_curve: tuple[tuple[int, float], ...] | None = None
    checkpoints: tuple[str, ...] = ()

    def list_findings(self) -> tuple[Finding, ...]:
        """List how the loss changed, what rounding undid, and whether old embeddings are unchanged."""
        findings: list[Finding] = []
        if self.loss_change is not None:
            findings.append(self.loss_change.describe(self.held_out_words))
        if self.stored_as is not None:
            lost = f"rounding undid {percent(self.updates_lost_to_rounding)} of the weight updates"
            sentence = (
                f"Stored in {self.stored_as}: {lost}. The losses are those of the stored weights."
            )
            findings.append(Finding("rounding", sentence))
        if old := describe_old_embeddings(self.old_embeddings):
            findings.append(Finding("old_embeddings", old))
        return tuple(findings)
