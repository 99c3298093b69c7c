"""Guards of a masked-language-model training: a batch that is larger than the text, minutes."""

from collections.abc import Iterator, Mapping
from typing import Any

from vocadapt.lab.inputs.corpora import estimate_text_bytes
from vocadapt.lab.steps.guards import Guard, build_minutes_guard
from vocadapt.text.corpus import Corpus
from vocadapt.training.estimates import (
    BYTES_PER_WORDPIECE,
    PretrainingCost,
    estimate_pretraining_cost,
    estimate_pretraining_speed,
)
from vocadapt.training.masked.settings import MaskedSettings


def list_pretraining_guards(
    text: Corpus, settings: MaskedSettings, config: Mapping[str, Any], stage: str, group: str
) -> Iterator[Guard]:
    """Yield the guards of a training on a text; group: path of `settings` in those of the step."""
    wordpieces = estimate_text_bytes(text) // BYTES_PER_WORDPIECE
    speed = estimate_pretraining_speed(config, stage, settings)
    cost = estimate_pretraining_cost(wordpieces, settings, speed, "")
    if cost.tokens_per_step > cost.tokens_per_epoch:
        yield build_large_batch_guard(cost, settings, group)
    yield build_minutes_guard(cost.seconds)


def build_large_batch_guard(cost: PretrainingCost, settings: MaskedSettings, group: str) -> Guard:
    """Return the warning that a batch is larger than the text."""
    blocks = cost.tokens_per_epoch // settings.length
    epochs = cost.tokens_per_step / cost.tokens_per_epoch
    return Guard(
        "large-batch",
        f"A batch is larger than the text: a step trains on {settings.batch:,}"
        f" block{'s' * (settings.batch != 1)}, and the text has about {blocks:,}. One step passes"
        f" over the text {epochs:.2f} times.",
        {"batch": settings.batch, "blocks": blocks, "epochs_per_step": round(epochs, 2)},
        {f"{group}.batch": blocks},
        serious=True,
    )
