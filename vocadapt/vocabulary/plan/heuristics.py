"""Register removal heuristics: `reduction` has the registry and the built-in ones."""

from vocadapt.extensions import register
from vocadapt.vocabulary.plan.augmentation import AUGMENTATIONS, reverse_reduction
from vocadapt.vocabulary.plan.reduction import REDUCTIONS, Reduction


def register_heuristic(name: str, heuristic: Reduction) -> None:
    """Add a removal heuristic, and the augmentation `target-NAME` that adds in the reverse order.

    Raises InputError for a name that is taken or invalid.
    """
    register(REDUCTIONS, "a removal heuristic", name, heuristic)
    register(AUGMENTATIONS, "an augmentation", f"target-{name}", reverse_reduction(name, heuristic))
