"""Functions of the pages that decide something, tested without a page."""

import io
import os
import time
from dataclasses import replace

import numpy as np
import pytest

from tests.material.evaluations import build_evaluated
from tests.material.input_errors import raises_input_error
from vocadapt.analysis.figures import figures
from vocadapt.lab.jobs.job import Job
from vocadapt.lab.jobs.status import Status
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.cross_space import ListSettings
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.diagnostics.statistics import compute_mean_cosine
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.words import WordCounts
from vocadapt.ui.components import intake, word_query
from vocadapt.ui.components.blocks import tsv
from vocadapt.ui.jobs import panel
from vocadapt.ui.parts.adapt import plan as plan_view
from vocadapt.ui.parts.alignment import methods
from vocadapt.ui.parts.home import page as home_view
from vocadapt.ui.parts.vectors import page as vectors_view
from vocadapt.ui.state import cache, paths
from vocadapt.ui.state.names import shown_model
from vocadapt.ui.text import bars, markup
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings, VocabularyPlan


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (AlignmentSettings(), "Least squares"),
        (
            AlignmentSettings(method="procrustes", unit=True, center=True),
            "Procrustes · normalized · centered",
        ),
        (
            AlignmentSettings(method="ridge", ridge=0.1, weights="reliability"),
            "Ridge · ridge 0.1 · reliability weights",
        ),
        (AlignmentSettings(anchors=AnchorFilter(digits=True)), "Least squares · no digits"),
        (
            AlignmentSettings(anchors=AnchorFilter(min_count=5)),
            "Least squares · anchors from 5 occurrences",
        ),
        (AlignmentSettings(method="random", seed=2), "Random · seed 2"),
    ],
)
def test_alignments_have_readable_names(settings, name):
    assert methods.describe_method(settings) == name


def test_the_default_alignment_is_offered_first_and_names_are_unique():
    space = EmbeddingSpace(("a", "b"), np.eye(2, dtype=np.float32))
    offered = methods.list_methods(space, space, 2, {})
    assert next(iter(offered.values())) == AlignmentSettings()
    names = methods.label_methods(offered).values()
    assert len(set(names)) == len(offered) and "Identity" in names
    assert AlignmentSettings("identity").digest not in methods.list_methods(
        space, EmbeddingSpace(("a",), np.ones((1, 3), dtype=np.float32)), 2, {}
    )
    assert next(iter(methods.list_methods(space, space, 1, {}).values())) == AlignmentSettings(
        "ridge"
    )


def judged_row(settings=None, anchors=9, folds=10, **more):
    return build_evaluated(settings or AlignmentSettings(), anchors, folds=folds, **more)


def test_a_table_has_alignments_of_one_set_of_anchors_and_folds():
    default = AlignmentSettings().digest
    rows = {
        default: judged_row(),
        "a": judged_row(),
        "b": judged_row(folds=5),
        "c": judged_row(anchors=8),
    }
    assert list(methods.select_comparable(rows)) == [default, "a"]
    assert list(methods.select_comparable({**rows, "b": judged_row(folds=5, best=True)})) == ["b"]
    assert methods.select_comparable({}) == {}


def test_the_newest_table_names_the_best():
    rows = {name: build_evaluated(AlignmentSettings(), 9, best=name == "b") for name in "abc"}
    assert methods.find_best(rows) == "b" and methods.find_best({}) is None


def test_what_a_training_costs_is_counted_from_the_words():
    counts = WordCounts({"a": 10, "b": 5, "c": 4}, lines=1, bytes=38)
    said = vectors_view.describe_cost(counts, Word2VecSettings(dim=100, min_count=5))
    assert said.startswith(
        "**2** of 3 distinct words occur at least 5 times · 19 running words · dimension 100 ·"
        " trainer **counts** (the text has 19 running words"
    )
    assert said.endswith("kB of memory")


