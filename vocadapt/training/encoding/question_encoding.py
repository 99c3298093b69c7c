"""Encoding of questions with contexts of any length; logits are pooled over the words of the
context.

For prediction, a context is encoded in the windows of Poerner et al. 2020
(training/examples/context_windows.py), and each wordpiece is scored once. For training, it is
divided into chunks of whole words that fit under every tokenizer; each chunk begins in the middle
of the previous one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.text.tokenization import encode
from vocadapt.training.encoding.encoding import (
    NOTHING,
    EncodedExamples,
    EncodingSettings,
    View,
    build_view,
)
from vocadapt.training.encoding.model_tokenizers import ENDS, Ids, ModelTokenizer
from vocadapt.training.examples.context_windows import (
    SPECIAL,
    divide_into_windows,
    find_covered_words,
    find_word_bounds,
)
from vocadapt.training.examples.examples import Question


@dataclass(frozen=True, eq=False)
class ContextWords:
    """A context under one tokenizer: ids of its wordpieces, and the index of each one's word.

    Both are (wordpieces,) int32.
    """

    ids: Ids
    words: Ids


def encode_questions(
    questions: Sequence[Question],
    tokenizers: Mapping[str, ModelTokenizer],
    settings: EncodingSettings,
) -> EncodedExamples:
    """Encode questions for prediction.

    Raises InputError if a question leaves no room for its context.
    """
    views = {
        name: tuple(_build_windows(questions, tokenizer, settings.length))
        for name, tokenizer in tokenizers.items()
    }
    return EncodedExamples(views, _count_words(questions))


def encode_for_training(
    questions: Sequence[Question],
    tokenizers: Mapping[str, ModelTokenizer],
    settings: EncodingSettings,
) -> EncodedExamples:
    """Encode questions for training, with the same chunks under every tokenizer.

    Raises InputError if a question leaves no room for its context.
    """
    question_ids = {
        name: tokenizer.ids(question.question for question in questions)
        for name, tokenizer in tokenizers.items()
    }
    contexts = {name: _tokenize_contexts(questions, own) for name, own in tokenizers.items()}
    views: dict[str, list[View]] = {name: [] for name in tokenizers}
    available = settings.length - ENDS - max(one.n_between for one in tokenizers.values())
    sizes = _count_words(questions)
    for number, (question, n_words) in enumerate(zip(questions, sizes, strict=True)):
        # 1. The question and its context under each tokenizer.
        own = {
            name: (question_ids[name][question.question], contexts[name][_get_key(question)])
            for name in tokenizers
        }

        # 2. Chunks of words that fit under every tokenizer.
        n_question = max(len(ids) for ids, _ in own.values())
        room = available - n_question
        if room < 1:
            raise InputError(
                f"Question {question.id:.60} has {n_question:,} wordpieces; a sequence of"
                f" {settings.length:,} has room for {available - 1:,} beside a context.",
                "Use a shorter question, or a larger maximum length.",
                code="long-question",
            )
        counts = [np.bincount(context.words, minlength=n_words) for _, context in own.values()]
        for first, end in _divide_context(np.max(counts, axis=0), room):
            # 3. A view of the chunk under each, such as [CLS] question [SEP] chunk [SEP].
            for name, (ids, context) in own.items():
                left, right = map(int, np.searchsorted(context.words, [first, end]))
                begin = 1 + len(ids) + tokenizers[name].n_between
                places = np.arange(begin, begin + right - left, dtype=np.int32)
                chunk = context.ids[left:right]
                rows = context.words[left:right]
                views[name].append(build_view(tokenizers[name], number, ids, chunk, places, rows))
    return EncodedExamples({name: tuple(own) for name, own in views.items()}, sizes)


@dataclass(frozen=True)
class Part:
    """A window over a context: its number (from 1) out of `of` windows, and the characters `start`
    to `end` of the context that it contains.
    """

    window: int
    of: int
    start: int
    end: int


def find_scored_window(
    question: Question, tokenizer: ModelTokenizer, length: int, character: int
) -> Part:
    """Return the window that scores the wordpiece at a character of a context, or the next one."""
    # The windows are the same as in prediction, because the wordpieces are.
    offsets = np.array(
        encode(tokenizer.tokenizer, question.context, add_special_tokens=False).offsets
    )
    n_question = len(tokenizer.ids([question.question])[question.question])
    found = divide_into_windows(len(offsets), n_question, _count_room(tokenizer, length))
    piece = min(int(np.searchsorted(offsets[:, 1], character, side="right")), len(offsets) - 1)
    number, window = next(
        (number, one) for number, one in enumerate(found, start=1) if piece < one.active_right
    )
    return Part(number, len(found), int(offsets[window.left, 0]), int(offsets[window.right - 1, 1]))


def _count_room(tokenizer: ModelTokenizer, length: int) -> int:
    """Return the length of a window without the additional separators of a model:
    `divide_into_windows` assumes three special tokens.
    """
    return length - (ENDS + tokenizer.n_between - SPECIAL)


def find_answer_words(question: Question) -> tuple[int, int] | None:
    """Return the first and last word of the first answer that is in the context, or None."""
    bounds = find_word_bounds(question.context, question.word_rule)
    for answer in question.answers or ():
        if answer.start is not None:
            return find_covered_words(bounds, answer.start, answer.start + len(answer.text))
    return None


def _get_key(question: Question) -> tuple[str, str]:
    return question.context, question.word_rule


def _count_words(questions: Sequence[Question]) -> tuple[int, ...]:
    counts = {key: len(find_word_bounds(*key)) for key in map(_get_key, questions)}
    return tuple(counts[_get_key(question)] for question in questions)


def _tokenize_contexts(
    questions: Sequence[Question], tokenizer: ModelTokenizer
) -> dict[tuple[str, str], ContextWords]:
    found: dict[tuple[str, str], ContextWords] = {}
    for text, rule in dict.fromkeys(map(_get_key, questions)):
        encoding = encode(tokenizer.tokenizer, text, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int32)
        starts = np.array([start for start, _ in encoding.offsets], dtype=np.int64)
        ends = find_word_bounds(text, rule)[:, 1]
        words = np.minimum(np.searchsorted(ends, starts, side="right"), max(len(ends) - 1, 0))
        found[text, rule] = ContextWords(
            ids if tokenizer.network_ids is None else tokenizer.network_ids[ids],
            words.astype(np.int32),
        )
    return found


def _build_windows(
    questions: Sequence[Question], tokenizer: ModelTokenizer, length: int
) -> Iterator[View]:
    question_ids = tokenizer.ids(question.question for question in questions)
    contexts = _tokenize_contexts(questions, tokenizer)
    room = _count_room(tokenizer, length)
    for number, question in enumerate(questions):
        own = question_ids[question.question]
        context = contexts[_get_key(question)]
        try:
            found = divide_into_windows(len(context.ids), len(own), room)
        except InputError as error:
            raise error.add_place(f"Question {question.id}") from None
        # A context without wordpieces: the question is encoded alone, and no word gets a score.
        if not found:
            yield build_view(tokenizer, number, own, NOTHING, NOTHING, NOTHING)
        for window in found:
            rows = context.words[window.active_left : window.active_right]
            begins = 1 + len(own) + tokenizer.n_between + window.active_left - window.left
            places = np.arange(begins, begins + len(rows), dtype=np.int32)
            ids = context.ids[window.left : window.right]
            yield build_view(tokenizer, number, own, ids, places, rows)


def _divide_context(sizes: Ids, room: int) -> Iterator[tuple[int, int]]:
    """Yield the longest chunks of words that fit, each from the middle of the previous one.

    sizes: number of wordpieces of each word. room: that of the context in wordpieces, at least 1.
    """
    sums = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    words = len(sizes)
    while first < words:
        end = max(first + 1, int(np.searchsorted(sums, sums[first] + room, side="right")) - 1)
        yield first, end
        if end >= words:
            return
        first = max(first + 1, (first + end + 1) // 2)
