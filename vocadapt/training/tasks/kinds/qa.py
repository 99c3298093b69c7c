"""Question answering on long documents: answers are spans of a context."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.heads import QUESTION
from vocadapt.system.files import parse_json
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.encoding.encoding import EncodedExamples, EncodingSettings
from vocadapt.training.encoding.question_encoding import (
    encode_for_training,
    encode_questions,
    find_answer_words,
)
from vocadapt.training.examples.context_windows import (
    AnswerSettings,
    check_word_rule,
    find_best_spans,
    find_word_bounds,
)
from vocadapt.training.examples.examples import (
    SUPERFLUOUS,
    Answer,
    Example,
    Prediction,
    Predictions,
    Question,
    Split,
    SplitWords,
)
from vocadapt.training.labels import Logits, Targets
from vocadapt.training.scoring.counts import ANSWERS, Rules
from vocadapt.training.scoring.scorers import exact, normalize_answer
from vocadapt.training.tasks.formats.squad import (
    AMBIGUOUS,
    NOT_IN_CONTEXT,
    REPAIRED,
    find_nearest_occurrence,
    read_questions,
)
from vocadapt.training.tasks.formats.table_rows import read_json_rows
from vocadapt.training.tasks.kinds.judgment import (
    AFTER,
    BEFORE,
    GOLD,
    NONE,
    RIGHT,
    SPURIOUS,
    Choice,
    Claim,
    Claims,
    Judgment,
    Line,
    Mark,
    Unit,
    choose_style,
    clip_around_marks,
    clip_line,
)
from vocadapt.training.tasks.kinds.kind import TaskKind, TextInput, Tokenizers

if TYPE_CHECKING:
    import torch

UNANSWERED = "questions without a prediction, counted as wrong"
DISJOINT, PARTIAL, ELSEWHERE = "disjoint", "partial", "right elsewhere"
SAMPLE_QUESTION = "Which receptor does the virus use?"
SAMPLE_CONTEXT = (
    "Coronaviruses enter human cells by a receptor. For SARS-CoV-2 this receptor is ACE2, which is"
    " found in the lungs, the heart and the kidneys. After infection the incubation period is about"
    " five days, and most patients with fever recover within two weeks."
)


class QuestionAnswering(TaskKind):
    """Extractive question answering, scored by SQuAD's rules."""

    name = "qa"
    about = "the answer to a question, as a stretch of a context"
    file_format = "SQuAD's JSON"
    prediction_format = (
        'one JSON object {"question id": "answer"}, or .jsonl {"id": ..., "answer": ...}'
    )
    gold_form = ANSWERS
    default_scorer = "squad"
    reported_notes = frozenset({REPAIRED, AMBIGUOUS, NOT_IN_CONTEXT})
    head = QUESTION
    architecture = "ForQuestionAnswering"
    has_word_rule = True
    error_kinds: ClassVar[Mapping[str, str]] = {
        PARTIAL: "shares words with an accepted answer",
        ELSEWHERE: (
            "contains an accepted answer, or is part of one, but at another position of the context"
        ),
        DISJOINT: "shares no word with an accepted answer",
        NONE: "no answer",
        SPURIOUS: "an answer to an unanswerable question",
    }
    confusion_unit = ""
    inputs = (
        TextInput("question", "Question", SAMPLE_QUESTION),
        TextInput("context", "Context", SAMPLE_CONTEXT, height=150),
    )
    not_plain_text = "questions and contexts"
    plain_text_remedy = "Give them as SQuAD's JSON, or ask single questions."

    def read(self, path: Path, columns: Mapping[str, str] | None = None) -> Split:
        """Read questions from SQuAD's JSON."""
        return read_questions(path)

    def read_predictions(self, path: Path, gold: Split) -> Predictions:
        """Read answers by question id; questions without one count as wrong."""
        known = _read_answers(path)
        names = [example.id for example in gold.examples if isinstance(example, Question)]
        answered = sum(name in known for name in names)
        if not answered:
            raise InputError(
                f"{path}: no prediction is for a question of the gold file.",
                "Use the gold file's question ids.",
                code="other-questions",
            )
        notes = {UNANSWERED: len(names) - answered, SUPERFLUOUS: len(set(known) - set(names))}
        return Predictions(tuple(known.get(name, "") for name in names), notes)

    def example_from_json(self, row: Mapping[str, Any]) -> Question:
        """Rebuild a question."""
        answers = None
        if row["answers"] is not None:
            answers = tuple(Answer(**answer) for answer in row["answers"])
        return Question(
            row["id"],
            row["question"],
            row["context"],
            answers,
            row["document"],
            row.get("word_rule", "code"),
        )

    def labels_of(self, examples: Iterable[Example]) -> frozenset[str]:
        """Return no labels: answers are spans of a context."""
        return frozenset()

    def count_labels(self, examples: Iterable[Example]) -> Counter[str]:
        """Count no labels: answers are spans of a context."""
        return Counter()

    def name_outputs(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Return the two outputs of each word: start and end of the answer."""
        return ("start", "end")

    def encode_examples(
        self, examples: Sequence[Question], tokenizers: Tokenizers, settings: EncodingSettings
    ) -> EncodedExamples:
        """Encode questions with their contexts in windows."""
        return encode_questions(examples, tokenizers, settings)

    def encode_for_training(
        self,
        examples: Sequence[Question],
        tokenizers: Tokenizers,
        settings: EncodingSettings,
        index: Mapping[str, int],
    ) -> tuple[EncodedExamples, tuple[Targets, ...]]:
        """Encode the questions that have an answer in their context; targets: its first and last
        word, (2,) int64.
        """
        answered = [question for question in examples if find_answer_words(question) is not None]
        if not answered:
            raise InputError(
                "No answer is in its context, so there is nothing to train on.",
                "Give questions with answers.",
                code="no-answers",
            )
        encoded = encode_for_training(answered, tokenizers, settings)
        words = [np.array(find_answer_words(question), dtype=np.int64) for question in answered]
        return encoded, tuple(words[chunk.owner] for chunk in encoded.chunks)

    def compute_batch_loss(
        self, logits: "torch.Tensor", labels: "torch.Tensor", mask: "torch.Tensor", n_labels: int
    ) -> "torch.Tensor":
        """Return the cross-entropy of the first and the last wordpiece of each answer."""
        from vocadapt.training.losses import compute_question_loss

        return compute_question_loss(logits[..., 0], logits[..., 1], labels, mask, n_labels)

    def compute_loss(self, logits: Logits, example: Question, index: Mapping[str, int]) -> float:
        """Return the mean cross-entropy of the first and the last word of the answer; 0 if it is
        not in the context.
        """
        from scipy.special import log_softmax

        words = find_answer_words(example)
        if words is None:
            return 0.0
        return float(-log_softmax(logits, axis=0)[list(words), [0, 1]].mean())

    def predict(self, logits: Logits, example: Question, names: tuple[str, ...]) -> Prediction:
        """Predict the text from the best start to the best end, 500 characters at most."""
        span = _best_span(logits, example)
        return "" if span is None else _span_text(example, span)

    def count_rows(self, example: Question) -> int:
        """Return the number of words of the context."""
        return len(find_word_bounds(example.context, example.word_rule))

    def set_word_rule(self, examples: Iterable[Example], rule: str) -> tuple[Example, ...]:
        """Set the word rule of questions; raise InputError for an unknown rule."""
        check_word_rule(rule)
        questions = (example for example in examples if isinstance(example, Question))
        return tuple(replace(question, word_rule=rule) for question in questions)

    def constant_predictions(self, gold: Sequence[Any]) -> list[Sequence[Any]]:
        """Return one prediction: no answer to any question."""
        return [[""] * len(gold)]

    def judge(
        self, example: Question, gold: Sequence[str], predicted: Any, rules: Rules
    ) -> Judgment:
        """Judge an answer against all accepted answers, normalized as SQuAD does."""
        unit = _find_gold_unit(example)
        given: tuple[Unit, ...] = ()
        if predicted:
            given = (_locate_answer(example.context, predicted, max(0, unit.start)),)
        if not gold:
            return Judgment({}, given)
        return Judgment({unit: Claim(_classify_answer(example, gold, predicted), given)})

    def is_right(self, gold: Sequence[str], predicted: Any, untyped: bool = False) -> bool:
        """Whether an answer is accepted by SQuAD's rules: without gold answers, only "" is."""
        return any(exact(answer, predicted) for answer in gold or ("",))

    def find_choices(
        self, example: Question, names: tuple[str, ...], units: Iterable[Unit] | None = None
    ) -> Iterator[Choice]:
        """Yield the one choice between spans of the context."""
        yield Choice(
            pick=lambda logits: _best_span(logits, example),
            score=lambda logits, span: float(logits[span[0], 0]) + float(logits[span[1], 1]),
            describe=lambda span: _span_text(example, span),
        )

    def show_lines(
        self, example: Question, unit: Unit, claims: Claims, *, alarm: bool, untyped: bool
    ) -> Iterable[Line]:
        """Yield the question, the gold answer in its context, and the answer of each side."""
        yield clip_line("question", example.question)
        if alarm:
            yield Line("gold", "", note="no answer")
        else:
            others = [answer.text for answer in example.answers or () if answer.text != unit.text]
            also = f"also accepted: {'; '.join(dict.fromkeys(others))[:120]}" if others else ""
            yield _show_answer("gold", example.context, unit, GOLD, also)
        for name, claim in claims:
            if claim.predicted:
                answer = claim.predicted[0]
                yield _show_answer(name, example.context, answer, choose_style(claim), claim.error)
            else:
                yield Line(name, "", note=claim.error)

    def words_of_units(
        self, example: Question, units: Sequence[Unit], split: SplitWords
    ) -> Sequence[str]:
        """Return the words of the answers."""
        words: list[str] = []
        for unit in units:
            words += split(unit.text)
        return tuple(dict.fromkeys(words))

    def words_of_slice(self, example: Question, unit: Unit, split: SplitWords) -> Sequence[str]:
        """Return the words of the question and of its answer."""
        return split(f"{example.question} {unit.text}")

    def example_from_inputs(
        self, typed: Mapping[str, str], split: SplitWords, word_rule: str
    ) -> Example:
        """Make a question of what was typed."""
        return Question("typed", typed["question"], typed["context"], None, "", word_rule)

    def format_predictions(
        self, examples: Sequence[Question], predictions: Sequence[Prediction], jsonl: bool = False
    ) -> Iterator[str]:
        """Yield one JSON object with the answer of each question id, or JSON lines."""
        pairs = [
            (example.id, answer) for example, answer in zip(examples, predictions, strict=True)
        ]
        if not jsonl:
            yield json.dumps(dict(pairs), ensure_ascii=False) + "\n"
            return
        for name, answer in pairs:
            yield json.dumps({"id": name, "answer": answer}, ensure_ascii=False) + "\n"


def _read_answers(path: Path) -> dict[str, str]:
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        rows = read_json_rows(path, '{"id": "…", "answer": "…"}')
        pairs: list[tuple[Any, Any]] = [(row.get("id"), row.get("answer")) for _, row in rows]
    else:
        with open_text_file(path) as source:
            text = source.read_document()
        content = parse_json(text, str(path), "Give one object {id: answer}, or .jsonl.")
        pairs = list(content.items()) if isinstance(content, dict) else [(None, None)]
    odd = [
        name
        for name, answer in pairs
        if not isinstance(name, str | int) or not isinstance(answer, str)
    ]
    if odd or not pairs:
        raise InputError(
            f"{path}: expected an answer as text for each question id.",
            'Such as {"56be4db0": "in 2012"}.',
            code="wrong-type",
        )
    return {str(name): answer for name, answer in pairs}


def _find_gold_unit(question: Question) -> Unit:
    """Return the first accepted answer that is in the context; if none is, the first one."""
    answers = question.answers or ()
    for answer in answers:
        if answer.start is not None:
            return Unit("", answer.start, answer.start + len(answer.text), answer.text)
    return Unit("", text="".join(answer.text for answer in answers[:1]))


def _locate_answer(context: str, answer: str, near: int) -> Unit:
    """Return an answer with its occurrence in the context that is closest to a position.

    Predictions store the answer's text only, not where it was taken from.
    """
    start = find_nearest_occurrence(context, answer, near)
    if start is None:
        return Unit("", text=answer)
    return Unit("", start, start + len(answer), answer)


def _classify_answer(example: Question, gold: Sequence[str], predicted: str) -> str:
    """Return the kind of error of an answer, "" if it is right."""
    # 1. Right, or no answer, by SQuAD's rules.
    if any(exact(answer, predicted) for answer in gold):
        return RIGHT
    gold_texts = [normalize_answer(answer) for answer in gold]
    text = normalize_answer(predicted)
    if not text:
        return NONE
    # 2. Words in common with an accepted answer, and where.
    if not any(set(answer.split()) & set(text.split()) for answer in gold_texts):
        return DISJOINT
    # Whole words: the text contains an accepted answer, or is part of one.
    padded = f" {text} "
    contained = any(
        f" {answer} " in padded or padded in f" {answer} " for answer in gold_texts if answer
    )
    if contained and not _is_at_gold_position(example, predicted):
        return ELSEWHERE
    return PARTIAL


def _is_at_gold_position(example: Question, predicted: str) -> bool:
    for answer in example.answers or ():
        if answer.start is None:
            continue
        gold = Unit("", answer.start, answer.start + len(answer.text))
        if _locate_answer(example.context, predicted, answer.start).touches(gold):
            return True
    return False


def _best_span(logits: Logits, question: Question) -> tuple[int, int] | None:
    bounds = find_word_bounds(question.context, question.word_rule)
    scores = logits.astype(np.float64)
    spans = find_best_spans(scores[:, 0], scores[:, 1], bounds, AnswerSettings().characters)
    return spans[0][:2] if spans else None


def _span_text(question: Question, span: tuple[int, int]) -> str:
    bounds = find_word_bounds(question.context, question.word_rule)
    return question.context[bounds[span[0], 0] : bounds[span[1], 1]]


def _show_answer(name: str, context: str, unit: Unit, style: str, note: str) -> Line:
    """Build the line of an answer: in its context, or alone if it does not occur there."""
    if unit.start < 0:
        return clip_line(name, unit.text, style, note)
    start = max(0, unit.start - BEFORE)
    end = unit.end + AFTER
    return clip_around_marks(name, context, [Mark(unit.start, unit.end, style)], start, end, note)
