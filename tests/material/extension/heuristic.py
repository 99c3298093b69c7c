import numpy as np

from vocadapt.vocabulary.plan.augmentation import register_heuristic
from vocadapt.vocabulary.plan.reduction import Reduction


def sort_by_alphabet(vocabulary, ids, table, settings):
    tokens = [vocabulary.tokens[i] for i in ids]
    return ids[np.argsort(tokens)]


register_heuristic(
    "alphabet",
    Reduction("removes the alphabetically first tokens", "tests of extensions", sort_by_alphabet),
)
