"""Distilled embeddings: contexts and positions worked by hand, recovery of a known result,
reproducibility, recipe and leaderboard."""

import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from tests.material.lab import QUICK
from tests.material.stated_numbers import find_numbers
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings, compare_initializers
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, adapt
from vocadapt.recipe import Recipe
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.corpus import open_corpus
from vocadapt.training.distillation import (
    ContextTokenizer,
    Distiller,
    StateMatcher,
    read_hidden_states,
    sample_contexts,
    schedule_batches,
)
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.vocabulary.initializers.initialize import (
    DistilSettings,
    InitializerSettings,
    Materials,
    initialize,
)
from vocadapt.vocabulary.plan.plan import AddedWord, PlanSettings, VocabularyPlan

pytestmark = pytest.mark.usefixtures("one_thread")

SETTINGS = DistilSettings(contexts=8, passes=4, length=16, batch=4, lr=0.02)


@pytest.fixture
def sentences(tmp_path):
    file = tmp_path / "words.txt"
    rng = np.random.default_rng(0)
    known = ["the", "patients", "drug", "heart", "cancer", "with", "pain", "trial"]
    lines = [[*rng.choice(known, 4), "hypertension", *rng.choice(known, 3)] for _ in range(40)]
    lines += [["the", "tachycard", "of", "the", "heart"], ["a", "drug"]]
    file.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    return file


def plan_of(model, *tokens):
    return VocabularyPlan(
        model.vocabulary,
        tuple(AddedWord(token, model.vocabulary.tokenize(token)) for token in tokens),
    )


def make_fitter(model, start, size):
    from vocadapt.models.contextual.word_vectors import load_until_layer

    network = load_until_layer(model, 2)
    return StateMatcher(network, partial(read_hidden_states, network, 2), start, size, 0)


def test_a_context_is_read_twice_and_its_places_are_where_pieces_end(model):
    plan = plan_of(model, "hypertension", "##tensions")
    reader = ContextTokenizer(model, plan, whole_words=False, length=32)
    ids, new = model.vocabulary.ids, len(model.vocabulary)
    found = reader.align_context(["the", "hypertension", "drugs"], 1)
    assert found.old == [
        ids[token] for token in ("[CLS]", "the", "hyper", "##tension", "drugs", "[SEP]")
    ]
    assert found.new == [ids["[CLS]"], ids["the"], new, ids["drugs"], ids["[SEP]"]]
    assert found.positions == [(0, 0), (1, 1), (3, 2), (4, 3), (5, 4)]
    other = reader.align_context(["hypotensions"], 0)  # hypo ##tension ##s, then hypo ##tensions
    assert other.new == [ids["[CLS]"], ids["hypo"], new + 1, ids["[SEP]"]]
    assert other.positions == [(0, 0), (1, 1), (3, 2), (4, 3)]
    assert reader.find_new_tokens("hypertension") == [0]
    assert reader.find_new_tokens("hypotensions") == [1]
    assert reader.find_new_tokens("the") == []
    assert (
        ContextTokenizer(model, plan, whole_words=True, length=32).find_new_tokens("hypotensions")
        == []
    )
    assert (
        ContextTokenizer(model, plan, whole_words=False, length=3).find_new_tokens("hypertension")
        == []
    )  # its old pieces do not fit


def test_words_round_a_new_one_fill_the_length_from_both_sides(model):
    reader = ContextTokenizer(model, plan_of(model, "hypertension"), whole_words=True, length=8)
    words = ["a", "the", "drug", "hypertension", "heart", "pain", "trial"]
    found = reader.align_context(words, 3)
    assert [model.vocabulary.tokens[i] for i in found.old[1:-1]] == [
        "the",
        "drug",
        "hyper",
        "##tension",
        "heart",
        "pain",
    ]
    short = reader.align_context(["a", "hypertension"], 1)
    assert len(short.old) == 5


def test_every_token_is_met_equally_often_and_rare_ones_again(model, sentences):
    plan = plan_of(model, "hypertension", "tachycard", "lymphoma")
    found = sample_contexts(sentences, ContextTokenizer(model, plan, True, 16), 3, SETTINGS)
    assert [len(own) for own in found] == [8, 1, 0]  # of 40, 1 and 0
    batches = list(schedule_batches(found, SETTINGS))
    met = [reading for batch in batches for reading in batch]
    assert len(met) == 2 * SETTINGS.contexts * SETTINGS.passes
    assert (
        sum(reading is found[1][0] for reading in met)
        == sum(reading in found[0] for reading in met)
        == 32
    )
    again = sample_contexts(sentences, ContextTokenizer(model, plan, True, 16), 3, SETTINGS)
    assert [[own.old for own in token] for token in again] == [
        [own.old for own in token] for token in found
    ]


