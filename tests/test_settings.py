"""Every numeric setting of every settings dataclass has bounds, and values outside them are
refused."""

import importlib
import inspect
import json
import pkgutil
import time
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

import pytest

import vocadapt
from tests.material.cases import check_each
from vocadapt.cli import main
from vocadapt.cli.parser import Number, Parser
from vocadapt.cli.run import COMMANDS, load_command
from vocadapt.cli.workspace_options import read_output_path
from vocadapt.errors import InputError
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.steps.step import PlannedStep, Spec, Step
from vocadapt.recipe import Recipe, read_recipe
from vocadapt.settings import MAX_SEED, check_settings, get_settings, setting, show_value
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

ALSO = {
    "Draws",
    "TokenChoice",
    "AnchorFilter",
    "ZeroShot",
    "TaskFile",
}  # settings that are called otherwise
HUGE = 10**400  # more than any float, and than 64 bits
UNPRINTABLE = 10**5000  # more digits than Python turns into text


def all_dataclasses():
    """Every dataclass of the package below the pages, by its full name."""
    found = {}
    for module in pkgutil.walk_packages(vocadapt.__path__, "vocadapt."):
        if ".ui" in module.name or ".exbert." in module.name or module.name.endswith("__main__"):
            continue
        for thing in vars(importlib.import_module(module.name)).values():
            if (
                inspect.isclass(thing)
                and is_dataclass(thing)
                and thing.__module__.startswith("vocadapt.")
            ):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def nested(kind):
    """A settings dataclass and those within it."""
    made = kind()
    inner = [type(value) for one in fields(kind) if is_dataclass(value := getattr(made, one.name))]
    return {kind, *(each for one in inner for each in nested(one))}


def settings_classes():
    named = {
        kind
        for kind in all_dataclasses().values()
        if (kind.__name__.endswith(("Settings", "Step")) and kind not in (Step, PlannedStep))
        or kind.__name__ in ALSO
    }
    of_steps = {each for step in STEPS.values() for each in nested(step.settings)}
    return sorted(named | of_steps, key=lambda kind: kind.__name__)


def is_numeric(declared):
    default = declared.default
    sample = default[0] if isinstance(default, tuple) and default else default
    return isinstance(sample, int | float) and not isinstance(sample, bool)


NUMERIC = [
    (kind, one.name) for kind in settings_classes() for one in fields(kind) if is_numeric(one)
]


def name_field(row):
    kind, name = row
    return f"{kind.__name__}.{name}"


def build(kind, name, value):
    """The settings with one field changed, the required ones given anything."""
    needed = {
        one.name: "x"
        for one in fields(kind)
        if one.default is MISSING and one.default_factory is MISSING
    }
    return kind(**{**needed, name: value})


def test_many_settings_are_found():
    assert len(NUMERIC) > 90
    assert {"MaskedSettings", "Word2VecSettings", "Draws"} <= {kind.__name__ for kind, _ in NUMERIC}


@check_each("kind, name", NUMERIC, name_field)
def test_a_setting_takes_its_bounds_and_nothing_outside(kind, name):
    """Fails where a numeric field declares no bounds, or where its class does not check them."""
    declared = get_settings(kind)[name]
    bounds = declared.bounds
    several = isinstance(next(one.default for one in fields(kind) if one.name == name), tuple)
    step = 1 if bounds.whole else abs(bounds.lowest) / 2 or 1e-12
    wrong = [
        bounds.lowest - step,
        bounds.highest * 2,
        max(10**30, bounds.highest * 2),
        -(10**30),
        HUGE,
        -HUGE,
        UNPRINTABLE,
    ]
    wrong += [float("nan"), float("inf"), float("-inf"), True, "3", None, [1]] + (
        [1.5] if bounds.whole else []
    )
    for value in wrong:
        start = time.perf_counter()
        with pytest.raises(InputError) as refused:
            build(kind, name, (value,) if several else value)
        assert name in refused.value.problem and declared.label in refused.value.problem
        assert refused.value.setting == name
        assert len(str(refused.value)) < 300
        assert time.perf_counter() - start < 1


@check_each("kind, name", NUMERIC, name_field)
def test_the_default_lies_within_the_bounds(kind, name):
    default = next(one.default for one in fields(kind) if one.name == name)
    for value in default if isinstance(default, tuple) else (default,):
        assert get_settings(kind)[name].bounds.accepts(value)


@check_each(
    "kind, name",
    [row for row in NUMERIC if "seed" in row[1] or row[1] == "resample"],
    name_field,
)
def test_seeds_fit_32_bits(kind, name):
    bounds = get_settings(kind)[name].bounds
    assert (bounds.lowest, bounds.highest) == (0, MAX_SEED)


def test_the_largest_seed_is_taken_by_the_libraries():
    import random

    import numpy as np
    import torch
    from sklearn.utils import check_random_state

    random.Random(MAX_SEED)
    np.random.default_rng([MAX_SEED, 0])
    check_random_state(MAX_SEED).randint(np.iinfo(np.int32).max)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(MAX_SEED)


