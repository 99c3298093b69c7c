"""The initializers page: empty, with word vectors and with a model, the leaderboard, one token,
and hostile tokens."""

import re

import pytest
import streamlit as st

from tests.material.apps import join_values, list_texts, markup, read_page
from tests.material.lab import wait_for, write_text
from tests.material.workspaces import HOSTILE, seed_workspace
from vocadapt.analysis.leaderboard import leaderboard
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.lab.jobs.queue import list_jobs
from vocadapt.lab.steps.initializers import InitializersStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.ui.text.markup import plain
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

PAGE = "initializers"


def test_an_empty_workspace_says_what_to_do(open_page):
    app = open_page(PAGE)
    assert not app.exception and not app.error and not app.metric


def test_a_token_is_shown_under_each_initializer_and_nothing_is_compared_on_load(
    open_page, seeded, tiny_bert
):
    app = open_page(PAGE, seeded)
    assert not app.exception and not app.error
    # Each selected initializer is explained in a sentence.
    (said,) = [text for text in list_texts(app) if "**syntactic**" in text]
    assert plain(INITIALIZERS["syntactic"].about) in said and "Fast 2023" in said
    assert "**semantic**" in said and "**wechsel**" not in said
    app.text_input(key="initializers_token").set_value("aspirin").run()
    assert not app.exception
    assert "aspirin = 1/3 " in markup(app)
    assert "In the target space" in markup(app)
    assert not app.dataframe
    app.text_input(key="initializers_token").set_value("heart").run()
    assert "In the model" in markup(app)
    assert "heart = heart" not in markup(app).replace("its word vector", "")


def test_the_alignment_is_fitted_once_for_all_new_tokens(open_page, seeded, monkeypatch):
    fitted = []
    fit = leaderboard.fit_alignment

    def count(source, target, settings):
        fitted.append(target)
        return fit(source, target, settings)

    monkeypatch.setattr(leaderboard, "fit_alignment", count)
    st.cache_resource.clear()
    st.cache_data.clear()
    app = open_page(PAGE, seeded, initializers_token="aspirin")
    app.text_input(key="initializers_token").set_value("sepsis").run()
    assert not app.exception and not app.error and len(fitted) == 1
    # A token of the model is initialized as if it were new: the alignment must not know it.
    app.text_input(key="initializers_token").set_value("heart").run()
    assert not app.exception and len(fitted) == 2
    assert "heart" in fitted[0] and "heart" not in fitted[1]


def test_donors_and_neighbors_are_links_and_special_tokens_are_none(open_page, seeded):
    app = open_page(PAGE, seeded, initializers_token="aspirin")
    assert not app.exception and not app.error
    body = markup(app)
    donors = re.findall(r'<div class="va-note">aspirin = 1/3 (.*?)</div>', body)[0]
    assert donors.count("data-va-word=") == 3
    linked = set(re.findall(r'data-va-word="([^"]*)"', body))
    assert linked and not {word for word in linked if word.startswith("[")}
    # A misspelled token gets suggestions.
    app = open_page(PAGE, seeded, initializers_token="asprin")
    assert not app.exception
    assert 'data-va-word="aspirin"' in markup(app) and "In the model" not in markup(app)


@pytest.fixture(scope="module")
def compared(tmp_path_factory, tiny_bert):
    """A workspace with a leaderboard, its masked-word loss asked."""
    workspace = seed_workspace(tmp_path_factory.mktemp("compared") / "w", tiny_bert)
    [vectors] = workspace.artifacts("vectors")
    unseen = write_text(workspace.root.parent / "unseen.txt", seed=7)
    inputs = {"model": tiny_bert, "vectors": vectors.folder, "held_out": unseen}
    step = InitializersStep(LeaderboardSettings(held_out=8, methods=("semantic", "focus")))
    run_step(Spec(step, inputs), workspace.folder("initializers", "trials"))
    return workspace


def test_the_last_comparison_comes_with_its_verdict_n_and_command(open_page, compared):
    app = open_page(PAGE, compared)
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    assert {"semantic", "focus", "global-mean (baseline)"} <= set(table["Initializer"])
    assert (table["Masked loss"] != "–").all()
    assert any("8 of" in text and "chance P" in text for text in list_texts(app))
    assert "vocadapt initializers --model" in join_values(app.code)
    assert "--held-out 8" in join_values(app.code)


@pytest.mark.slow
def test_a_comparison_is_a_job_with_an_estimate(open_page, tmp_path, tiny_bert):
    workspace = seed_workspace(tmp_path / "w", tiny_bert)
    app = open_page(PAGE, workspace, initializers_hidden="8")
    assert f"{len(LeaderboardSettings().methods_to_compare)} initializers" in read_page(app)
    app.button(key="compare").click().run()
    [job] = list_jobs(workspace)
    asked = job.spec.settings.leaderboard
    assert (job.spec.step, asked.held_out) == ("initializers", 8)
    wait_for(job, "done")
    app.run()
    assert not app.exception and len(app.dataframe[0].value) > 10


def test_a_model_is_a_target_and_the_board_of_another_transfer_is_not_shown(open_page, compared):
    app = open_page(PAGE, compared, initializers_target="model · trials-model")
    assert not app.exception and not app.dataframe
    assert [metric.label for metric in app.metric][:2] == ["New tokens", "Common tokens"]


@pytest.mark.parametrize("token", ["<img src=x onerror=alert(1)>", "\u202eab", ":red[x]", "[MASK]"])
def test_a_hostile_token_is_a_message(open_page, seeded, token):
    app = open_page(PAGE, seeded)
    app.text_input(key="initializers_token").set_value(token).run()
    assert not app.exception and "<img" not in markup(app) and "\u202e" not in markup(app)


def test_hostile_words_are_no_markup(open_page, hostile):
    app = open_page(PAGE, hostile)
    app.text_input(key="initializers_token").set_value(HOSTILE[0]).run()
    assert not app.exception and "<img" not in markup(app)
