"""Evaluated alignments of chosen scores."""

from collections.abc import Mapping
from typing import Any

from vocadapt.spaces.alignment.evaluation import (
    BETTER,
    CandidateScores,
    EvaluatedAlignment,
    HeldOutScores,
    RankingScores,
)
from vocadapt.spaces.alignment.methods import AlignmentSettings


def build_evaluated(
    settings: AlignmentSettings,
    anchors: int,
    scores: Mapping[str, tuple[float, int]] | None = None,
    folds: int = 10,
    **more: Any,
) -> EvaluatedAlignment:
    """Return an evaluated alignment; scores: P@5 and number of candidates of a ranking."""
    rankings = []
    for name in ("", "pieces", "csls", "csls pieces"):
        p5, candidates = (scores or {}).get(name, (0.0, anchors))
        rankings.append(RankingScores(0.0, p5, 1.0, 5 / candidates, candidates))
    plain, pieces, csls, csls_pieces = rankings
    held_out = HeldOutScores(
        **vars(plain),
        all_pieces=pieces,
        cosine=0.5,
        csls=CandidateScores(**vars(csls), all_pieces=csls_pieces),
        folds=folds,
        verdict=BETTER,
    )
    return EvaluatedAlignment(settings.method, anchors, held_out, 1.0, settings, **more)
