"""What a search, and a comparison of seeds, answers; the values are those of JSON."""

from dataclasses import dataclass
from typing import Any, TypedDict

STATES = {  # state → what it means
    "done": "all seeds are trained",
    "pruned": "ended early: even its best mean over the first seeds was below the median of other"
    " trials",
    "failed": "a cell ended without a result",
}


@dataclass(frozen=True)
class Trial:
    """A trial: its settings, and mean and standard deviation of its dev scores over n seeds.

    state: a key of STATES, or running. seeds, values: the seeds that are trained, and their scores;
    collapsed: how many of these runs collapsed. problem: why it failed.
    """

    trial: int
    state: str
    settings: dict[str, Any]
    n: int
    mean: float | None
    sd: float | None
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    collapsed: int
    problem: str


class SearchNumbers(TypedDict):
    """Trials, their best settings (null if no trial is done), the importance of each setting, and
    the command that trains the best settings.
    """

    task: str
    metric: str
    trials: int
    done: int
    pruned: int
    failed: int
    settings: int
    combinations: int | None
    space: dict[str, Any]
    space_source: str
    seeds: list[int]
    best: Trial | None
    importance: dict[str, float]
    importance_by: str
    command: str
    thesis: str
    note: str
    rows: list[Trial]


@dataclass(frozen=True)
class EpochScores:
    """Scores of each seed after an epoch (None after it stopped early), and mean and standard
    deviation of the others.
    """

    epoch: int
    scores: tuple[float | None, ...]
    n: int
    mean: float
    sd: float | None


class SeedsNumbers(TypedDict):
    """Dev scores of the trained seeds after each epoch, and the failures of the others."""

    task: str
    metric: str
    seeds: list[int]
    collapsed: list[int]
    best_epoch: list[int]
    rows: list[EpochScores]
    failures: list[dict[str, Any]]
