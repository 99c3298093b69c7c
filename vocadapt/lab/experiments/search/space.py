"""The search space: the settings of fine-tuning that are searched, and their values, in TOML.

    seeds = [1, 2, 3]                                            # averaged, never chosen
    batch_size = [8, 16, 32]                                     # one of a list
    learning_rate = { low = 1e-5, high = 1e-3, log = true }      # any number of a range

Keys have the names of the flags of the command finetune, with _ for -. Without a file the space is
that of Fast 2023, table 5.1.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.given_settings import Given, convert_value, declare_keys, read_settings, read_value
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.published.reader import find_table
from vocadapt.settings import Setting, check_known, get_settings, show_value
from vocadapt.system.files import parse_toml, read_toml, show_path
from vocadapt.training.finetune.settings import FinetuneSettings

SEEDS = "seeds"  # the key that is an axis of each trial, not a setting to choose
DEFAULT_SEEDS = (1, 2, 3)  # of a space file that names none
NOT_SEARCHED = ("with_dev",)  # settings that leave no dev score
MAX_VALUES = 1_000  # of a setting that is searched
RANGE_KEYS = ("low", "high", "log", "step")
SPACE_TABLE, CHOSEN_TABLE = "fast-5.1", "fast-6.1"  # of Fast 2023
ROWS = {  # row of these tables → key of the setting
    "seed": SEEDS,
    "batch size": "batch_size",
    "learning rate": "learning_rate",
    "max sequence length": "max_length",
    "train epochs": "num_epochs",
}


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, in steps of `step` if it is not 0; uniform in the logarithm if
    `log`.
    """

    low: float
    high: float
    log: bool = False
    step: float = 0