def test_a_list_has_a_bounded_length_and_bounded_values():
    @dataclass(frozen=True)
    class Several:
        seeds: tuple[int, ...] = setting((1,), "seeds of the runs", low=0, high=9)

        def __post_init__(self) -> None:
            check_settings(self)

    assert Several((0, 9)).seeds == (0, 9)
    for wrong, said in [
        ((), "got 0"),
        ((1,) * 1001, "1,001"),
        ((1, 10), "got 10"),
        ([1], "1 to 1,000 values"),
        (3, "got 3"),
    ]:
        with pytest.raises(InputError, match=said):
            Several(wrong)


def test_numpy_numbers_are_numbers():
    import numpy as np

    assert Word2VecSettings(dim=np.int64(5), alpha=np.float32(0.5)).dim == 5
    with pytest.raises(InputError):
        Word2VecSettings(dim=np.bool_(True))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12345, "12,345"),
        (10**400, "a number of about 401 digits"),
        (10**5000, "a number of about 5,001 digits"),
        (0.25, "0.25"),
        ("9" * 500, "'" + "9" * 58 + "…"),
        ([10**5000], "a value of type list"),
        (True, "True"),
    ],
    ids=range(7),
)
def test_a_value_is_shown_short(value, shown):
    assert show_value(value) == shown


@pytest.mark.parametrize(
    "value", ["9" * 30, "9" * 5000, "1e400", "nan", "inf", "true", "'3'", "-1"], ids=range(8)
)
@pytest.mark.parametrize("name", ["dim", "alpha", "epochs", "seed"])
def test_a_recipe_is_checked_by_the_same_bounds(tmp_path, name, value):
    file = tmp_path / "r.toml"
    file.write_text(f"[vectors]\n{name} = {value}\n")
    with pytest.raises(InputError) as refused:
        read_recipe(file)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    "value", ["9" * 30, "9" * 5000, "1e400", "NaN", "true", '"3"', "[1]", "-1"], ids=range(8)
)
def test_a_spec_in_json_is_checked_by_the_same_bounds(value):
    whole = Spec(STEPS["vectors"].settings(), {"text": "t", "model": "m"}).to_dict()
    whole["settings"]["word2vec"]["epochs"] = "HERE"
    with pytest.raises(InputError) as refused:
        Spec.from_json(json.dumps(whole).replace('"HERE"', value), "spec")
    assert len(str(refused.value)) < 600


def test_presets_lie_within_the_bounds():
    assert (
        Recipe().vectors.epochs == 5
    )  # built with the check, as every preset was when the module was imported


def parsers():
    """Every command with its parser."""
    for name in COMMANDS:
        parser = Parser(prog=f"vocadapt {name}", description=name)
        load_command(name).add_options(parser)
        yield name, parser


def numeric_flags() -> list[tuple[str, str, Any]]:
    found = []
    for name, parser in parsers():
        typed = [
            action
            for action in parser._actions
            if action.type not in (None, read_output_path) and action.option_strings
        ]
        found += [(name, action.option_strings[0], action.type) for action in typed]
    return found


FLAGS = numeric_flags()


def test_the_flags_that_were_attacked_are_among_them():
    flags = {flag for _, flag, _ in FLAGS}
    attacked = (
        "--dim --epochs --window --negative --workers --iterations --pca --seed --seeds --tokens"
        " --batch-size --hours --rounds"
    )
    assert {*attacked.split(), "--top", "-k", "--lines", "--port", "--limit"} <= flags
    assert len(FLAGS) > 100


@check_each("command, flag, kind", FLAGS, lambda row: f"{row[0]} {row[1]}")
def test_a_number_outside_its_bounds_is_refused_by_every_flag(
    capsys, tmp_path, monkeypatch, command, flag, kind
):
    monkeypatch.chdir(tmp_path)
    highest = kind.bounds.highest if isinstance(kind, Number) else 1000
    for value in (
        "9" * 30 if highest < 1e30 else "9" * 40,
        "9" * 5000,
        "-" + "9" * 30,
        "1e999",
        "nan",
        "inf",
        "0x10",
        "",
    ):
        code = main(
            [
                *command.split(),
                f"{flag}={value}" if flag.startswith("--") else f"{flag}{value or ' '}",
                "--json",
            ]
        )
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert flag in err and "number" in err
        assert len(err) < 500 and len(err.splitlines()) <= 3
    assert not list(tmp_path.iterdir())


def test_every_numeric_flag_has_bounds():
    """A plain int or float as the type of an option takes anything."""
    import argparse

    for command, flag, kind in FLAGS:
        assert kind not in (int, float), f"{command} {flag}"
        for value in ("9" * 400, "-" + "9" * 400):
            with pytest.raises(argparse.ArgumentTypeError):
                kind(value)
