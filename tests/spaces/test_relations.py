"""Lexical relations worked by hand, their permutation test, and the readers of pair lists."""

import numpy as np
import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import Canceled
from vocadapt.spaces.diagnostics.relations import (
    PermutationSettings,
    compute_pair_cosines,
    score_relations,
    summarize_words,
)
from vocadapt.spaces.diagnostics.statistics import compute_mean_cosine
from vocadapt.spaces.diagnostics.word_lists import (
    FAST,
    PARTS_OF_SPEECH,
    Relation,
    build_relation,
    load_bundled_relations,
    read_relations,
)
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.splitter import Splitter


def space_of(**vectors):
    return EmbeddingSpace(tuple(vectors), np.array(list(vectors.values()), dtype=np.float32))


PLANE = space_of(a=[2, 0], b=[0, 5], c=[1, 1], zero=[0, 0], d=[-1, 0])


def one(space, pairs, splitter=None, **permutations):
    (score,) = score_relations(
        space,
        [build_relation("list", "r", pairs)],
        splitter,
        None,
        PermutationSettings(**permutations),
    )
    return score


def test_by_hand():
    # cosines: a·b 0, a·c √½; the space's own mean: (0 + √½ − 1 + √½ + 0 − √½) / 6
    own = (np.sqrt(0.5) - 1) / 6
    score = one(PLANE, [("a", "b"), ("a", "c"), ("a", "nowhere"), ("a", "zero"), ("b", "b")])
    assert compute_mean_cosine(PLANE) == pytest.approx(own)
    assert (score.usable, score.of) == (2, 5)
    assert score.mean == pytest.approx(np.sqrt(0.5) / 2)
    assert score.sd == pytest.approx(np.sqrt(0.5) / np.sqrt(2))  # of 0 and √½, with n − 1
    assert score.corrected == pytest.approx(score.mean - own)


def test_the_words_that_a_space_lacks_are_named():
    score = one(PLANE, [("a", "nowhere"), ("x", "nowhere"), ("a", "b"), ("y", "z"), ("a", "zero")])
    assert score.lacking == ("nowhere", "x", "y", "z")  # zero is there, only without a direction
    summary = summarize_words(score.lacking)
    assert summary.startswith("4: nowhere,") and "z" not in summary
    assert summarize_words(score.lacking[:1]) == "1: nowhere"
    assert summarize_words(()) == ""
    assert one(PLANE, [("a", "b")]).lacking == ()


def test_a_mean_of_the_user_to_correct_by():
    (score,) = score_relations(PLANE, [build_relation("l", "r", [("a", "c")])], own_mean=0.5)
    assert score.corrected == pytest.approx(np.sqrt(0.5) - 0.5)
    assert score.usable == 1
    assert score.sd is None
    assert score.null_mean is None
    assert score.z is None
    assert score.p is None


def test_nothing_usable_is_no_score():
    assert one(PLANE, [("x", "y"), ("a", "zero")]).mean is None
    assert one(PLANE, []).of == 0


def test_the_permutation_test_by_hand():
    # a–c and b–d re-paired: as they are (√½ + 0) / 2, or a–d and b–c (−1 + √½) / 2
    score = one(PLANE, [("a", "c"), ("b", "d")], draws=4000)
    true, crossed = np.sqrt(0.5) / 2, (np.sqrt(0.5) - 1) / 2
    assert score.null_mean == pytest.approx((true + crossed) / 2, abs=0.02)
    assert score.null_sd == pytest.approx((true - crossed) / 2, abs=0.01)
    assert score.p == pytest.approx(0.5, abs=0.03)  # half of the draws are the pairs themselves
    assert score.z == pytest.approx((true - score.null_mean) / score.null_sd)


def test_a_word_paired_with_itself_is_left_out_of_random_pairings():
    # a–c and c–b re-paired: a–c and c–b again, or a–b alone, since c–c is left out
    score = one(PLANE, [("a", "c"), ("c", "b")], draws=4000)
    assert score.mean == pytest.approx(np.sqrt(0.5))
    assert score.null_mean == pytest.approx(np.sqrt(0.5) / 2, abs=0.03)


def test_pairs_whose_pairings_are_all_equal_have_no_z():
    # one word with three others: the same three pairs again
    score = one(PLANE, [("a", "b"), ("a", "c"), ("a", "d")])
    assert score.null_mean == pytest.approx(score.mean)
    assert score.null_sd == pytest.approx(0, abs=1e-6)
    assert (score.z, score.p) == (None, None)


