import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import Canceled
from vocadapt.spaces.diagnostics.evaluation import (
    AnalogyScore,
    PairScore,
    detect_casing,
    score_analogies,
    score_pairs,
)
from vocadapt.spaces.diagnostics.word_lists import (
    AnalogySection,
    JudgedPair,
    PairList,
    load_bundled_analogies,
    load_bundled_pairs,
    read_analogies,
    read_pairs,
)
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter


def space_of(**vectors):
    return EmbeddingSpace(tuple(vectors), np.array(list(vectors.values()), dtype=np.float32))


# by angle from a: b 10°, c 45°, d 90°, e 180°
CIRCLE = space_of(a=[1, 0], b=[5, 0.88], c=[1, 1], d=[0, 2], e=[-3, 0])


def pairs(*rows):
    return PairList("test", tuple(JudgedPair(*row) for row in rows))


def test_spearman_by_hand():
    # cosines fall from b to e: ranks 4 3 2 1; people's ranks 4 2 3 1: Σd² = 2, ρ = 1 − 6·2 / (4·15)
    # = .8
    got = score_pairs(CIRCLE, pairs(("a", "b", 9), ("a", "c", 5), ("a", "d", 6), ("a", "e", 0)))
    assert got == PairScore(pytest.approx(0.8), 4, 4)


def test_equal_scores_share_their_rank():
    # people's ranks 3.5 3.5 1.5 1.5 against 4 3 2 1: the Pearson correlation of the ranks is 4 /
    # √(5·4)
    got = score_pairs(CIRCLE, pairs(("a", "b", 2), ("a", "c", 2), ("a", "d", 1), ("a", "e", 1)))
    assert got.spearman == pytest.approx(4 / np.sqrt(20))


def test_only_covered_pairs_count_and_too_few_give_no_score():
    rows = [("a", "b", 9), ("a", "c", 5), ("a", "d", 6), ("a", "nowhere", 0), ("A", "e", 1)]
    assert score_pairs(CIRCLE, pairs(*rows)) == PairScore(pytest.approx(0.5), 3, 5)
    assert score_pairs(CIRCLE, pairs(*rows), Splitter.bert()).covered == 4
    assert score_pairs(CIRCLE, pairs(*rows[:2])) == PairScore(None, 2, 2)
    assert score_pairs(CIRCLE, pairs(("x", "y", 1))) == PairScore(None, 0, 1)
    assert score_pairs(CIRCLE, pairs(*[(*row[:2], 5) for row in rows[:3]])).spearman is None


def test_words_of_lists_are_normalized_like_the_space():
    assert detect_casing(CIRCLE) == Splitter.bert()
    assert detect_casing(space_of(a=[1, 0], Athens=[0, 1])) is None


def test_the_bundled_lists_are_the_published_ones():
    first, second = load_bundled_pairs()
    assert first.name == "wordsim353"
    assert len(first.pairs) == 353
    assert first.pairs[0] == JudgedPair("love", "sex", 6.77)
    assert second.name == "simlex999"
    assert len(second.pairs) == 999
    assert second.pairs[0] == JudgedPair("old", "new", 1.58)
    assert sum(len(section.questions) for section in load_bundled_analogies()) == 19544


@pytest.mark.parametrize(
    "text",
    [
        "tiger\tcat\t7.35\nold\tnew\t1.58\n",
        "tiger cat 7.35\nold   new 1.58",
        "tiger,cat,7.35\r\nold,new,1.58\r\n",
        "tiger;cat;7.35\nold;new;1.58\n",
        '"tiger", "cat", "7.35"\n"old", "new", "1.58"\n',
        (
            "# a comment\nWord 1\tWord 2\tHuman (mean)\n\ntiger\tcat\t7.35\n#"
            " another\nold\tnew\t1.58\n"
        ),
        "\ufeffword1\tword2\tPOS\tSimLex999\tconc(w1)\ntiger\tcat\tN\t7.35\t1.2\nold\tnew\tA\t1.58\t3\n",
        "Mean,Stdev,Term1,Term2,CUI1\n7.35,2.1,tiger,cat,C0001\n1.58,.4,old,new,C0002\n",
    ],
)
def test_pair_files_in_many_formats(tmp_path, text):
    path = tmp_path / "pairs.any"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_pairs(path) == PairList(
        "pairs", (JudgedPair("tiger", "cat", 7.35), JudgedPair("old", "new", 1.58))
    )