def test_what_a_plan_saves_is_counted_if_it_adds_words():
    plan = VocabularyPlan(
        WordPieceVocabulary(("[UNK]", "a"), frozenset({"[UNK]"})),
        (AddedWord("x", ("a",)), AddedWord("y", ("a",))),
    )
    assert plan_view.count_saved_wordpieces(plan) is None  # no counts
    counted = replace(plan, added=(AddedWord("x", ("a", "a", "a"), 10), AddedWord("y", ("a",), 5)))
    assert plan_view.count_saved_wordpieces(counted) == 10 * 2
    reduced = replace(counted, settings=PlanSettings("reduce"))
    assert plan_view.count_saved_wordpieces(reduced) is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\x y.txt.gz", "x-y.txt.gz"),
        (".hidden", "hidden"),
        ("Ωμέγα.txt", "unnamed.txt"),
        (".txt.gz", "unnamed.txt.gz"),
        ("con", "x-con"),
        ("CON.txt.gz", "x-CON.txt.gz"),
        ("!!!.VEC", "unnamed.vec"),
        ("a.b.txt.", "a-b.txt"),
        ("-rf.txt", "rf.txt"),
        ("", "unnamed"),
        ("a" * 200 + ".txt", "a" * 60 + ".txt"),
    ],
)
def test_upload_names_are_made_safe(given, kept):
    assert intake.make_safe_name(given) == kept


def test_uploads_older_than_a_day_go_when_nothing_names_them(tmp_path):
    workspace = Workspace(tmp_path / "w")
    old, named, young = (
        tmp_path / "w" / "uploads" / name for name in ("old.txt", "named.txt", "young.txt")
    )
    young.parent.mkdir(parents=True)
    for file in (old, named, young):
        file.write_text("the drug\n")
    run_step(Spec(CorpusStep(), {"text": named}), workspace.folder("corpora", "refers"))
    for file in (old, named):
        os.utime(file, (1, 1))
    intake.save_uploads([upload(b"new")], workspace)
    assert sorted(file.name for file in young.parent.iterdir()) == [
        "named.txt",
        "text.txt",
        "young.txt",
    ]


def upload(content):
    file = io.BytesIO(content)
    file.name = "../text.txt"
    return file


def test_uploads_land_in_the_workspace_and_never_replace_each_other(tmp_path):
    workspace = Workspace(tmp_path / "w")
    saved = intake.save_uploads([upload(b"one"), upload(b"two")], workspace)
    assert [path.relative_to(workspace.root).as_posix() for path in saved] == [
        "uploads/text.txt",
        "uploads/2-text.txt",
    ]
    assert [path.read_bytes() for path in saved] == [b"one", b"two"]


def test_a_path_that_is_not_there_is_a_mistake(tmp_path):
    with raises_input_error("missing-file"):
        paths.resolve_allowed_path(str(tmp_path / "none.txt"))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bert-base-uncased", "bert-base-uncased"),
        ("org/model", "org/model"),
        ("/home/me/bert/model", "bert"),
        ("/home/me/models/bert", "models/bert"),
        ("/cache/models--org--name/snapshots/0123abc", "org/name"),
    ],
)
def test_models_are_shown_without_the_folders_round_them(name, shown):
    assert shown_model(name) == shown


def test_the_four_lists_to_take_away_say_what_each_score_is():
    lists = {
        "within_words": [("a\tb", 0.5)],
        "within_pieces": None,
        "to_pieces": [("c", 0.25)],
        "to_words": None,
    }
    table = word_query.format_four_lists(
        word_query.Answer("w", lists, ("w",)), ListSettings(csls=True)
    )
    assert table.splitlines() == [
        "word\tlist\trank\tneighbor\tscore\tmeasure",
        "w\twithin_words\t1\ta b\t0.5\tcosine",
        "w\tto_pieces\t1\tc\t0.25\tCSLS",
    ]


