"""Question answering on a context of any length: answers with scores, positions, and the windows
they were found in.

    run = load_run(Path("runs/squad"))
    found = answer(run, ["What does ACE2 do?"], Path("article.txt").read_text())
    found[0].best["pooled"][0].text  # best["pooled"] is empty if there is no answer
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.heads import QUESTION
from vocadapt.progress import Progress, silent
from vocadapt.training.finetune.question_encoding import Part, find_scored_window
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.labels import Logits
from vocadapt.training.prediction.predict import LOWEST
from vocadapt.training.tasks.context_windows import (
    AnswerSettings,
    check_word_rule,
    find_best_spans,
    find_word_bounds,
)
from vocadapt.training.tasks.examples import Question

# Candidate spans for distinct answers, at most: a context may repeat one answer 100,000 times.
MAX_SPANS = 20_480
MAX_ANSWERS = 20  # distinct answers that the softmax is taken over (Poerner et al. 2020)


@dataclass(frozen=True)
class AnswerSpan:
    """An answer under one tokenization: the characters of the context from `start` to `end`.

    score: logit of its first word as a start plus that of its last word as an end. probability:
    softmax of the score over the best distinct answers of the context, 20 at most.
    """

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class QuestionAnswers:
    """Answers to a question by tokenization ("base", "adapted", "pooled"), best first; empty if
    there is none.

    windows: by tokenization, the window in which the first word of the best answer was scored.
    """

    question: str
    best: Mapping[str, tuple[AnswerSpan, ...]]
    windows: Mapping[str, Part]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def answer(
    run: SavedRun,
    questions: Sequence[str],
    context: str,
    max_answers: int = 1,
    progress: Progress = silent,
    rule: str = "",
) -> list[QuestionAnswers]:
    """Answer questions on a context of any length, under every tokenization of a question answering
    run.

    rule: how to split the context into the words over which logits are pooled (WORD_RULES); "" as
    in training.

    Raises InputError for a run of another kind, an empty question, a context without words, and a
    question that leaves no room for the context.
    """
    if run.kind.head != QUESTION:
        raise InputError(
            f"{run.folder}: it was fine-tuned for {run.kind}, not for question answering.",
            "Give a run, or any model folder, with a question answering head.",
        )
    if not context.split():
        raise InputError("The context holds no words.", "Give the text that contains the answers.")
    if not questions or not all(question.strip() for question in questions):
        raise InputError("Expected a question, got none.", 'Such as "What does ACE2 do?".')
    if not 1 <= max_answers <= MAX_ANSWERS:
        raise InputError(f"Expected 1 to {MAX_ANSWERS} answers per question, got {max_answers}.")
    # 1. The logits of all questions, pooled over the words of the context.
    rule = check_word_rule(rule or run.word_rule)
    examples = [
        Question(str(place), question, context, None, word_rule=rule)
        for place, question in enumerate(questions)
    ]
    logits = run.logits(examples, progress)
    # 2. The best answers under each tokenization, and the window of each best one.
    answers = []
    for number, question in enumerate(examples):
        best = {
            tokenization: find_best_answers(rows[number], context, max_answers, rule=rule)
            for tokenization, rows in logits.items()
        }
        windows = {
            name: find_scored_window(question, tokenizer, run.encoding.length, best[name][0].start)
            for name, tokenizer in run.tokenizers.items()
            if best[name]
        }
        answers.append(QuestionAnswers(question.question, best, windows))
    return answers


def find_best_answers(
    logits: Logits,
    context: str,
    max_answers: int = 1,
    characters: int = AnswerSettings().characters,
    rule: str = "code",
) -> tuple[AnswerSpan, ...]:
    """Return the best answers with distinct texts from the (words, 2) logits of a context; empty if
    every word is too long for an answer or has no wordpiece.
    """
    from scipy.special import softmax

    # 1. Collect distinct texts. The same text may occur in many places: request more spans until
    # there are enough distinct texts, or no more spans.
    bounds, scores = find_word_bounds(context, rule), logits.astype(np.float64)
    distinct: dict[str, tuple[int, int, float]] = {}
    wanted = MAX_ANSWERS
    while True:
        spans = find_best_spans(scores[:, 0], scores[:, 1], bounds, characters, wanted)
        for first, last, score in spans:
            start, end = int(bounds[first, 0]), int(bounds[last, 1])
            if score > LOWEST / 2:
                distinct.setdefault(context[start:end], (start, end, score))
        if len(distinct) >= MAX_ANSWERS or len(spans) < wanted or wanted >= MAX_SPANS:
            break
        wanted *= 4

    # 2. Softmax over the scores of the best ones.
    kept = list(distinct.items())[:MAX_ANSWERS]
    if not kept:
        return ()
    probabilities = softmax(np.array([score for _, (_, _, score) in kept]))
    return tuple(
        AnswerSpan(text, start, end, score, float(probability))
        for (text, (start, end, score)), probability in zip(kept, probabilities, strict=True)
    )[:max_answers]
