"""How long a search takes, before it starts."""

import math
from dataclasses import dataclass, replace
from random import Random
from statistics import mean
from typing import Any

from vocadapt.lab.experiments.search.space import Range, Space, apply_settings
from vocadapt.lab.experiments.search.trials import TrialMaker
from vocadapt.lab.experiments.studies.estimates import START_UP
from vocadapt.lab.steps.finetune import limit_task, load_task
from vocadapt.models.language_model import open_model
from vocadapt.training.estimates import (
    THREADS_OF_SPEED,
    estimate,
    estimate_finetuning_speed,
)
from vocadapt.training.tasks.task import Task

SAMPLES = 20  # settings that the mean cost of a trial is computed from
QUICK_SECONDS = 600.0  # in which a search ends by default
LIMIT_STEP = 50  # examples that a suggested limit is a multiple of


@dataclass(frozen=True)
class SearchEstimate:
    """What a search takes at most: cells, and seconds one after the other and on its workers."""

    cells: int
    seconds_alone: float
    seconds: float


def estimate_search(
    maker: TrialMaker, space: Space | None, trials: int, workers: int
) -> SearchEstimate:
    """Estimate a search without pruning, which makes it shorter, by a model of the cost.

    A trial costs as much as the mean of settings drawn at random from the space; space: None for one
    trial with the settings of `maker`.

    1. Read the task, and the size of the network.
    2. Model the cost of some settings.
    3. Multiply by trials and seeds, and divide by the workers.
    """
    # 1. Task and network.
    base = maker.spec.settings
    task = _read_limited_task(maker)
    config = open_model(maker.spec.inputs["model"][0], maker.spec.offline or None).config

    # 2. The settings.
    tried = [base]
    if space is not None:
        random = Random(0)
        tried = [apply_settings(base, draw_settings(space, random)) for _ in range(SAMPLES)]
    costs = []
    for one in tried:
        speed = estimate_finetuning_speed(task, one.finetune, config)
        speed *= maker.study.threads / THREADS_OF_SPEED
        tokenization = one.tokenization or "base"
        costs.append(estimate(task, one.finetune, tokenization, 1, speed, "").seconds)

    # 3. All cells.
    cells = trials * len(maker.seeds)
    alone = cells * mean(costs)
    return SearchEstimate(cells, alone + START_UP, alone / max(1, workers) + START_UP)


def find_quick_search(
    maker: TrialMaker, space: Space | None, trials: int, workers: int
) -> dict[str, Any]:
    """Return the change of a search's settings with which it takes under QUICK_SECONDS: `trials` of
    one seed and, if these take longer, fewer examples. space: None for a comparison of seeds, which
    keeps its seeds.
    """
    change: dict[str, Any] = {}
    fewest = maker
    if space is not None:
        fewest = replace(maker, seeds=maker.seeds[:1])
        change = {"trials": trials, "seeds": fewest.seeds}
    seconds = estimate_search(fewest, space, trials, workers).seconds - START_UP
    room = QUICK_SECONDS - START_UP
    if seconds > room:
        n_train = len(_read_limited_task(maker).split("train"))
        limit = int(n_train * room / seconds) // LIMIT_STEP * LIMIT_STEP
        change["training.limit"] = max(LIMIT_STEP, limit)
    return change


def _read_limited_task(maker: TrialMaker) -> Task:
    base = maker.spec.settings
    return limit_task(load_task(maker.spec, base), base.limit)[0]


def draw_settings(space: Space, random: Random) -> dict[str, Any]:
    """Draw one value for each setting of a space."""
    return {key: _draw_value(values, random) for key, values in space.axes.items()}


def _draw_value(values: tuple[Any, ...] | Range, random: Random) -> Any:
    if not isinstance(values, Range):
        return random.choice(values)
    if values.log:
        drawn = math.exp(random.uniform(math.log(values.low), math.log(values.high)))
    elif values.step:
        drawn = values.low + values.step * random.randint(
            0, int((values.high - values.low) / values.step)
        )
    else:
        drawn = random.uniform(values.low, values.high)
    return round(drawn) if isinstance(values.low, int) else drawn
