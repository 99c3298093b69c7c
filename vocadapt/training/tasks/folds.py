"""Names of the folds of a k-fold task."""

import re

NUMBERED = re.compile(r", fold \d+$")


def name_fold(name: str, fold: int) -> str:
    """Return the name of a fold: GAD → GAD, fold 3; the name itself if the fold is 0, which means
    none.
    """
    return f"{name}, fold {fold}" if fold else name


def without_fold(name: str) -> str:
    """Return the name without its fold: GAD, fold 3 → GAD."""
    return NUMBERED.sub("", name)
