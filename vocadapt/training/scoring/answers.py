"""Scores of answers to questions by SQuAD's rules. Gold is all accepted answers of a question, the
prediction one text.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from vocadapt.training.scoring.counts import ANSWERS, Array, Rules, Scorer, Tally, safe_divide

NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Normalize a text: lower case, no ASCII punctuation, no articles, single spaces: `The cat's
    toy.` → `cats toy`.
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact(gold: str, predicted: str) -> float:
    """Return 1 if both texts are equal after normalization, else 0."""
    return float(normalize_answer(gold) == normalize_answer(predicted))


def overlap(gold: str, predicted: str) -> float:
    """Return the F1 of the two bags of words after normalization; if either is empty, 1 if both
    are, else 0.
    """
    ours, theirs = normalize_answer(gold).split(), normalize_answer(predicted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * (Counter(ours) & Counter(theirs)).total() / (len(ours) + len(theirs))


def substring(gold: str, predicted: str) -> float:
    """Return 1 if the normalized gold answer contains the normalized prediction, else 0; an empty
    prediction counts only if gold is empty.
    """
    ours, theirs = normalize_answer(gold), normalize_answer(predicted)
    return float(theirs in ours if theirs else not ours)


def _count_answers(gold: Sequence[Sequence[str]], predicted: Sequence[str], rules: Rules) -> Tally:
    """Count per question: exact, overlap and substring, each the best over the accepted answers,
    and 1; no accepted answer means "".
    """
    rows = [
        [
            [
                *(
                    max(rule(answer, said) for answer in accepted or ("",))
                    for rule in (exact, overlap, substring)
                ),
                1.0,
            ]
        ]
        for accepted, said in zip(gold, predicted, strict=True)
    ]
    return Tally(np.array(rows))


def _average_answers(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    names = ("exact", "f1", "substring")
    return {
        name: safe_divide(sums[..., 0, column], sums[..., 0, 3])
        for column, name in enumerate(names)
    }


ANSWER_SCORERS = (
    Scorer(
        "squad",
        "SQuAD's: lower case, no ASCII punctuation, articles or double blanks; exact = same text,"
        " f1 = overlap of the bags of words, substring = the prediction stands in the gold answer"
        " (an empty one does not); best over accepted answers, mean over questions",
        (ANSWERS,),
        _count_answers,
        _average_answers,
        counted=False,
    ),
)
