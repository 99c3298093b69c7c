"""Learning rate schedules."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """A description for help texts, and transformers' name of the schedule."""

    about: str
    trainer: str


SCHEDULES = {
    "linear": Schedule("up for the warm-up, then down to 0", "linear"),
    "constant": Schedule("the same throughout, after the warm-up", "constant_with_warmup"),
}
