"""What a fold of a k-fold task is called, and what the task is without it."""

import re

NUMBERED = re.compile(r", fold \d+$")


def of_fold(name: str, fold: int) -> str:
    """The name of a fold: GAD → GAD, fold 3; the name itself where the fold is 0, which is none."""
    return f"{name}, fold {fold}" if fold else name


def without_fold(name: str) -> str:
    """The name without its fold: GAD, fold 3 → GAD."""
    return NUMBERED.sub("", name)
