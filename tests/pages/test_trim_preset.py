"""The presets of a trim on the page Adapt: the plan follows the coverage of the text."""

from tests.material.apps import list_button_keys, read_metrics
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.lab.workspace.workspace import Workspace


def test_a_trim_shows_its_plan_and_follows_the_coverage(open_page, seeded: Workspace):
    app = open_page("adapt", seeded, adapt_preset="trim")
    assert not app.exception and not app.error
    removed = read_metrics(app)["Tokens removed"]
    assert 0 < int(removed) < len(TINY_TOKENS)
    assert "adapt" in list_button_keys(app)
    cover = app.number_input(key="adapt_cover_trim")
    assert cover.value == 1.0
    cover.set_value(0.8).run()
    fewer = read_metrics(app)["Tokens removed"]
    assert not app.exception and int(fewer) > int(removed)


def test_a_trim_has_only_its_own_fields(open_page, seeded: Workspace):
    app = open_page("adapt", seeded, adapt_preset="trim")
    labels = {metric.label for metric in app.metric[2:]}  # two are of the adapted model
    assert not labels & {"Tokens added", "Wordpieces saved", "Excluded"}
    assert {"Tokens removed", "Parameters saved", "Text growth"} <= labels
    form = [block.value for block in app.markdown]
    assert not any("Alignment:" in text or "could be added" in text for text in form)
    keys = {widget.key for widget in (*app.number_input, *app.selectbox, *app.radio)}
    assert not keys & {"adapt_cap", "adapt_occurrences", "adapt_method", "adapt_mode"}
    assert not any(block.label == "More settings" for block in app.expander)
