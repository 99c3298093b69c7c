import numpy as np

from vocadapt.training.scoring.counts import Scorer, Tally
from vocadapt.training.scoring.scorers import register_scorer


def count_units(gold, predicted, rules):
    right = [float(own == other) for own, other in zip(gold, predicted, strict=True)]
    return Tally(np.array([[[1.0, 1.0, one]] for one in right]))


def compute_half(sums, labels, rules):
    return {"half": sums[..., 0, 2] / sums[..., 0, 0] / 2}


register_scorer(
    Scorer(
        "half-accuracy",
        "half of the fraction of examples predicted right",
        ("label",),
        count_units,
        compute_half,
        headline="half",
        counted=False,
    )
)
