"""Format the estimated time of a step for display, scaled to the current load of the machine."""

from vocadapt.lab.jobs.estimates import estimate_slowdown
from vocadapt.ui.components.number_formats import duration


def format_estimate(seconds: float) -> str:
    """Format an estimate in seconds for an idle machine: "4 min (this machine is busy: 3 × longer
    than when idle)".
    """
    factor = estimate_slowdown()
    if factor <= 1:
        return duration(seconds)
    return (
        f"{duration(factor * seconds)} (this machine is busy: {factor:g} × longer than when idle)"
    )


def format_estimate_bold(seconds: float) -> str:
    """Format an estimate as `format_estimate` does, the time in bold Markdown."""
    time, _, why = format_estimate(seconds).partition(" (")
    if not why:
        return f"**{time}**"
    return f"**{time}** ({why}"
