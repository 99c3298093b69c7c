"""Question answering on a context of any length: answers with their scores, positions and windows.

run = load_run(Path("runs/squad"))
found = answer(run, ["What does ACE2 do?"], Path("article.txt").read_text())
found[0].best["pooled"][0].text  # best["pooled"] is empty if there is no answer
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.heads import QUESTION
from vocadapt.progress import Progress, silent
from vocadapt.training.encoding.question_encoding import Part, find_scored_window
from vocadapt.training.examples.context_windows import (
    AnswerSettings,
    check_word_rule,
    find_best_spans,
    find_word_bounds,
)
from vocadapt.training.examples.examples import Question
from vocadapt.training.finetune.predict import LOWEST
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.labels import Logits

# Maximum number of candidate spans: a context may repeat one answer 100,000 times.
MAX_SPANS = 20_480
MAX_ANSWERS = 20  # number of distinct answers in the softmax (Poerner et al. 2020)


@dataclass(frozen=True)
class AnswerSpan:
    """An answer under one tokenization: the characters of the context from `start` to `end`.

    score: start logit of its first word plus end logit of its last word. probability: softmax of
    the score over the best distinct answers of the context, 20 at most.
    """

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class QuestionAnswers:
    """Answers to a question.

    best: answers by tokenization ("base", "adapted", "pooled"), best first; empty if there is none.
    windows: the window that scores the first word of the best answer, by tokenization.
    """

    question: str
    best: Mapping[str, tuple[AnswerSpan, ...]]
    windows: Mapping[str, Part]


def answer(
    run: SavedRun,
    questions: Sequence[str],
    context: str,
    max_answers: int = 1,
    progress: Progress = silent,
    rule: str = "",
) -> list[QuestionAnswers]:
    """Answer questions on a context of any length under every tokenization.

    rule: the word rule of the context; "" means the one used in training. Raises InputError if the
    run is not of question answering, if a question is empty or leaves no room for the context, or
    if the context has no words.
    """
    _check_questions(run, questions, context, max_answers)
    # 1. The logits of all questions, pooled over the words of the context.
    rule = check_word_rule(rule or run.word_rule)
    examples = [
        Question(str(number), question, context, None, word_rule=rule)
        for number, question in enumerate(questions)
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


def _check_questions(
    run: SavedRun, questions: Sequence[str], context: str, max_answers: int
) -> None:
    if run.kind.head != QUESTION:
        raise InputError(
            f"{run.folder}: it was fine-tuned for {run.kind}, not for question answering.",
            "Give a run, or any model folder, with a question answering head.",
        )
    if not context.split():
        raise InputError("The context has no words.", "Give the text that contains the answers.")
    if not questions or not all(question.strip() for question in questions):
        raise InputError("Expected a question, got none.", 'For example: "What does ACE2 do?".')
    if not 1 <= max_answers <= MAX_ANSWERS:
        raise InputError(
            f"Expected 1 to {MAX_ANSWERS} answers per question, got {max_answers}.",
            code="out-of-range",
        )


def find_best_answers(
    logits: Logits,
    context: str,
    max_answers: int = 1,
    characters: int = AnswerSettings().characters,
    rule: str = "code",
) -> tuple[AnswerSpan, ...]:
    """Return the best answers with distinct texts from the logits of a context, (words, 2) float32.

    Empty if every word is too long for an answer or has no wordpiece.
    """
    from scipy.special import softmax

    # 1. Collect distinct texts. A text may occur many times, so more spans are requested until
    # there are enough distinct texts, or no more spans.
    bounds = find_word_bounds(context, rule)
    scores = logits.astype(np.float64)
    distinct: dict[str, tuple[int, int, float]] = {}
    wanted = MAX_ANSWERS
    while True:
        spans = find_best_spans(scores[:, 0], scores[:, 1], bounds, characters, wanted)
        for first, last, score in spans:
            start = int(bounds[first, 0])
            end = int(bounds[last, 1])
            if score > LOWEST / 2:
                distinct.setdefault(context[start:end], (start, end, score))
        if len(distinct) >= MAX_ANSWERS or len(spans) < wanted or wanted >= MAX_SPANS:
            break
        wanted *= 4

    # 2. Softmax over the scores of the best ones.
    best = list(distinct.items())[:MAX_ANSWERS]
    if not best:
        return ()
    probabilities = softmax(np.array([score for _, (_, _, score) in best]))
    return tuple(
        AnswerSpan(text, start, end, score, float(probability))
        for (text, (start, end, score)), probability in zip(best, probabilities, strict=True)
    )[:max_answers]
