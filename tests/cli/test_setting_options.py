"""Settings are converted to options, options to settings, and settings back to a command line."""

from dataclasses import dataclass, field, replace

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.cli.command import setting_options
from vocadapt.cli.parser import Parser
from vocadapt.errors import InputError
from vocadapt.given_settings import read_settings
from vocadapt.lab.steps.command_lines import setting_arguments
from vocadapt.settings import build_settings, check_settings, setting, show_only

SPEEDS = {"slow": "takes its time"}  # a registry that may be filled later


@dataclass(frozen=True)
class Inner:
    seed: int = setting(1, "seed of the sample", flag="--sample-seed", other_flag="--seed")
    commas: bool = setting(False, "signs to drop", flag="--drop=commas")
    points: bool = setting(False, "signs to drop", flag="--drop=points")
    hidden: int = setting(3, "not on the command line", flag="")


@dataclass(frozen=True)
class Outer:
    layer: int = setting(-1, "layer to read", low=-1, high=9, words={"last": -1})
    rate: float = setting(0.5, "rate", high=1, flag="--learning-rate", empty="none")
    speed: str = setting("slow", "speed", choices=lambda: SPEEDS)
    names: tuple[str, ...] = setting((), "names")
    check: bool = setting(True, "skip the check")
    inner: Inner = field(default_factory=Inner)
    silent: Inner = field(default_factory=Inner, metadata=show_only())

    def __post_init__(self) -> None:
        check_settings(self)


def read(arguments: list[str], base: Outer | None = None) -> Outer:
    parser = Parser("python -m vocadapt test", "Test.")
    setting_options(Outer)(parser)
    return read_settings(parser.parse(arguments), Outer, base)


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ([], Outer()),
        (["--layer", "4"], Outer(layer=4)),
        (["--learning-rate", "0.0"], Outer(rate=0.0)),
        (["--names", "a", "b", "--no-check"], Outer(check=False, names=("a", "b"))),
        (["--sample-seed", "7"], Outer(inner=Inner(seed=7))),
        (["--drop=points"], Outer(inner=Inner(points=True))),
    ],
)
def test_options_and_command_line_are_inverse(arguments, settings):
    assert read(arguments) == settings
    assert list(setting_arguments(settings, Outer())) == arguments


def test_an_option_that_is_not_given_leaves_the_base():
    base = Outer(layer=2, inner=Inner(hidden=8))
    assert read(["--layer", "last"], base) == replace(base, layer=-1)


def test_a_flag_falls_back_to_another_one():
    assert read(["--seed", "5"]).inner.seed == 5
    assert read(["--seed", "5", "--sample-seed", "6"]).inner.seed == 6


def test_a_prefix_keeps_flags_apart():
    parser = Parser("python -m vocadapt test", "Test.")
    setting_options(Inner, prefix="own-")(parser)
    options = parser.parse(["--own-sample-seed", "9"])
    assert read_settings(options, Inner, prefix="own-").seed == 9


def test_choices_are_read_when_they_are_used(monkeypatch):
    with pytest.raises(InputError, match="one of slow"):
        read(["--speed", "registered"])
    monkeypatch.setitem(SPEEDS, "registered", "by an extension")
    assert read(["--speed", "registered"]) == Outer(speed="registered")
    parser = Parser("python -m vocadapt test", "Test.")
    setting_options(Outer)(parser)
    assert "registered: by an extension" in " ".join(parser.format_help().split())


def test_plain_values_are_settings():
    made = build_settings(Outer, {"rate": 1, "names": ["a"], "inner": {"seed": 4}})
    assert made == Outer(rate=1.0, names=("a",), inner=Inner(seed=4))
    with raises_input_error("unknown-setting", "'sed'"):
        build_settings(Outer, {"inner": {"sed": 4}})


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (InputError("Too much.", "Give less.", "rate"), "Too much (--learning-rate).\nGive less."),
        (InputError("Too much.", "Give less."), "Too much.\nGive less."),
        (InputError("--layer is wrong.", "", "layer"), "--layer is wrong."),
    ],
)
def test_an_error_names_the_flag_of_its_setting(error, shown):
    parser = Parser("python -m vocadapt test", "Test.")
    setting_options(Outer)(parser)
    assert str(parser.add_flag(error)) == shown
