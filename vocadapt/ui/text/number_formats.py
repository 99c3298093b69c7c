"""Number formats of the pages: fractions of things as 23.5 %, scores and cosines as .235, chance
levels as 1 in 1 190, counts as 9 881, durations and sizes with units, and forecasts.
"""

import re

from vocadapt.progress import NARROW, count, duration, percent
from vocadapt.report.formats import format_chance
from vocadapt.report.formats import format_precise as fraction
from vocadapt.report.formats import format_size as megabytes
from vocadapt.system.forecasts import Forecast

__all__ = [
    "NARROW",
    "chance",
    "count",
    "count_noun",
    "duration",
    "fraction",
    "group_digits",
    "megabytes",
    "percent",
    "signed",
]

# A whole number with commas between groups of three digits.
GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![,.]?\d)")


def count_noun(value: int, noun: str) -> str:
    """Format a number of things, with the noun in the plural unless there is one: 1 step, 9 881
    steps.
    """
    return f"{count(value)} {noun}{'s' * (value != 1)}"


def signed(value: float) -> str:
    """Format a difference of two fractions with its sign: +.047; the digits are those of
    `fraction`.
    """
    return fraction(value, sign="+")


def chance(value: float | None) -> str:
    """Format a chance level with three significant digits: .00084 is 1 in 1 190."""
    return group_digits(format_chance(value))


def group_digits(text: str) -> str:
    """Group the digits of the numbers in a message as `count` does: 30,067 becomes 30 067."""
    return GROUPED.sub(lambda number: number[0].replace(",", NARROW), text)


def format_forecast(forecast: Forecast, with_start_up: bool = True) -> str:
    """Format the time of a forecast: "4 min (this machine is busy: 3 × longer than when idle)".

    with_start_up: False for work in a page, which starts nothing.
    """
    seconds = forecast.seconds if with_start_up else forecast.seconds_without_start_up
    if forecast.load == 1 or forecast.work.is_timed:
        return duration(seconds)
    busy = f"this machine is busy: {forecast.load:g} × longer than when idle"
    return f"{duration(seconds)} ({busy})"