def test_words_of_several_parts_and_a_word_that_is_a_number(tmp_path):
    path = tmp_path / "p.txt"
    words = ["heart attack", "high blood pressure", "911"]
    path.write_text("".join(f"{word}\tstroke\t5\n" for word in words))
    assert [pair.first for pair in read_pairs(path).pairs] == words


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("a\tb\t1\nc\td\n", "no-score", "line 2"),
        ("a\tb\t1\nc\td\tx\ne\tf\t1\n", "no-score", "line 2"),
        ("a\tb\t1\nc\td\tnan\ne\tf\t1\n", "no-score", "line 2"),
        ("a\tb\t1\n\n# c\nc\td\n", "no-score", "line 4"),
        ("a b\nc d\n", "no-scores", "c | d"),
        ("a 1 2\nb 3 4\n", "no-scores", "a | 1 | 2"),
        ("", "no-pairs", "p.txt"),
        ("# nothing\n", "no-pairs", "p.txt"),
        ("word1\tword2\tscore\n", "no-pairs", "p.txt"),
        (b"caf\xe9\tb\t1\n", "not-utf8", "byte 3"),
    ],
)
def test_bad_pair_files(tmp_path, text, code, value):
    path = tmp_path / "p.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with raises_input_error(code, value):
        read_pairs(path)


def test_a_missing_pair_file(tmp_path):
    with raises_input_error("missing-file"):
        read_pairs(tmp_path / "none")


def test_published_lists(shared):
    sizes = {"Bio-SimLex": 988, "Bio-SimVerb": 1000, "UMNSRS-sim": 566, "SimLex-999": 999}
    assert {
        name: len(read_pairs(shared / "data" / "words" / f"{name}.txt").pairs) for name in sizes
    } == sizes


# unit vectors in the plane and above it: queen = king − man + woman exactly in direction
ROYAL = space_of(
    man=[1, 0, 0], woman=[0, 1, 0], king=[1, 0, 1], queen=[0, 1, 1], apple=[-1, -1, 0.1]
)


def test_analogies_by_3cosadd():
    questions = (
        ("man", "king", "woman", "queen"),  # right
        ("woman", "queen", "man", "king"),  # right
        ("man", "king", "woman", "apple"),  # wrong: queen is nearer
        ("man", "king", "woman", "duke"),  # not covered
    )
    got = score_analogies(
        ROYAL, (AnalogySection("royal", questions), AnalogySection("none", (("x", "y", "z", "w"),)))
    )
    assert got == {
        "royal": AnalogyScore(pytest.approx(2 / 3), 3, 4),
        "none": AnalogyScore(None, 0, 1),
        "total": AnalogyScore(pytest.approx(2 / 3), 3, 5),
    }


def test_the_given_words_are_never_the_answer():
    # b − a + c is nearest to b itself; the answer must be the best of the others
    space = space_of(a=[1, 0], b=[0, 1], c=[0.9, 0.1], d=[0.2, 1], far=[-1, 0])
    assert (
        score_analogies(space, (AnalogySection("s", (("a", "b", "c", "d"),)),))["s"].accuracy == 1
    )


def test_analogies_agree_with_gensim(monkeypatch):
    from gensim.models import KeyedVectors

    from vocadapt.spaces.diagnostics import evaluation

    monkeypatch.setattr(evaluation, "BLOCK", 500)  # many blocks
    rng = np.random.default_rng(5)
    base, shift = rng.normal(size=(40, 8)), rng.normal(size=8) * 0.7
    matrix = np.vstack([base, base + shift + rng.normal(size=(40, 8)) * 0.5]).astype(np.float32)
    words = [f"s{n}" for n in range(40)] + [f"p{n}" for n in range(40)]
    questions = tuple(
        (f"s{i}", f"p{i}", f"s{j}", f"p{j}") for i in range(40) for j in range(40) if i != j
    )
    got = score_analogies(
        EmbeddingSpace(tuple(words), matrix), (AnalogySection("plural", questions),)
    )["plural"]
    vectors = KeyedVectors(8)
    vectors.add_vectors(words, matrix)
    right = sum(vectors.most_similar([b, c], [a], topn=1)[0][0] == d for a, b, c, d in questions)
    assert 0.2 < got.accuracy < 0.99
    assert got.accuracy == pytest.approx(right / len(questions))


def test_analogies_are_case_folded_by_a_splitter():
    sections = (AnalogySection("s", (("Man", "King", "Woman", "Queen"),)),)
    assert score_analogies(ROYAL, sections)["s"].covered == 0
    assert score_analogies(ROYAL, sections, Splitter.bert())["s"] == AnalogyScore(1.0, 1, 1)


def test_analogies_can_be_stopped():
    def stop(fraction, message=""):
        raise Canceled

    with pytest.raises(Canceled):
        score_analogies(ROYAL, (AnalogySection("s", ()),), progress=stop)


def test_analogy_files(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(": capitals\nAthens Greece Oslo Norway\n\n: empty\n")
    capitals = AnalogySection("capitals", (("Athens", "Greece", "Oslo", "Norway"),))
    assert read_analogies(path) == (capitals, AnalogySection("empty", ()))
    path.write_text("a b c d\n")
    assert read_analogies(path) == (AnalogySection("mine", (("a", "b", "c", "d"),)),)
    for text, code, value in (
        (": s\na b c d\na b c\n", "not-four-words", "line 3"),
        ("", "no-questions", "mine.txt"),
        (": s\n", "no-questions", "mine.txt"),
    ):
        path.write_text(text)
        with raises_input_error(code, value):
            read_analogies(path)
