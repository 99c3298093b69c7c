"""Guards: what is known before a step starts, for the user who starts it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from vocadapt.errors import InputError
from vocadapt.progress import duration
from vocadapt.settings import Setting, get_settings
from vocadapt.system.forecasts import Forecast

T = TypeVar("T")
Change = Mapping[str, Any]  # path of a setting, such as finetune.epochs → its new value
LONG = 3600.0  # seconds of a step that should not be started by the first button


@dataclass(frozen=True)
class Guard:
    """One thing to know before a step starts.

    code: names the kind of guard. change: the settings that repair it; empty if no setting does.
    serious: whether the result will probably be useless, or take very long.
    """

    code: str
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    change: Change = field(default_factory=dict)
    serious: bool = False


def build_minutes_guard(forecast: Forecast, change: Change | None = None) -> Guard:
    """Return the guard of how long a step takes.

    change: settings that shorten it, for a step that takes longer than LONG on an idle machine.
    """
    is_long = forecast.total_idle_seconds > LONG
    busy = ""
    if forecast.load > 1:
        busy = f" while this machine is busy ({forecast.load:g} times longer than when idle)"
    return Guard(
        "minutes",
        f"About {duration(max(1.0, forecast.seconds))}{busy}, {forecast.basis}.",
        {"seconds": round(forecast.seconds, 1)},
        (change or {}) if is_long else {},
        is_long,
    )


def apply_change(settings: T, change: Change) -> T:
    """Return settings with a change, whose paths may lead into nested settings."""
    own: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, value in change.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = value
        else:
            own[name] = value
    for name, nested in inner.items():
        own[name] = apply_change(getattr(settings, name), nested)
    return replace(settings, **own)  # type: ignore[type-var]


def is_change(settings: Any, change: Any) -> bool:
    """Return whether something, as a record holds it, is a change that these settings can take."""
    try:
        for path in change:
            find_setting(settings, path)
        apply_change(settings, change)
    except (AttributeError, KeyError, TypeError, ValueError, InputError):
        return False
    return bool(change)


def nest_change(change: Change, group: str) -> dict[str, Any]:
    """Return a change of settings that are a group of other settings."""
    return {f"{group}.{path}": value for path, value in change.items()}


def find_setting(settings: Any, path: str) -> Setting:
    """Return the declaration of the setting at a path of an instance of settings."""
    *groups, name = path.split(".")
    for group in groups:
        settings = getattr(settings, group)
    return get_settings(settings)[name]
