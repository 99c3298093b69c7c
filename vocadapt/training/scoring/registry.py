"""SCORERS: all scorers by name. DEFAULTS: the scorer of each kind of task."""

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.training.scoring.answers import ANSWER_SCORERS
from vocadapt.training.scoring.counts import Scorer
from vocadapt.training.scoring.entities import ENTITY_SCORERS
from vocadapt.training.scoring.labels import LABEL_SCORERS

SCORERS: dict[str, Scorer] = {
    scorer.name: scorer for scorer in (*ENTITY_SCORERS, *LABEL_SCORERS, *ANSWER_SCORERS)
}
DEFAULTS = {
    "ner": "entity-strict",
    "relations": "micro-f1-positive",
    "classification": "macro-f1",
    "multilabel": "example-f1",
    "nli": "accuracy",
    "qa": "squad",
}


def scorer_of(kind: str, name: str = "") -> Scorer:
    """Return a scorer for a kind of task, the default one without a name; raises InputError for an
    unknown scorer, or one for other kinds.
    """
    if kind not in DEFAULTS:
        raise InputError(
            f"There is no kind of task {kind!r}.", f"Choose one of: {', '.join(DEFAULTS)}."
        )
    fitting = [scorer.name for scorer in SCORERS.values() if kind in scorer.kinds]
    if (name or DEFAULTS[kind]) not in fitting:
        raise InputError(
            f"There is no score {name!r} for {kind}.", f"Choose one of: {', '.join(fitting)}."
        )
    return SCORERS[name or DEFAULTS[kind]]


def register_scorer(scorer: Scorer) -> None:
    """Add a scorer to the registry; raises InputError for a name that is taken or invalid."""
    register(SCORERS, "a scorer", scorer.name, scorer)
