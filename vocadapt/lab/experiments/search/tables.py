"""Trials of a search, the importance of settings and the scores of seeds as tables.

A trial is a mapping, as the numbers of a search have it (`results.Trial`); so are the scores of an
epoch (`results.EpochScores`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vocadapt.analysis.results.results import SEEDS, build_mean_column
from vocadapt.lab.experiments.search.results import STATES
from vocadapt.lab.experiments.search.space import declare_searched
from vocadapt.report.formats import format_metric_name
from vocadapt.report.table import Column, Table
from vocadapt.settings import SMALL

if TYPE_CHECKING:
    from vocadapt.analysis.figures.search import TrialMark

IMPORTANCE = (
    Column("setting", "Setting"),
    Column("importance", "Importance", "Fraction of the variance of the dev scores.", "percent"),
)


def build_trial_table(rows: Sequence[Mapping[str, Any]], metric: str) -> Table:
    """Return all trials, the best first; those without all seeds come last."""
    ordered = sorted(rows, key=lambda row: (row["state"] != "done", -(row["mean"] or 0.0)))
    declared = declare_searched()
    searched = dict.fromkeys(key for row in ordered for key in row["settings"])
    columns = (
        Column("trial", "Trial", format="number"),
        Column("state", "State", "; ".join(f"{name}: {text}" for name, text in STATES.items())),
        build_mean_column(metric),
        SEEDS,
        *(Column(f"setting {key}", declared[key].label, format="figure") for key in searched),
    )
    problems = [f"Trial {row['trial']}: {row['problem']}" for row in ordered if row.get("problem")]
    shown = [
        {**row, **{f"setting {key}": format_value(one) for key, one in row["settings"].items()}}
        for row in ordered
    ]
    return Table("", columns, shown, tuple(problems))


def build_seed_table(numbers: Mapping[str, Any]) -> Table:
    """Return the dev score of each seed after each epoch."""
    seeds = [f"seed {seed}" for seed in numbers["seeds"]]
    columns = (
        Column("epoch", "Epoch", format="number"),
        *(Column(name, name.capitalize(), format="fraction") for name in seeds),
        build_mean_column(""),
        SEEDS,
    )
    rows = [{**row, **dict(zip(seeds, row["scores"], strict=True))} for row in numbers["rows"]]
    metric = format_metric_name(numbers["metric"])
    return Table(f"{metric} on dev after each epoch", columns, rows)


def list_curves(numbers: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the dev scores of each seed, one for each epoch until it stopped."""
    epochs = [row["scores"] for row in numbers["rows"]]
    return {
        f"seed {seed}": [scores[place] for scores in epochs if scores[place] is not None]
        for place, seed in enumerate(numbers["seeds"])
    }


def build_marks(trials: Sequence[Mapping[str, Any]]) -> "list[TrialMark]":
    """Return the marks of trials in a figure."""
    from vocadapt.analysis.figures.search import TrialMark

    return [
        TrialMark(
            one["trial"], one["state"], one["mean"], one["sd"], format_settings(one["settings"])
        )
        for one in trials
    ]


def format_settings(settings: Mapping[str, Any]) -> str:
    """Format settings for a line: batch_size 8, learning_rate 2e-5."""
    return ", ".join(f"{key} {format_value(value)}" for key, value in settings.items())


def format_value(value: Any) -> str:
    """Format the value of a setting: 2e-5, 0.1, 512, all."""
    if not isinstance(value, float):
        return str(value)
    if not 0 < abs(value) < SMALL:
        return f"{value:.3g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"