def test_bars_of_cosines_mark_two_random_tokens(monkeypatch):
    assert ".172 or .380" in bars.build_scale("similarity", [0.9], [0.38, 0.172, 0.38]).note
    written = []
    monkeypatch.setattr(markup, "_write", written.append)
    cards = [
        markup.Card("a", "", "source", [("x", 0.9)], random_cosine=0.38),
        markup.Card("b", "", "source", [("y", 0.5)]),
    ]
    markup.draw_neighbor_cards(cards)
    # Only the bar whose space is known has a tick; a negative cosine has it at 0.
    assert written[0].count("va-tick") == 1 and "left:38%" in written[0]
    assert bars.build_scale("similarity", [0.9], [-0.1]).width(-0.1) == 0


def test_random_cosines_by_hand():
    """Unit vectors along x and y, and one along x: of three pairs one is equal; between the spaces 2 of
    3 + 1 of 3.
    """
    one = EmbeddingSpace(("a", "b", "c"), np.array([[2, 0], [0, 1], [1, 0]], dtype=np.float32))
    other = EmbeddingSpace(("a",), np.array([[3, 0]], dtype=np.float32))
    assert compute_mean_cosine(one) == pytest.approx(1 / 3)
    assert compute_mean_cosine(one, other) == pytest.approx(2 / 3)
    assert cache.random_cosine_of(one) == pytest.approx(1 / 3)
    assert cache.random_cosine_of(one, other) == pytest.approx(2 / 3)


def test_tables_to_take_away_keep_one_line_per_row():
    assert tsv(("a", "b"), [("x\ty", 1), ("z\n", 2.5)]) == "a\tb\nx y\t1\nz \t2.5\n"


def test_the_frequency_plot_is_thin_but_ends_where_the_words_end():
    figure = figures.plot_frequency_ranks(np.arange(1, 50_001), 5)
    x, y = np.asarray(figure.data[0].x), np.asarray(figure.data[0].y)
    assert len(x) <= figures.MAX_POINTS and (x[0], y[0], x[-1], y[-1]) == (1, 50_000, 50_000, 1)
    assert len(figures.plot_frequency_ranks([], 0).data[0].x) == 0


@pytest.mark.parametrize(
    "spec",
    [Spec(CorpusStep(), {"text": "t"}), Spec(AlignmentStep(), {"vectors": "v", "model": "m"})],
)
def test_the_time_left_is_reported_for_every_step(tmp_path, spec):
    strict_json.write(
        tmp_path / "spec.json", {"spec": spec.to_dict(), "target": "x", "overwrite": False}
    )
    now = time.time()
    status = Status("running", fraction=0.5, started=now - 20, updated=now)
    assert panel.describe_pace(Job(tmp_path), status) == "20 s, about 20 s left"


@pytest.mark.parametrize(
    ("states", "following"),
    [
        ("ready ready later later later", 0),
        ("done ready ready later later", 1),
        ("done part done ready ready", 3),
        ("done part ready done done", 2),
        ("done stale done done done", 1),
        ("done part done done done", 5),
    ],
)
def test_the_next_step_is_one_that_is_still_needed(states, following, seeded):
    [vectors, *_] = seeded.artifacts("vectors")
    found = [
        home_view.StepState("ready", (vectors,), "alignment")
        if state == "part"
        else home_view.StepState(state, (), "adapt")
        for state in states.split()
    ]
    assert home_view.find_next_step(found) == following


def test_the_steps_of_the_walk_are_ready_later_or_done(tmp_path, seeded):
    empty = [home_view.find_state(step, Workspace(tmp_path)) for step in home_view.WALK]
    assert [one.state for one in empty] == ["ready", "ready", "later", "later", "later"]
    assert [one.part for one in empty] == ["text", "vectors", "adapt", "projection", "finetune"]
    assert "Your text" in home_view.describe_missing(empty[0])
    assert home_view.describe_missing(empty[2]) == ""
    ready = home_view.StepState("ready", (), "projection", home_view.WALK[3].instead)
    assert home_view.describe_missing(ready).endswith("Projection, or type a sentence on Try it.")
    done = [home_view.find_state(step, seeded) for step in home_view.WALK]
    assert all(one.found for one in done if one.state == "done")
    assert {"done"} <= {one.state for one in done} <= {"done", "ready", "chance"}
