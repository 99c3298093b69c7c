"""SCORERS: all scorers by name. A kind of task uses those that take its gold labels."""

from vocadapt.extensions import register
from vocadapt.training.scoring.answers import ANSWER_SCORERS
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.scoring.entities import ENTITY_SCORERS
from vocadapt.training.scoring.labels import LABEL_SCORERS

SCORERS: dict[str, Scorer] = {
    scorer.name: scorer for scorer in (*ENTITY_SCORERS, *LABEL_SCORERS, *ANSWER_SCORERS)
}


def register_scorer(scorer: Scorer) -> None:
    """Add a scorer to the registry; raises InputError for a name that is taken or invalid."""
    register(SCORERS, "a scorer", scorer.name, scorer)