def test_true_pairs_stand_out_and_random_ones_do_not():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(200, 30)) + 0.5
    words = [f"x{i}" for i in range(200)] + [f"y{i}" for i in range(200)]
    near = base + rng.normal(size=base.shape) * 0.3
    space = EmbeddingSpace(tuple(words), np.vstack([base, near]).astype(np.float32))
    true = one(space, [(f"x{i}", f"y{i}") for i in range(200)])
    order = rng.permutation(200)
    random = one(space, [(f"x{i}", f"y{k}") for i, k in enumerate(order)])
    assert true.p == pytest.approx(1 / 201) and true.z > 20
    assert random.p > 0.01 and abs(random.z) < 3.5
    assert random.corrected == pytest.approx(
        0, abs=0.03
    )  # what two random words of the space have, too


def test_the_same_seed_gives_the_same_random_pairings():
    pairs = [("a", "c"), ("b", "d"), ("c", "b")]
    assert one(PLANE, pairs, draws=20) == one(PLANE, pairs, draws=20)
    assert one(PLANE, pairs, draws=20).null_mean != one(PLANE, pairs, draws=20, seed=2).null_mean


def test_words_are_normalized_as_by_the_model():
    assert one(PLANE, [("A", "C")]).usable == 0
    assert one(PLANE, [("A", "C")], Splitter.bert()).usable == 1


def test_no_draws_are_refused_and_a_score_can_be_stopped():
    with raises_input_error("out-of-range", "(draws)"):
        one(PLANE, [("a", "c")], draws=0)

    def stop(fraction, message=""):
        raise Canceled

    with pytest.raises(Canceled):
        score_relations(PLANE, [build_relation("l", "r", [("a", "c")])], progress=stop)


def test_a_pair_counts_once_whichever_way_round():
    relation = build_relation("l", "r", [("a", "b"), ("b", "a"), ("a", "b"), ("a", "c")])
    assert relation == Relation("l", "r", (("a", "b"), ("a", "c")))


def test_every_pair_with_its_cosine():
    found = compute_pair_cosines(
        PLANE, build_relation("l", "r", [("a", "x"), ("a", "c")]), own_mean=0.1
    )
    assert [(pair.second, pair.cosine) for pair in found] == [
        ("x", None),
        ("c", pytest.approx(np.sqrt(0.5))),
    ]
    assert [pair.corrected for pair in found] == [None, pytest.approx(np.sqrt(0.5) - 0.1)]


def read(tmp_path, text):
    path = tmp_path / "mine.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_relations(path)


@pytest.mark.parametrize("separator", ["\t", ";", ",", " ", "  "])
def test_pairs_alone_are_one_relation(tmp_path, separator):
    found = read(tmp_path, f"# mine\nleft{separator}right\n\nup{separator}down\r\n")
    assert found.relations == (Relation("mine", "mine", (("left", "right"), ("up", "down"))),)
    assert found.judged is None


@pytest.mark.parametrize("header", ["word1\tword2\n", "First\tSecond\n", ""])
def test_a_header_is_skipped(tmp_path, header):
    assert read(tmp_path, f"{header}left\tright\n").relations[0].pairs == (("left", "right"),)


def test_a_third_column_names_the_relation(tmp_path):
    found = read(tmp_path, "left\tright\tantonyms\nleft\tleave\tverb tenses\nup\tdown\tantonyms\n")
    assert {r.name: r.pairs for r in found.relations} == {
        "antonyms": (("left", "right"), ("up", "down")),
        "verb tenses": (("left", "leave"),),
    }


def test_parts_of_speech_or_a_header_put_the_relation_first(tmp_path):
    found = read(tmp_path, "adj\tgood\tbad\nverb\tcome\tgo\n")
    assert [(r.name, r.pairs) for r in found.relations] == [
        ("adj", (("good", "bad"),)),
        ("verb", (("come", "go"),)),
    ]
    text = "relation\tword1\tword2\nopposite\tgood\tbad\n"
    assert [(r.name, r.pairs) for r in read(tmp_path, text).relations] == [
        ("opposite", (("good", "bad"),))
    ]
    assert "adj" in PARTS_OF_SPEECH


def test_paradigms(tmp_path):
    found = read(tmp_path, "lemma\tthird_sg\tpast\ngo\tgoes\twent\nmay\t\tmight\n")
    third, past = found.relations
    assert third.name.endswith("third_sg") and third.pairs == (("go", "goes"),)
    assert past.name.endswith("past") and past.pairs == (("go", "went"), ("may", "might"))


def test_analogy_questions(tmp_path):
    found = read(
        tmp_path, ": capital\nAthens Greece Oslo Norway\nOslo Norway Athens Greece\n: empty\n"
    )
    assert found.relations == (
        Relation("mine", "capital", (("Athens", "Greece"), ("Oslo", "Norway"))),
    )


