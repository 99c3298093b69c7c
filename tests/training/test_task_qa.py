"""Questions and their offsets; windows, words and best answers against a step-by-step
implementation of the rules."""

import json
import random

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.training.examples.context_windows import (
    AnswerSettings,
    Window,
    divide_into_windows,
    find_best_spans,
    find_covered_words,
    find_word_bounds,
)
from vocadapt.training.examples.examples import Answer
from vocadapt.training.tasks.formats.squad import (
    AMBIGUOUS,
    NOT_IN_CONTEXT,
    REPAIRED,
    find_nearest_occurrence,
    read_questions,
)

CONTEXT = "The cat sat. The dog ran away. The cat slept."


def squad(*questions, context=CONTEXT):
    return {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def asked(name, text, start, **more):
    return {
        "id": name,
        "question": f"What of {name}?",
        "answers": [{"text": text, "answer_start": start}],
        **more,
    }


@pytest.fixture
def read(tmp_path):
    def read(content):
        (tmp_path / "q.json").write_text(
            content if isinstance(content, str) else json.dumps(content)
        )
        return read_questions(tmp_path / "q.json")

    return read


def test_questions_and_their_answers(read):
    split = read(squad(asked(7, "dog", 17), asked("b", "cat", 4)))
    first = split.examples[0]
    assert first.id == "7"
    assert first.question == asked(7, "dog", 17)["question"]
    assert first.answers == (Answer("dog", 17),)
    assert first.document == "t"
    assert split.gold == (("dog",), ("cat",)) and split.notes[REPAIRED] == 0
    assert (split.notes["answers"], split.notes["documents"]) == (2, 1)


def test_questions_without_ids_have_ids_of_their_own(read):
    """Of equal length, in one article and in the next."""
    bare = [
        {key: value for key, value in asked(name, "cat", 4).items() if key != "id"}
        for name in "abc"
    ]
    content = squad(bare[0], asked(None, "cat", 4), asked("x", "cat", 4))
    content["data"] += squad(bare[2])["data"]
    assert [question.id for question in read(content).examples] == ["1-1", "1-2", "x", "2-4"]


def test_wrong_offsets_are_moved_to_the_nearest_place_and_counted(read):
    split = read(squad(asked("a", "dog", 18), asked("b", "cat", 30), asked("c", "dog ran ", 16)))
    assert [question.answers[0].start for question in split.examples] == [17, 35, 17]
    assert split.notes[REPAIRED] == 3
    assert [split.notes[f"moved by {by}"] for by in ("-1", "+5", "+1")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("answers", "starts", "ambiguous"),
    [
        # All offsets are too large by 16; the second "cat", at 35, is nearer to 20 than the first.
        ([("dog", 33), ("sat", 24), ("cat", 20)], [17, 8, 4], 0),
        ([("cat", 20)], [35], 1),
        ([("cat", 20), ("dog", 18)], [35, 17], 1),  # no other answer shares a shift
        ([("cat", 20), ("cat", 20), ("dog", 18)], [35, 35, 17], 2),  # nor does its repetition
        ([("cat", 4), ("dog", 33), ("cat", 20)], [4, 17, 4], 0),  # the first is where it stands
        ([("cat", 35), ("dog", 17), ("The", 0)], [35, 17, 0], 0),
        # More than half share a shift of -31, and "cat" stands there, too.
        ([("sat", 39), ("The", 31), ("cat", 35), ("dog", 48)], [8, 0, 4, 17], 0),
        ([("sat", 39), ("cat", 35), ("dog", 17), ("The", 0)], [8, 35, 17, 0], 0),
    ],
)
def test_answers_of_a_context_share_a_shift(read, answers, starts, ambiguous):
    questions = [asked(str(place), *answer) for place, answer in enumerate(answers)]
    split = read(squad(*questions))
    assert [question.answers[0].start for question in split.examples] == starts
    assert split.notes[AMBIGUOUS] == ambiguous


def test_answers_as_a_dictionary_of_lists(read):
    two = {"text": ["dog", "The dog"], "answer_start": [17, 13]}
    question = {"id": "a", "question": "?", "answers": two}
    assert read(squad(question)).examples[0].answers == (Answer("dog", 17), Answer("The dog", 13))
    with raises_input_error("other-number-of-offsets", "2", "1"):
        read(squad({**question, "answers": {**two, "answer_start": [17]}}))
    none = {"id": "b", "question": "?", "answers": {"text": [], "answer_start": []}}
    assert read(squad(none)).examples[0].answers is None


def test_an_answer_that_is_not_in_its_context_is_flagged_and_still_scored(read):
    split = read(squad(asked("a", "horse", 3), asked("b", "", 0)))
    assert [question.answers[0].start for question in split.examples] == [None, None]
    assert split.notes[NOT_IN_CONTEXT] == 2 and split.gold == (("horse",), ("",))


def test_the_nearest_place_is_found_as_by_looking_everywhere():
    draw = random.Random(0)
    for _ in range(300):
        context = "".join(draw.choices("ab ", k=draw.randint(1, 40)))
        text, start = "".join(draw.choices("ab", k=draw.randint(1, 3))), draw.randint(-3, 45)
        places = [place for place in range(len(context)) if context.startswith(text, place)]
        found = find_nearest_occurrence(context, text, start)
        if not places:
            assert found is None
        else:
            assert context.startswith(text, found)
            assert abs(found - max(0, start)) == min(abs(place - max(0, start)) for place in places)


def test_questions_without_an_answer(read):
    split = read(
        squad(
            asked("a", "dog", 17),
            {"id": "b", "question": "?", "answers": [], "is_impossible": True},
        )
    )
    assert split.gold == (("dog",), ())
    bare = read(squad({"id": "a", "question": "?"}, {"id": "b", "question": "?", "answers": []}))
    assert not bare.labeled


@pytest.mark.parametrize(
    ("content", "code", "value"),
    [
        ("", "empty-file", ""),
        ("{", "invalid-json", ""),
        ("[]", "wrong-type", '"data"'),
        ('{"data": {}}', "wrong-type", '"data"'),
        ('{"data": []}', "no-questions", ""),
        ('{"data": [3]}', "wrong-type", '"paragraphs"'),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', "wrong-type", '"context"'),
        (squad({"id": "a", "question": 3}), "wrong-type", '"question"'),
        (squad({"id": "a", "question": "?", "answers": {"text": "x"}}), "wrong-type", '"answers"'),
        (
            squad({"id": "a", "question": "?", "answers": [{"text": "x"}]}),
            "wrong-type",
            '"answer_start"',
        ),
        (squad(asked("a", "dog", 17), {"id": "b", "question": "?"}), "some-unanswered", "'b'"),
        (squad(asked("a", "dog", 17), asked("a", "cat", 4)), "repeated-ids", "1"),
    ],
)
def test_a_bad_file_is_refused(read, content, code, value):
    with raises_input_error(code, value) as raised:
        read(content)
    assert raised.value.remedy


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "q.json").write_bytes(b'{"data": "caf\xe9"}')
    with raises_input_error("not-utf8"):
        read_questions(tmp_path / "q.json")