def test_a_token_whose_old_cut_is_one_piece_gets_that_row_back(model, sentences):
    plan = VocabularyPlan(model.vocabulary, (), replaced=("drug", "heart"))
    true = model.space.matrix[model.space.rows(["drug", "heart"])]
    start = np.random.default_rng(1).normal(scale=0.02, size=true.shape).astype(np.float32)
    settings = DistilSettings(contexts=20, passes=20, length=16, batch=2, lr=0.01)
    rows, contexts = Distiller(model, sentences, True)(plan, start, settings)
    assert contexts.tolist() == [20, 20]
    centered, truth = (
        value - value.mean(axis=1, keepdims=True) for value in (rows, true)
    )  # the norm behind takes the mean away
    cosines = (
        np.einsum("ij,ij->i", centered, truth)
        / np.linalg.norm(centered, axis=1)
        / np.linalg.norm(truth, axis=1)
    )
    assert cosines.min() > 0.98 and np.linalg.norm(rows - true) < 0.3 * np.linalg.norm(start - true)


def test_the_distance_falls_and_is_nothing_at_the_true_row(model, sentences):
    plan = VocabularyPlan(model.vocabulary, (), replaced=("drug",))
    reading = sample_contexts(sentences, ContextTokenizer(model, plan, True, 16), 1, SETTINGS)[0]
    true = model.space.matrix[model.space.rows(["drug"])]
    size = len(model.vocabulary)
    assert make_fitter(model, true, size).step(reading, 0.0) < 1e-10
    fitting = make_fitter(model, np.flip(true, axis=1).copy(), size)
    losses = [fitting.step(reading, 0.005) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("more", [1, 64])
def test_padding_rows_of_the_matrix_are_no_new_tokens(more, model, sentences, tiny_bert, tmp_path):
    """A model whose matrix has more rows than its vocabulary has tokens gives the rows of one
    without them.
    """
    network = open_model(tiny_bert).network
    network.resize_token_embeddings(len(model.vocabulary) + more, mean_resizing=False)
    padded = shutil.copytree(tiny_bert, tmp_path / "padded")
    network.save_pretrained(padded)
    plan, start = plan_of(model, "hypertension", "tachycard"), np.zeros((2, model.dim), np.float32)
    wanted, made = (
        Distiller(open_model(path), sentences, True)(plan, start, SETTINGS)[0]
        for path in (tiny_bert, padded)
    )
    assert (
        open_model(padded).network.get_input_embeddings().num_embeddings
        == len(model.vocabulary) + more
    )
    assert np.array_equal(made, wanted) and np.abs(made).max(axis=1).min() > 0


def test_it_is_the_same_whatever_the_global_seeds(model, sentences):
    plan, start = plan_of(model, "hypertension", "tachycard"), np.zeros((2, model.dim), np.float32)
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        made.append(Distiller(model, sentences, True)(plan, start, SETTINGS)[0])
    assert np.array_equal(*made) and np.abs(made[0]).max() > 0


def test_tokens_without_a_context_keep_the_mean_of_their_pieces_and_say_so(model, sentences):
    plan = plan_of(model, "hypertension", "lymphoma")
    materials = Materials(plan, model.space, distiller=Distiller(model, sentences, True))
    distilled = InitializerSettings("distilled", options={"distilled": SETTINGS})
    rows = initialize(materials, distilled)
    plain = initialize(materials, InitializerSettings("syntactic"))
    assert np.array_equal(rows.matrix[1], plain.matrix[1])
    assert not np.array_equal(rows.matrix[0], plain.matrix[0])
    assert rows.fallbacks == 1
    assert "no context" in rows.provenance[1].how
    assert find_numbers(rows.provenance[0].how)[-2:] == [8, 8]  # contexts
    with raises_input_error("no-text"):
        initialize(Materials(plan, model.space), InitializerSettings("distilled"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"contexts": 0},
        {"passes": 0},
        {"length": 3},
        {"batch": 0},
        {"lr": 0.0},
        {"layer": 0},
        {"layer": -2},
        {"seed": -1},
    ],
)
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(InputError) as error:
        DistilSettings(**wrong)
    assert error.value.setting == next(iter(wrong))


