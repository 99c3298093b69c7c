"""How long a search takes, before it starts."""

import math
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from vocadapt.given_settings import Given
from vocadapt.lab.experiments.search.space import Range, Space
from vocadapt.lab.experiments.search.trials import TrialMaker
from vocadapt.lab.experiments.studies.estimates import (
    START_UP,
    GridEstimate,
    describe_basis,
    forecast_cells,
    share_work,
)
from vocadapt.lab.steps.finetune import limit_task, load_task

SAMPLES = 20  # settings that the mean cost of a trial is computed from
QUICK_SECONDS = 600.0  # in which a search ends by default
LIMIT_STEP = 50  # examples that a suggested limit is a multiple of


def estimate_search(
    maker: TrialMaker, space: Space | None, trials: int, workers: int, root: Path | None = None
) -> GridEstimate:
    """Forecast a search without pruning, which makes it shorter.

    A trial costs as much as the mean of settings drawn at random from the space; space: None for
    one trial with the settings of `maker`. root: of the workspace whose earlier runs show the rate.
    """
    drawn: list[Given] = [{}]
    if space is not None:
        random = Random(0)
        drawn = [draw_settings(space, random) for _ in range(SAMPLES)]
    forecasts = forecast_cells(maker.build_grid(drawn).cells, root)
    cells = trials * len(maker.seeds)
    alone = cells * mean(one.idle_seconds for one in forecasts)
    return share_work(cells, alone, workers, describe_basis(forecasts))


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
    seconds = estimate_search(fewest, space, trials, workers).forecast.idle_seconds
    room = QUICK_SECONDS - START_UP
    if seconds > room:
        base = maker.spec.settings
        task, _ = limit_task(load_task(maker.spec, base), base.limit)
        n_train = len(task.split("train"))
        limit = int(n_train * room / seconds) // LIMIT_STEP * LIMIT_STEP
        change["training.limit"] = max(LIMIT_STEP, limit)
    return change


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
