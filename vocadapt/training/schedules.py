"""Learning rate schedules."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """A learning-rate schedule: its description for help texts, and its name in transformers."""

    about: str
    trainer: str


SCHEDULES = {
    "linear": Schedule("linear decay to 0 after the warmup", "linear"),
    "constant": Schedule("constant after the warmup", "constant_with_warmup"),
}
