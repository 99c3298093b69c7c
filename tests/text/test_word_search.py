"""What a typed text stands for: words, misspellings, regular expressions and formulas."""

import random
import string
import time

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.text import patterns
from vocadapt.text.formulas import Formula, Term, parse_formula
from vocadapt.text.patterns import find_matches, is_pattern
from vocadapt.text.spelling import complete_prefix, count_spelling_errors, find_similar_spellings
from vocadapt.text.splitter import Splitter
from vocadapt.text.word_search import WordSearch, search_words, suggest_spellings

WORDS = ("king", "man", "woman", "hypertension", "hypotension", "anemia", "leukemia", "gastritis")
BERT = Splitter.bert()


def count_errors_one_by_one(one: str, other: str) -> int:
    """The textbook's table of the optimal string alignment distance."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if not i or not j:
                table[i][j] = i + j
                continue
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (one[i - 1] != other[j - 1]),
            )
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@pytest.mark.parametrize(
    ("typed", "word", "errors"),
    [
        ("ab", "ba", 1),
        ("hypertensoin", "hypertension", 1),
        ("kitten", "sitting", 3),
        ("abc", "", 3),
        ("", "abc", 3),
        ("ca", "abc", 3),  # 2 by Damerau's unrestricted distance
        ("naïve", "naive", 1),
    ],
)
def test_spelling_errors_by_hand(typed, word, errors):
    assert count_spelling_errors(typed, [word]).tolist() == [errors]


def test_spelling_errors_of_many_words_are_those_of_each():
    draw = random.Random(1)
    pool = ["".join(draw.choices("abc", k=draw.randrange(9))) for _ in range(300)]
    for typed in pool[:40]:
        expected = [count_errors_one_by_one(typed, word) for word in pool]
        assert count_spelling_errors(typed, pool).tolist() == expected


def test_a_misspelled_word_is_found_the_nearest_and_most_frequent_first():
    assert find_similar_spellings("hypertensoin", WORDS) == ("hypertension",)
    assert find_similar_spellings("hypetension", WORDS) == ("hypertension", "hypotension")
    assert find_similar_spellings("mna", WORDS) == ("man",)
    assert find_similar_spellings("qqqq", WORDS) == ()
    assert find_similar_spellings("Anemia", WORDS) == ("anemia",)
    assert find_similar_spellings("x", ("a", "ab")) == ()  # one error of one letter is any letter
    assert "anemia" in suggest_spellings("anemai", WORDS)
    assert suggest_spellings("qqqq", WORDS) == ""


def test_thirty_thousand_words_are_searched_in_a_tenth_of_a_second():
    draw = random.Random(2)
    letters = string.ascii_lowercase
    words = tuple("".join(draw.choices(letters, k=draw.randrange(4, 16))) for _ in range(30_000))
    seconds = []
    for _ in range(5):
        start = time.process_time()
        search_words("hypertensoin", words, BERT)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1


def test_a_prefix_is_completed_in_the_order_of_the_words():
    assert complete_prefix("hyp", WORDS) == ("hypertension", "hypotension")
    assert complete_prefix("HYP", WORDS, 1) == ("hypertension",)
    assert complete_prefix("king", WORDS) == () and complete_prefix("", WORDS) == ()
    assert len(complete_prefix("w", [f"w{i}" for i in range(100)])) == 8


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("itis$", ("gastritis",)),
        (".*emia", ("anemia", "leukemia")),
        ("/emia/", ("anemia", "leukemia")),
        ("^hyp[eo]r", ("hypertension",)),
        ("/KING/", ("king",)),
        ("(a*)*b", ()),  # hours with a backtracking engine
        ("/xyz/", ()),
    ],
)
def test_regular_expressions(typed, found):
    assert is_pattern(typed) and find_matches(typed, WORDS) == found
    assert search_words(typed, WORDS, BERT).matches == found


@pytest.mark.parametrize("typed", ["(", "[a", r"(a)\1", "(?=a)b", "*", "a{99999}", "/\ud800/"])
def test_what_is_no_regular_expression_is_refused_in_a_sentence(typed):
    with raises_input_error("invalid-pattern") as caught:
        find_matches(typed, WORDS)
    assert caught.value.remedy and "Arrow" not in str(caught.value)


def test_a_regular_expression_is_bounded_in_length_and_time(monkeypatch):
    with raises_input_error("too-long-pattern", "200"):
        find_matches("a" * 201 + "$", WORDS)
    with raises_input_error("too-slow-pattern"):
        find_matches("a$", WORDS, seconds=-1.0)
    # The worst for RE2: thousands of states at every letter. It ends soon after the limit.
    words = ["ab" * 90] * 20_000
    start = time.process_time()
    try:
        find_matches(".{0,999}x.{0,999}y.{0,999}z", words)
    except InputError as error:
        assert "too long" in str(error)
    assert time.process_time() - start < 10
    monkeypatch.setattr(patterns, "MAX_WORD_LENGTH", 3)
    assert find_matches(".", ["abc", "abcd", "\ud800"]) == ("abc",)


def known(text):
    return text if text in WORDS else None


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("king - man + woman", [("king", 1), ("man", -1), ("woman", 1)]),
        ("- man + king", [("man", -1), ("king", 1)]),
        ("king − man", [("king", 1), ("man", -1)]),
        ("2 king - 0.5 man", [("king", 2), ("man", -0.5)]),
        ("2*king + 3×man", [("king", 2), ("man", 3)]),
        ("king-man+woman", [("king", 1), ("man", -1), ("woman", 1)]),
        ("king -man", [("king", 1), ("man", -1)]),
        ("king - nosuch", [("king", 1), ("nosuch", -1)]),
        ("covid-19 + king", [("covid-19", 1), ("king", 1)]),
    ],
)
def test_formulas_are_read(typed, terms):
    formula = parse_formula(typed, known)
    assert formula is not None
    assert [(term.word, term.weight) for term in formula.terms] == terms


@pytest.mark.parametrize(
    "typed",
    ["king", "covid-19", "king-nosuch", "king-man", "-king+", "C++", "-", "+", "", "two words"],
)
def test_other_texts_are_no_formulas(typed):
    assert parse_formula(typed, known) is None


@pytest.mark.parametrize(
    "typed",
    ["king -", "king - + man", "king man - woman", "__import__('os') - king x", "1 2 king + man"],
)
def test_a_formula_with_errors_is_refused_in_a_sentence(typed):
    with raises_input_error("not-one-word"):
        parse_formula(typed, known)


def test_a_formula_has_few_terms_and_is_written_with_its_signs():
    with raises_input_error("too-many-terms", "10"):
        parse_formula(" + ".join(["king"] * 11), known)
    formula = Formula((Term("king", 1.0), Term("man", -1.0), Term("woman", 0.5)))
    assert str(formula) == "king − man + 0.5 woman"


def test_an_exact_word_comes_first_then_the_model_s_spelling():
    assert search_words(" king ", WORDS) == WordSearch("king", word="king")
    assert search_words("KING", WORDS, BERT) == WordSearch("KING", word="king")
    assert search_words("a$b", ("a$b",)).word == "a$b"
    typed = "king - man"
    assert search_words(typed, (typed,), formulas=True).word == typed
    assert search_words("/king/", (*WORDS, "/king/")).word == "/king/"
    assert search_words(typed, WORDS, BERT).is_unknown


def test_an_unknown_word_has_completions_and_similar_words():
    found = search_words("hypertensoin", WORDS, BERT)
    assert found.is_unknown and found.similar == ("hypertension",) and not found.completions
    found = search_words("hyp", WORDS, BERT)
    assert found.completions == ("hypertension", "hypotension") and not found.similar


def test_the_words_of_several_are_offered_and_their_sum():
    assert search_words("king woman", WORDS, BERT).parts == ("king", "woman")
    found = search_words("King-woman, king", WORDS, BERT, formulas=True)
    *words, total = found.parts
    assert words == ["king", "woman"]
    summed = search_words(total, WORDS, BERT, formulas=True).formula
    assert summed is not None and [term.word for term in summed.terms] == words
    assert search_words("king nosuch", WORDS, BERT, formulas=True).parts == ("king",)
    assert search_words("kingly", WORDS, BERT).parts == search_words("king man", WORDS).parts == ()


@pytest.mark.parametrize("typed", ["", "\x00", "\ud800", "a" * 100_000, "😷", "‮", " + ", "..", "/"])
def test_a_hostile_text_is_a_search_like_any_other(typed):
    assert search_words(typed, (*WORDS, "a" * 100_000 + "b"), BERT, formulas=True).word is None


def test_what_is_typed_never_fails_but_in_a_sentence():
    draw = random.Random(3)
    signs = "abk+-*×/()[]{}^$\\.?| 129,ïß\u202e\u0301高"
    for _ in range(2000):
        typed = "".join(draw.choices(signs, k=draw.randrange(1, 12)))
        try:
            found = search_words(typed, WORDS, BERT, formulas=True)
        except InputError as error:
            assert error.problem.endswith(".")
            continue
        kinds = [found.word, found.formula, found.matches]
        assert sum(kind is not None for kind in kinds) <= 1