@dataclass(frozen=True)
class Space:
    """The settings to search by key, each with its values, and the seeds of each trial."""

    axes: Mapping[str, tuple[Any, ...] | Range]
    seeds: tuple[int, ...]
    source: str

    def without(self, keys: Collection[str]) -> "Space":
        """Return the space without some of its settings.

        Raises InputError, with the nearest one, for a key that is no setting, and if none is left.
        """
        for key in keys:
            check_known(key, declare_searched(), "setting in the fixed settings")
        axes = {key: values for key, values in self.axes.items() if key not in keys}
        if not axes:
            raise InputError(
                "No setting is left to search: all settings of the space are fixed.",
                "Fix fewer settings, or give another space.",
                code="nothing-to-search",
            )
        return replace(self, axes=axes)

    @property
    def combinations(self) -> int | None:
        """Number of combinations of settings; None if one of them is a range."""
        lists = [values for values in self.axes.values() if not isinstance(values, Range)]
        if len(lists) < len(self.axes):
            return None
        return prod(map(len, lists))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings to search as JSON values."""
        described = {}
        for key, values in self.axes.items():
            described[key] = asdict(values) if isinstance(values, Range) else list(values)
        return described


def declare_searched() -> dict[str, Setting]:
    """Return key → setting of all that can be searched, the seeds included."""
    declared = declare_keys(FinetuneSettings) | declare_keys(FinetuneStep, ("tokenization",))
    declared[SEEDS] = get_settings(FinetuneStep)[SEEDS]
    return {key: one for key, one in declared.items() if one.name not in NOT_SEARCHED}


def apply_settings(base: FinetuneStep, given: Given) -> FinetuneStep:
    """Return the settings of a fine-tuning with some of them changed; raises InputError if a value
    is not allowed.
    """
    declared = declare_searched()
    return read_settings(
        {key: convert_value(declared[key], value) for key, value in given.items()},
        FinetuneStep,
        base,
        ("finetune", "tokenization"),
    )


def read_space(path: Path) -> Space:
    """Read a space file.

    Raises InputError, with the file, for an unknown key (with the nearest known one), for values
    that the setting does not allow, and for a file without a setting to search.
    """
    where = show_path(path.name)
    return build_space(read_toml(path), where)


def parse_space(text: str) -> Space:
    """Read the text of a space file; raises InputError as `read_space` does."""
    return build_space(parse_toml(text, "the space"), "the space")


def build_space(table: Mapping[str, Any], where: str) -> Space:
    """Build a space from plain values, and check each value by the declaration of its setting."""
    declared = declare_searched()
    axes: dict[str, tuple[Any, ...] | Range] = {}
    for key, values in table.items():
        check_known(key, declared, f"setting in {where}")
        try:
            axes[key] = _read_axis(declared[key], values)
            _check_values(key, axes[key])
        except InputError as error:
            raise error.add_place(f"{where}: {key}") from error
    seeds: Any = axes.pop(SEEDS, DEFAULT_SEEDS)
    if not axes:
        raise InputError(
            f"{where}: there is no setting to search.",
            "Add one, such as batch_size = [8, 16].",
            code="nothing-to-search",
        )
    return Space(axes, seeds, where)


def build_thesis_space() -> Space:
    """Build the search space of Fast 2023, table 5.1, from the published table."""
    table = find_table(SPACE_TABLE)
    declared = declare_searched()
    values: dict[str, list[Any]] = {}
    for cell in table.cells:
        key = ROWS[cell.row]
        values[key] = [declared[key].kind(text) for text in str(cell.value).split(",")]
    return build_space(values, f"Fast 2023, {table.where}")


def find_published_choices() -> dict[str, str]:
    """Return key → value that Fast 2023 chose by its search (table 6.1), the seed included."""
    return {ROWS[cell.row]: str(cell.value) for cell in find_table(CHOSEN_TABLE).cells}


def _read_axis(declared: Setting, values: Any) -> tuple[Any, ...] | Range:
    if isinstance(values, Mapping):
        return _read_range(declared, values)
    if not isinstance(values, list) or not values:
        raise InputError(
            f"expected a list of values or a range, got {show_value(values)}.",
            "Write [1, 2, 3] or { low = 1, high = 3 }.",
            code="not-an-axis",
        )
    if len(values) > MAX_VALUES:
        raise InputError(
            f"{len(values):,} values are more than the {MAX_VALUES:,} of a list.",
            "Give fewer, or a range: { low = 1, high = 3 }.",
            code="too-many-values",
        )
    chosen = tuple(read_value(declared, value) for value in values)
    if len({json.dumps(value) for value in chosen}) < len(chosen):
        raise InputError("a value is given twice.", "Give each value once.", code="repeated")
    return chosen


def _read_range(declared: Setting, values: Mapping[str, Any]) -> Range:
    if not declared.is_number:
        raise InputError("only numbers have a range.", "Give a list of values.", code="bad-range")
    for key in values:
        check_known(key, RANGE_KEYS, "key of a range")
    for key in ("low", "high"):
        if key not in values:
            problem = f"the range has no {key}."
            raise InputError(problem, "Write { low = 1, high = 3 }.", code="bad-range")
    log = values.get("log", False)
    if not isinstance(log, bool):
        problem = f"log: expected true or false, got {show_value(log)}."
        raise InputError(problem, code="wrong-type")
    numbers = {key: read_value(declared, values[key]) for key in values if key != "log"}
    found = Range(log=log, **numbers)
    if found.low >= found.high:
        problem = "low is not below high."
        raise InputError(problem, "Swap them, or give a list of values.", code="bad-range")
    if found.step < 0 or (found.log and (found.step or found.low <= 0)):
        raise InputError(
            "a step must be positive, and a logarithmic range has no step and begins above 0.",
            "Leave log or step out.",
            code="bad-range",
        )
    return found


def _check_values(key: str, values: tuple[Any, ...] | Range) -> None:
    if key == SEEDS:
        if isinstance(values, Range):
            problem = "expected a list, got a range."
            raise InputError(problem, "List the seeds to average over.", code="not-a-list")
        FinetuneStep(seeds=values)
        return
    ends = (values.low, values.high) if isinstance(values, Range) else values
    for value in ends:
        apply_settings(FinetuneStep(), {key: value})
