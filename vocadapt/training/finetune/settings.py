"""Settings of fine-tuning, and the presets of the papers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vocadapt.errors import InputError
from vocadapt.settings import LARGEST_RATE, MINUTES_PER_YEAR, SMALLEST, bounded, check_settings
from vocadapt.training.schedules import check_schedule
from vocadapt.training.tasks.context_windows import check_word_rule

TOP = re.compile(r"top-([1-9][0-9]?)")
FREEZE = {
    "all": "all parameters are trained",
    "embeddings": "the embeddings are frozen, all else is trained",
    "top-K": "only the top K layers and the head are trained",
    "head": "only the head is trained",
}


@dataclass(frozen=True)
class FinetuneSettings:
    """Settings of fine-tuning with Adam: `epochs` over the task, `batch` examples per step, and the
    maximum learning rate `lr` of the schedule.

    length: maximum sequence length in wordpieces. chunk: maximum words per chunk of a tagged
    sentence; 0 for as many as fit. freeze: which parameters are trained (FREEZE). with_dev: train
    on the dev split, too; otherwise it is scored after every epoch, the best epoch is kept, and
    training stops after `patience` epochs without improvement (0: never). ungrouped: do not group
    examples of similar length into batches. weight_decay: not applied to embeddings that no example
    uses. word_rule: for question answering, how to split a context into the words over which logits
    are pooled (WORD_RULES).

    Raises InputError for values out of bounds.
    """

    epochs: int = bounded(5, 1, 10_000, "Epochs")
    batch: int = bounded(16, 1, 65_536, "Batch size")
    lr: float = bounded(2e-4, SMALLEST, LARGEST_RATE, "Learning rate")
    length: int = bounded(512, 8, 4096, "Maximum sequence length")
    chunk: int = bounded(30, 0, 100_000, "Words of a chunk")
    warm_up: float = bounded(0.1, 0, 0.999, "Warmup ratio")
    schedule: str = "linear"
    weight_decay: float = bounded(0.0, 0, 100, "Weight decay")
    clip: float = bounded(1.0, SMALLEST, 1 / SMALLEST, "Max gradient norm")
    freeze: str = "all"
    with_dev: bool = False
    patience: int = bounded(0, 0, 10_000, "Patience")
    ungrouped: bool = False
    save_minutes: float = bounded(5.0, SMALLEST, MINUTES_PER_YEAR, "Minutes between checkpoints")
    word_rule: str = "code"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.freeze not in FREEZE and not TOP.fullmatch(self.freeze):
            raise InputError(
                f"There is no way to freeze {self.freeze!r}.",
                f"Choose one of: {', '.join(FREEZE)}, such as top-3.",
            )
        if self.freeze == "top-K":
            raise InputError(
                "The number of top layers to train is missing.", "Give it as in top-3."
            )
        check_schedule(self.schedule)
        check_word_rule(self.word_rule)

    @property
    def top(self) -> int | None:
        """Number of top layers that are trained; None unless `freeze` is "top-K"."""
        found = TOP.fullmatch(self.freeze)
        return int(found[1]) if found else None


@dataclass(frozen=True)
class Training:
    """A preset: its description, its settings, and the seeds it is run with."""

    about: str
    settings: FinetuneSettings
    seeds: tuple[int, ...] = (1,)


FINETUNING_PRESETS: Mapping[str, Training] = {
    "quick": Training(
        "minutes on a CPU with a small model: 5 epochs, batch 16, 2e-4 (a larger model wants 5e-5)",
        FinetuneSettings(),
    ),
    "thesis": Training(
        "low-layer information integration, after Bio-LM: 10 epochs, batch 8, 2e-5, 512 wordpieces,"
        " seed 142",
        FinetuneSettings(epochs=10, batch=8, lr=2e-5, chunk=0, warm_up=0.06),
        (142,),
    ),
    "poerner": Training(
        "GreenBioBERT: 100 epochs over train and dev, batch 32, 1e-5 with 10 % warm-up, chunks of"
        " 30 words, eight seeds",
        FinetuneSettings(epochs=100, batch=32, lr=1e-5, with_dev=True),
        tuple(range(1, 9)),
    ),
    "exbert": Training(
        "exBERT: 3 epochs of the top three layers, batch 20, 1e-5 throughout, 256 wordpieces",
        FinetuneSettings(
            epochs=3,
            batch=20,
            lr=1e-5,
            length=256,
            chunk=0,
            warm_up=0.0,
            schedule="constant",
            freeze="top-3",
        ),
    ),
}


def training_preset(name: str, **changes: int | float | str) -> FinetuneSettings:
    """Return the settings of a preset with some of them changed; raises InputError for an unknown
    preset.
    """
    if name not in FINETUNING_PRESETS:
        raise InputError(
            f"There are no training settings {name!r}.",
            f"Choose one of: {', '.join(FINETUNING_PRESETS)}.",
        )
    return replace(FINETUNING_PRESETS[name].settings, **changes)  # type: ignore[arg-type]
