"""A context + questions + a run → answers: each with its score, its place, and the window it was
read in.

run = load_run(Path("runs/squad"))
found = answer(run, ["What does ACE2 do?"], Path("article.txt").read_text())
print(found[0].best["pooled"][0].text)                      # an empty tuple where there is no answer
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.training.finetune.outputs import Logits
from vocadapt.training.finetune.question_encoding import Part, read_in
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.prediction.predict import LOWEST
from vocadapt.training.tasks.base import Question
from vocadapt.training.tasks.context_windows import AnswerSettings, best_spans, word_bounds

MOST_SPANS = (
    20_480  # candidate spans for distinct answers: a context may repeat one answer 100,000 times
)
MOST = 20  # distinct answers among which a probability is shared (Poerner et al.)


@dataclass(frozen=True)
class AnswerSpan:
    """An answer under one cut: what stands in the context from `start` to `end`, in characters.

    `score` is the logit of its first word as a start plus that of its last word as an end;
    `probability` its share, by softmax, among the best distinct answers of the context, twenty at
    most.
    """

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class QuestionAnswers:
    """What was found for a question: by cut ("base", "adapted", "pooled") the answers, best first;
    none where there is none.

    `windows` says by cut where the first word of its best answer was read: which window of how
    many, and what that held.
    """

    question: str
    best: Mapping[str, tuple[AnswerSpan, ...]]
    windows: Mapping[str, Part]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def answer(
    run: SavedRun,
    questions: Sequence[str],
    context: str,
    most: int = 1,
    progress: Progress = silent,
    rule: str = "",
) -> list[QuestionAnswers]:
    """Answer questions on a context of any length, under every tokenization of a question answering
    run.

    rule: how to split the context into the words over which logits are pooled (WORD_RULES); "" as
    in training.

    Raises InputError for a run of another kind, an empty question, a context without words, and a
    question that leaves the window no room.
    """
    if run.kind != "qa":
        problem = f"{run.folder}: it was fine-tuned for {run.kind}, and answers no questions."
        raise InputError(
            problem,
            "Give a run, or any model folder, with a head for questions (finetune --task qa).",
        )
    if not context.split():
        raise InputError("The context holds no words.", "Give the text in which the answers stand.")
    if not questions or not all(question.strip() for question in questions):
        raise InputError("Expected a question, got none.", 'Such as "What does ACE2 do?".')
    if not 1 <= most <= MOST:
        raise InputError(f"Expected 1 to {MOST} answers to each question, got {most}.")
    given = (
        Question(str(place), question, context, None) for place, question in enumerate(questions)
    )
    asked = [
        question for question in run.apply_word_rule(given, rule) if isinstance(question, Question)
    ]
    logits = run.logits(asked, progress)
    own = [{cut: rows[place] for cut, rows in logits.items()} for place in range(len(asked))]
    return [_answered(run, question, rows, most) for question, rows in zip(asked, own, strict=True)]


def best_answers(
    logits: Logits,
    context: str,
    most: int = 1,
    characters: int = AnswerSettings().characters,
    rule: str = "code",
) -> tuple[AnswerSpan, ...]:
    """The best answers with different texts, by (words, 2) logits of a context's words; none where
    every word is too long for one, or was cut into nothing.
    """
    bounds, scores = word_bounds(context, rule), logits.astype(np.float64)
    distinct: dict[str, tuple[int, int, float]] = {}
    wanted = MOST
    while True:  # the same text may stand in many places: ask for more until there are enough texts, or no more places
        spans = best_spans(scores[:, 0], scores[:, 1], bounds, characters, wanted)
        for first, last, score in spans:
            start, end = int(bounds[first, 0]), int(bounds[last, 1])
            if score > LOWEST / 2:
                distinct.setdefault(context[start:end], (start, end, score))
        if len(distinct) >= MOST or len(spans) < wanted or wanted >= MOST_SPANS:
            break
        wanted *= 4
    kept = list(distinct.items())[:MOST]
    if not kept:
        return ()
    weights = np.exp(np.array([score for _, (_, _, score) in kept]) - kept[0][1][2])
    shares = weights / weights.sum()
    found = (
        AnswerSpan(text, *place, float(share))
        for (text, place), share in zip(kept, shares, strict=True)
    )
    return tuple(found)[:most]


def _answered(
    run: SavedRun, question: Question, logits: Mapping[str, Logits], most: int
) -> QuestionAnswers:
    best = {
        cut: best_answers(rows, question.context, most, rule=question.word_rule)
        for cut, rows in logits.items()
    }
    windows = {
        cut.name: read_in(question, cut, run.encoding.length, best[cut.name][0].start)
        for cut in run.cuts.values()
        if best[cut.name]
    }
    return QuestionAnswers(question.question, best, windows)
