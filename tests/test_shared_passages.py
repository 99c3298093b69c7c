"""Lines that share ten consecutive words with a test sentence."""

import pytest

from experiments._shared_passages import collect_passages

TEN = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("line", "shared"),
    [
        (f"before {TEN} after", True),
        (TEN.upper().replace(" ", ", "), True),  # case and punctuation do not matter
        (TEN.replace(" ", "-"), True),
        ("one two three four five six seven eight nine", False),  # nine words
        (TEN.replace("five", "5"), False),
        (TEN.replace("five", "five and"), False),
        ("", False),
    ],
)
def test_ten_consecutive_words_are_found_whatever_is_between_them(line, shared):
    passages = collect_passages([f"The sentence: {TEN} end.", "a short sentence"])
    assert passages.are_shared(line) is shared


def test_a_short_sentence_matches_nothing_and_the_length_is_a_choice():
    short = "a short sentence"
    assert not collect_passages([short]).are_shared(short)
    assert collect_passages([short], 3).are_shared(f"This is {short}!")
    assert not collect_passages([]).are_shared(TEN)
