"""Guards of a masked-language-model training: a batch that is larger than the text, minutes."""

from collections.abc import Iterator
from operator import attrgetter

from vocadapt.lab.inputs.corpora import estimate_text_bytes
from vocadapt.lab.steps.forecasts import find_minutes_guards
from vocadapt.lab.steps.guards import Guard
from vocadapt.lab.steps.step import PlannedStep
from vocadapt.training.estimates import count_blocks
from vocadapt.training.masked.settings import MaskedSettings


def list_pretraining_guards(planned: PlannedStep, group: str) -> Iterator[Guard]:
    """Yield the guards of a training on a text; group: path of its settings in those of the step."""
    settings: MaskedSettings = attrgetter(group)(planned.spec.settings)
    blocks = count_blocks(estimate_text_bytes(planned.inputs.text), settings)
    if settings.batch > blocks:
        yield build_large_batch_guard(blocks, settings, group)
    yield from find_minutes_guards(planned)


def build_large_batch_guard(blocks: int, settings: MaskedSettings, group: str) -> Guard:
    """Return the warning that a batch is larger than a text of a number of blocks."""
    epochs = settings.batch / blocks
    return Guard(
        "large-batch",
        f"A batch is larger than the text: a step trains on {settings.batch:,}"
        f" block{'s' * (settings.batch != 1)}, and the text has about {blocks:,}. One step passes"
        f" over the text {epochs:.2f} times.",
        {"batch": settings.batch, "blocks": blocks, "epochs_per_step": round(epochs, 2)},
        {f"{group}.batch": blocks},
        serious=True,
    )