@pytest.mark.parametrize(
    ("settings", "code", "value"),
    [({"layer": 3}, "missing-layer", "2"), ({"length": 65}, "long-window", "64")],
)
def test_what_the_model_lacks_is_reported(settings, code, value, model, sentences):
    start, asked = np.zeros((1, 16), np.float32), DistilSettings(**settings)
    with raises_input_error(code, value):
        Distiller(model, sentences, True)(plan_of(model, "hypertension"), start, asked)


RECIPE = Recipe(
    "mine",
    vocabulary=PlanSettings("extend", add_by="words", max_added=2),
    tokenizer="insertion",
    initializer=InitializerSettings("distilled", options={"distilled": SETTINGS}),
)


class Bar:
    """What a Progress is told."""

    def __init__(self):
        self.seen = []

    def __call__(self, fraction, message=""):
        self.seen.append((fraction, message))

    def share_of_distilling(self):
        """How much of the bar it takes to fit rows; the bar never goes back, and is full at the end
        of the work alone.
        """
        fractions = [fraction for fraction, _ in self.seen]
        assert fractions == sorted(fractions) and all(fraction < 1 for fraction in fractions[:-1])
        fitting = [
            fraction
            for fraction, message in self.seen
            if "fitting" in message or "step" in message.split(",")[0]
        ]
        return fitting[-1] - fitting[0]


def test_a_recipe_walks_with_it_and_fitting_rows_is_most_of_the_bar(model, sentences):
    bar = Bar()
    assert RECIPE.needs == {"counts", "text"} and RECIPE.distills
    adapted = adapt(RECIPE, model, Sources(corpus=open_corpus([sentences])), bar)
    assert bar.share_of_distilling() > 0.5
    assert "hypertension" in adapted.plan.added_tokens and adapted.embeddings.fallbacks == 0


def test_the_bar_of_the_step_with_vectors_and_training(tiny_bert, text, tmp_path):
    recipe = replace(RECIPE, vocabulary=PlanSettings("append", max_added=2), vectors=QUICK)
    training = MaskedSettings(length=16, batch=8, tokens=256)
    further = ContinuedSettings("continued", training=training)
    step = AdaptStep(replace(recipe, pretraining=further), certify=False)
    spec = Spec(step, {"model": str(tiny_bert), "text": str(text)})
    bar = Bar()
    run_step(spec, tmp_path / "m", bar)
    steps = [
        (fraction, message)
        for fraction, message in bar.seen
        if "distance" in message or "fitting" in message
    ]
    assert steps[-1][0] - steps[0][0] > 0.4  # the training takes its own part
    fractions = [fraction for fraction, _ in bar.seen]
    assert fractions == sorted(fractions) and max(fractions) < 1 and fractions[-1] > 0.9


def test_the_bar_of_a_leaderboard_never_goes_back(model, sentences):
    plan, bar = plan_of(model, "hypertension", "tachycard"), Bar()
    words = (*model.vocabulary.tokens, *plan.new_embeddings)
    target = EmbeddingSpace(
        words, np.random.default_rng(1).normal(size=(len(words), model.dim)).astype(np.float32)
    )
    materials = Materials(
        plan, model.space, target=target, distiller=Distiller(model, sentences, True)
    )
    settings = LeaderboardSettings(
        ("syntactic", "distilled"), held_out=4, options={"distilled": SETTINGS}
    )
    compare_initializers(materials, settings, progress=bar)
    assert bar.share_of_distilling() > 0.5
    assert any(message.startswith("distilled: step") for _, message in bar.seen)


def test_the_command_makes_them_and_a_leaderboard_judges_them(
    tiny_bert, make_bert, sentences, tmp_path, capsys
):
    target = make_bert("b", tokens=[*TINY_TOKENS, "hypertension"])
    given = f"--model {tiny_bert} --target {target} --corpus {sentences} --json".split()
    out = tmp_path / "m"
    adapting = "adapt --preset transfer-syntactic --initializer distilled"
    assert run_line(adapting, *given, "--out", out) == 0
    assert json.loads(capsys.readouterr().out)["numbers"]["certificate"] is True
    assert "distilled from" in (out / "vocadapt.json").read_text()
    board = ["initializers", *given, "--held-out", "4", "--methods"]
    assert main([*board, "distilled", "syntactic"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"distilled", "syntactic"} <= {row["initializer"] for row in found["board"]["rows"]}
    assert "distilled" not in found["board"]["skipped"]
    assert main([*board, "syntactic"]) == 2  # nothing asks for the text
    assert "bare vocabulary" in capsys.readouterr().err
    assert run_line(adapting, *given[:4], "--out", tmp_path / "n") == 2
    assert "a text" in capsys.readouterr().err