def windows_step_by_step(context, question, size):
    """Grown one piece at a time, right first, until the window is full or the context is used up:
    the oracle.
    """
    stride = int(0.5 * (size - question - 3))
    found = []
    for start in range(0, context, stride):
        left, right = start, min(context, start + stride)
        active = (left, right)
        turn = "right"
        while right - left < size - question - 3 and (left > 0 or right < context):
            if turn == "right" and right < context:
                right += 1
            elif turn == "left" and left > 0:
                left -= 1
            turn = "left" if turn == "right" else "right"
        found.append(Window(left, *active, right))
    return tuple(found)


def test_windows_are_those_grown_step_by_step():
    draw = random.Random(0)
    for _ in range(300):
        size = draw.randint(8, 60)
        context, question = draw.randint(0, 200), draw.randint(0, size - 5)
        assert divide_into_windows(context, question, size) == windows_step_by_step(
            context, question, size
        )
    assert divide_into_windows(2000, 12)[1] == Window(124, 248, 496, 621)


def test_every_piece_is_scored_once_and_no_window_is_too_long():
    found = divide_into_windows(1234, 17)
    assert [
        piece for window in found for piece in range(window.active_left, window.active_right)
    ] == list(range(1234))
    assert all(
        window.left <= window.active_left < window.active_right <= window.right for window in found
    )
    assert max(window.right - window.left for window in found) == 512 - 17 - 3
    assert divide_into_windows(0, 5) == ()


def test_a_question_that_fills_the_window_is_refused():
    assert len(divide_into_windows(3, 507)) == 3
    with raises_input_error("long-question", "508", "507"):
        divide_into_windows(3, 508)


def test_words_as_the_code_and_as_the_paper_have_them():
    text = " (MERS-CoV)  was\n"
    assert [text[start:end] for start, end in find_word_bounds(text)] == [
        "(",
        "MERS",
        "-",
        "CoV",
        ")",
        "was",
    ]
    assert [text[start:end] for start, end in find_word_bounds(text, "paper")] == [
        "(MERS-CoV)",
        "was",
    ]
    assert find_word_bounds("  ").shape == (0, 2)
    with raises_input_error("unknown-choice"):
        AnswerSettings(words="mine")


def test_the_words_an_answer_covers():
    bounds = find_word_bounds("in 2012, at home")  # in · 2012 · , · at · home
    assert find_covered_words(bounds, 3, 7) == (1, 1)
    assert find_covered_words(bounds, 3, 8) == (1, 2)
    assert find_covered_words(bounds, 4, 13) == (1, 4)
    assert find_covered_words(bounds, 2, 3) is None and find_covered_words(bounds, 0, 16) == (0, 4)


def best_by_trying_all(start, end, bounds, characters):
    tried = [
        (float(start[first] + end[last]), first, last)
        for first in range(len(bounds))
        for last in range(first, len(bounds))
        if bounds[last, 1] - bounds[first, 0] <= characters
    ]
    return sorted(tried, key=lambda one: (-one[0], one[1], one[2]))


def test_the_best_answers_are_those_of_trying_all():
    random = np.random.default_rng(0)
    for _ in range(40):
        lengths = random.integers(1, 9, size=int(random.integers(1, 30)))
        ends = np.cumsum(lengths + 1)
        bounds = np.stack([ends - lengths, ends], axis=1)
        start, end = random.normal(size=(2, len(bounds))).round(1)
        characters = int(random.integers(1, 40))
        expected = best_by_trying_all(start, end, bounds, characters)[:5]
        assert find_best_spans(start, end, bounds, characters, 5) == [
            (first, last, score) for score, first, last in expected
        ]


def test_no_answer_longer_than_allowed_and_none_at_all():
    bounds = find_word_bounds("aaaa bbbb cccc")
    scores = np.array([0.0, 0.0, 5.0])
    assert find_best_spans(np.array([5.0, 0.0, 0.0]), scores, bounds, 9)[0][:2] in {
        (0, 0),
        (0, 1),
        (1, 2),
        (2, 2),
    }
    assert find_best_spans(scores, scores, bounds, 3) == []
    assert find_best_spans(np.zeros(0), np.zeros(0), find_word_bounds("")) == []
