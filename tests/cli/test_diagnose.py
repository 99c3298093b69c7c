"""The commands diagnose and relations: their JSON and text, and the same values as on the page."""

import numpy as np
import pytest

from tests.material.commands import run_line
from vocadapt.analysis.figures import diagnostics as figures
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace, open_space
from vocadapt.lab.reports.diagnostics import TOKENS, select_tokens, shorten_names
from vocadapt.spaces.diagnostics.statistics import compute_mean_cosine
from vocadapt.spaces.space import EmbeddingSpace


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """Word vectors with cosines known by hand, wider than no model."""
    folder = tmp_path_factory.mktemp("plane")
    (folder / "plane.vec").write_text("left 2 0\nright 0 5\nleave 1 1\nzero 0 0\n")
    assert (
        main(["vectors", "import", str(folder / "plane.vec"), "--out", str(folder / "plane")]) == 0
    )
    return folder / "plane"


def test_diagnose(ask, tiny_bert, vectors, plane):
    answer = ask("diagnose", tiny_bert, vectors, plane)
    assert [one["space"] for one in answer["spaces"]] == ["tiny-bert", vectors.name, "plane"]
    for table in (answer["mean_cosine"], answer["mean_cosine_common"], answer["common"]):
        assert np.array(table, dtype=object).shape == (3, 3) and table[0][1] == table[1][0]
    assert answer["mean_cosine"][0][2] is None
    assert answer["mean_cosine_common"][0][2] is None  # of other widths
    assert answer["mean_cosine"][2][2] == pytest.approx(2 * np.sqrt(0.5) / 3)
    assert answer["mean_cosine"][0][0] == pytest.approx(
        compute_mean_cosine(open_space(tiny_bert).space)
    )
    assert [answer["mean_cosine_common"][i][i] for i in range(3)] == [1, 1, 1]
    bert, words, plane_found = answer["spaces"]
    assert (plane_found["norms"]["n"], plane_found["norms"]["zero_rows"]) == (3, 1)
    assert plane_found["mean_cosine"] == answer["mean_cosine"][2][2]
    assert [finding["code"] for finding in plane_found["findings"]][:2] == [
        "narrow_cone",
        "frequent_longer",
    ]
    assert answer["tokens"] == "all"
    assert "Viswanath" in answer["measures"]["isotropy.partition"]
    assert bert["frequency_bias"]["by"] == "id rank" and words["frequency_bias"]["by"] == "counts"


def test_without_hubness(ask, tiny_bert):
    assert ask("diagnose", tiny_bert, "--no-hubness")["spaces"][0]["hubness"] is None


def test_which_tokens_count(ask, tiny_bert):
    model = open_space(tiny_bert)
    tokens = model.space.words
    special = model.space.kinds.special
    specials = sum(token in special or token.startswith("[unused") for token in tokens)
    continuations = sum(token.startswith("##") for token in tokens)
    counted = {}
    for choice in TOKENS:
        answer = ask("diagnose", tiny_bert, "--tokens", choice, "--no-hubness")
        counted[choice] = answer["spaces"][0]["tokens"]
    assert specials and continuations
    assert counted == {
        "all": len(tokens),
        "used": len(tokens) - specials,
        "words": len(tokens) - specials - continuations,
    }


def test_unused_rows_are_neither_words_nor_used(tiny_bert):
    found = open_space(tiny_bert)
    words = (*found.space.words, "[unused7]", "[unused")
    matrix = np.vstack([found.space.matrix, np.ones((2, found.space.dim), dtype=np.float32)])
    kinds = found.model.vocabulary.find_kinds(words, words)
    space = EmbeddingSpace(words, matrix, kinds=kinds)
    kept = select_tokens(OpenedSpace(found.folder, space, found.model), "used").words
    assert "[unused7]" not in kept and "[unused" in kept
    assert (
        select_tokens(OpenedSpace(found.folder, space), "words") is space
    )  # word vectors hold words only
    with pytest.raises(InputError, match="Unknown choice"):
        select_tokens(found, "some")


