"""Settings of masked-language-model training."""

from dataclasses import dataclass, replace
from typing import Any

from vocadapt.errors import InputError
from vocadapt.settings import (
    ABOVE_ZERO,
    MAX_LEARNING_RATE,
    MAX_SEED,
    MINUTES_PER_YEAR,
    check_settings,
    setting,
)
from vocadapt.training.schedules import SCHEDULES

BUDGETS = ("hours", "tokens", "epochs")  # the first one that is given applies


@dataclass(frozen=True)
class MaskedSettings:
    """Settings of masked-language-model training: blocks, optimizer, budget and schedule.

    The budget is `hours` if given, else `tokens`, else `epochs`; hours are converted to steps by
    the measured seconds per step. `batch` blocks are one step, read in `parts` gradient
    accumulation steps of equal size. AdamW; the learning rate rises over the `warm_up` ratio of the
    steps and then follows `schedule`.

    Raises InputError for a batch that cannot be divided into `parts`.
    """

    length: int = setting(128, "wordpieces per block", low=8, high=4096, label="Block length")
    batch: int = setting(
        16, "blocks per step", low=1, high=65_536, label="Batch size", flag="--batch-size"
    )
    lr: float = setting(
        1e-3,
        "peak learning rate",
        low=ABOVE_ZERO,
        high=MAX_LEARNING_RATE,
        label="Learning rate",
        flag="--learning-rate",
    )
    epochs: float = setting(
        1.0, "passes over the text", low=ABOVE_ZERO, high=10_000, flag="--num-epochs"
    )
    tokens: int = setting(0, "wordpieces to train on", high=10**13, label="Wordpieces")
    hours: float = setting(
        0.0, "time budget, converted to steps by the speed of the first ones", high=10_000
    )
    warm_up: float = setting(
        0.06,
        "fraction of the steps with a rising learning rate",
        high=0.999,
        label="Warmup ratio",
        flag="--warmup-ratio",
    )
    weight_decay: float = setting(0.01, "weight decay of AdamW", high=100, flag="")
    share: float = setting(
        0.15,
        "fraction of tokens to mask",
        high=0.999,
        label="Masking probability",
        flag="--mlm-probability",
    )
    # A short training reads nothing twice and cannot overfit (Geiping & Goldstein 2023, 4.3).
    dropout: float = setting(
        0.0, "dropout probability; 0 for a short training, which cannot overfit", high=0.999
    )
    save_minutes: float = setting(
        5.0,
        "minutes between checkpoints",
        low=ABOVE_ZERO,
        high=MINUTES_PER_YEAR,
        label="Checkpoint minutes",
    )
    seed: int = setting(1, "random seed of the training", high=MAX_SEED)
    parts: int = setting(
        1,
        "number of gradient accumulation steps per batch: less memory, the same gradient",
        low=1,
        high=65_536,
        label="Gradient accumulation steps",
        flag="--gradient-accumulation-steps",
    )
    schedule: str = setting(
        "linear",
        "learning-rate schedule",
        choices=SCHEDULES,
        label="LR scheduler",
        flag="--lr-scheduler",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.batch % self.parts:
            sizes = range(1, self.batch + 1)
            divisors = ", ".join(str(size) for size in sizes if self.batch % size == 0)
            raise InputError(
                f"Masked training: a batch size of {self.batch} cannot be divided into"
                f" {self.parts} gradient accumulation steps.",
                f"Choose one of: {divisors}.",
                "parts",
            )

    @property
    def unused_settings(self) -> tuple[str, ...]:
        """Names of the budgets that are not in effect."""
        return tuple(name for name in BUDGETS if name != self.budget)

    @property
    def budget(self) -> str:
        """Name of the budget in effect, one of BUDGETS."""
        return next((name for name in ("hours", "tokens") if getattr(self, name)), "epochs")

    def with_changes(self, **changes: Any) -> "MaskedSettings":
        """Return a copy with some settings changed; a new budget replaces the old one."""
        if any(name in changes for name in BUDGETS):
            fields = MaskedSettings.__dataclass_fields__
            changes = {name: fields[name].default for name in BUDGETS} | changes
        return replace(self, **changes)