def test_judged_pairs_are_a_relation_and_a_similarity_set(tmp_path):
    rows = "tiger\tcat\t7.35\nold\tnew\t1.58\n"
    found = read(tmp_path, rows)
    assert found.relations[0].pairs == (("tiger", "cat"), ("old", "new"))
    assert [pair.score for pair in found.judged.pairs] == [7.35, 1.58]
    with_header = "word1\tword2\tscore\n" + rows
    assert read(tmp_path, with_header.replace("\t", ",")).judged.pairs == found.judged.pairs


HOSTILE = ["<script>alert(1)</script>", "$x$", ":red[x]", "[CLS]", "=cmd()", "\u202eabc", "x" * 500]


def test_hostile_words_stay_words(tmp_path):
    text = "".join(f"{word}\tplain{i}\t<b>r</b>\n" for i, word in enumerate(HOSTILE))
    (relation,) = read(tmp_path, text).relations
    assert relation.name == "<b>r</b>" and [first for first, _ in relation.pairs] == HOSTILE
    space = EmbeddingSpace(
        (*HOSTILE, *(f"plain{i}" for i in range(7))), np.eye(14, dtype=np.float32) + 0.1
    )
    assert one(space, relation.pairs).usable == 7


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("", ["no-pairs"]),
        ("# nothing\n\n", ["no-pairs"]),
        ("word1\tword2\n", ["no-pairs"]),
        ("a\tb\nc\n", ["wrong-columns", "line 2", "2 columns", "found 1"]),
        ("a\tb\n\nc\td\te\n", ["wrong-columns", "line 3", "2 columns", "found 3"]),
        ("a\tb\tr\nc\td\ne\tf\tr\n", ["wrong-columns", "line 2", "3 columns", "found 2"]),
        ("a\tb\tr\nc\t\tr\n", ["empty-column", "line 2"]),
        ("a\tb\tc\td\n" * 3, ["wrong-columns", "line 1", "3 columns", "found 4"]),
        ("lemma\tpast\ngo\twent\tgone\n", ["wrong-columns", "line 2", "2 columns", "found 3"]),
        ("lemma\tpast\n", ["nothing-to-pair"]),
        ("lemma\nto\n", ["nothing-to-pair"]),
        ("alone\nwords\n", ["wrong-columns", "line 1", "2 columns", "found 1"]),
        (": s\na b c\n", ["not-four-words", "line 2"]),
        ("a b c d\n: s\na b c\n", ["not-four-words", "line 3"]),
        ("a\tb\t1\nc\td\tx\ne\tf\t2\n", ["no-score", "line 2"]),
        (b"caf\xe9\tb\n", ["not-utf8"]),
    ],
)
def test_bad_lists(tmp_path, text, stated):
    with raises_input_error(*stated):
        read(tmp_path, text)


def test_a_list_that_is_not_there(tmp_path):
    with raises_input_error("missing-file"):
        read_relations(tmp_path / "none")


def test_the_bundled_lists():
    thesis, similar, unrelated, google = load_bundled_relations()
    assert [(r.name, r.pairs) for r in thesis.relations] == [
        ("verb tenses", (("left", "leave"),)),
        ("synonyms", (("left", "abandoned"),)),
        ("antonyms", (("left", "right"),)),
        ("unrelated", (("left", "mountain"),)),
    ]
    assert thesis.name == FAST and thesis.judged is None
    assert len(similar.judged.pairs) == 999 and len(unrelated.judged.pairs) == 353
    assert ("vanish", "disappear") in similar.relations[0].pairs
    assert (
        "king",
        "cabbage",
    ) in unrelated.relations[0].pairs
    assert len(google.relations) == 14
    assert next(r for r in google.relations if r.name == "gram7-past-tense").pairs[0] == (
        "dancing",
        "danced",
    )


def test_published_lists(shared):
    sizes = {
        "verb_tense_pattern.tsv": [8314] * 4,
        "antonyms_wordnet_adj_verb_adv.tsv": [1773, 313, 403],
        "synonyms_wordnet_adj_verb_adv.tsv": [17519, 2027, 14040],
        "Bio-SimLex.txt": [988],
        "UMNSRS-sim.txt": [552],
    }
    for name, expected in sizes.items():
        assert [
            len(r.pairs) for r in read_relations(shared / "data" / "words" / name).relations
        ] == expected
    questions = read_relations(shared / "data" / "words" / "questions-words.txt").relations
    assert [r.pairs for r in questions] == [r.pairs for r in load_bundled_relations()[3].relations]