def test_spaces_are_called_by_the_end_of_their_paths():
    assert shorten_names(["/a/b/model", "bert-base-uncased"]) == ("model", "bert-base-uncased")
    assert shorten_names(["/a/b/model", "/a/c/model"]) == ("b/model", "c/model")
    assert shorten_names(["allenai/x", "google/x"]) == ("allenai/x", "google/x")
    with pytest.raises(InputError, match="named twice"):
        shorten_names(["x", "x"])


def test_relations_of_the_user_and_every_pair(ask, plane, tmp_path):
    (tmp_path / "mine.tsv").write_text(
        "left\tright\tapart\nleft\tleave\tnear\nleft\tzero\tnear\nleft\tgone\tnear\n"
    )
    answer = ask(f"relations --vectors {plane} --pairs {tmp_path}/mine.tsv --each --draws 10")
    own = 2 * np.sqrt(0.5) / 3
    assert answer["mean_cosine"] == {"plane": pytest.approx(own)}
    apart, near = answer["relations"]
    assert (apart["list"], apart["relation"], apart["space"]) == ("mine", "apart", "plane")
    assert apart["corrected"] == pytest.approx(-own) and apart["sd"] is None
    assert (near["usable"], near["of"]) == (1, 3)
    assert near["corrected"] == pytest.approx(np.sqrt(0.5) - own)
    assert [pair["cosine"] for pair in answer["pairs"]] == [
        pytest.approx(0),
        pytest.approx(np.sqrt(0.5)),
        None,
        None,
    ]
    assert answer["null"] == {"draws": 10, "seed": 1} and answer["similarity"] == []


def test_the_lists_at_hand(ask, tiny_bert, plane):
    answer = ask("relations", "--model", tiny_bert, "--vectors", plane)
    assert len(answer["relations"]) == 2 * (4 + 1 + 1 + 14)
    assert [one["space"] for one in answer["relations"][:2]] == ["tiny-bert", "plane"]
    assert [one["list"] for one in answer["similarity"][::2]] == ["simlex999", "wordsim353"]
    antonyms = [one for one in answer["relations"] if one["relation"] == "antonyms"]
    assert antonyms[1]["usable"] == 1
    assert answer["similarity"][1] == {
        "list": "simlex999",
        "space": "plane",
        "spearman": None,
        "covered": 0,
        "of": 999,
    }


def test_what_people_read(show, tiny_bert, plane, tmp_path):
    shown = show("diagnose", tiny_bert, plane)
    assert ".471" in shown and "narrow cone" in shown and "all tokens" in shown
    (tmp_path / "long.tsv").write_text(f"left\tright\t{'x' * 500}\n")
    shown = show(f"relations --vectors {plane} --pairs {tmp_path}/long.tsv")
    assert "-.471" in shown and "x" * 41 not in shown and "plane .4714" in shown


def test_every_row_is_a_dot():
    rows = np.arange(1, 5001)
    panel = figures.NormPanel(
        "<b>", "#0B6FB3", "occurrences", True, rows, rows / 7, [1], [1], [2], [3]
    )
    drawn = figures.plot_norms([panel, panel])
    assert len(drawn.data) == 8
    assert len(drawn.data[0].x) == 5000
    assert drawn.layout.xaxis.type == "log"
    assert drawn.layout.annotations[0].text == "&lt;b&gt;"


def test_an_adapted_model_is_judged_on_its_original_tokens(ask, tiny_bert, vectors, tmp_path):
    assert run_line(f"adapt --model {tiny_bert} --vectors {vectors} --out {tmp_path}/adapted") == 0
    model = open_space(tmp_path / "adapted")
    before, after = open_space(tiny_bert), open_space(tmp_path / "adapted")
    assert len(model.added) == len(after.space) - len(before.space) > 0 and not before.added
    answer = ask("diagnose", tiny_bert, tmp_path / "adapted", "--no-hubness")
    original, adapted = answer["spaces"]
    old, new = original["frequency_bias"], adapted["frequency_bias"]
    assert (new["n"], new["norm"]) == (old["n"], pytest.approx(old["norm"]))
    assert original["added_norms"] is None and adapted["added_norms"]["n"] == len(model.added)
