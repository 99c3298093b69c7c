"""Times given before a step, in words: the one place that every page's estimate goes through."""

from vocadapt.lab.estimating import estimate_slowdown
from vocadapt.ui.numbers import duration


def format_estimate(seconds: float) -> str:
    """An estimate for an idle machine, in words for this machine as busy as it is now: 4 min (3 × longer than when idle)."""
    factor = estimate_slowdown()
    if factor <= 1:
        return duration(seconds)
    return f"{duration(factor * seconds)} (this machine is busy: {factor:g} × longer than when idle)"


def format_estimate_bold(seconds: float) -> str:
    """The same as Markdown, the time bold."""
    time, _, why = format_estimate(seconds).partition(" (")
    return f"**{time}** ({why}" if why else f"**{time}**"
