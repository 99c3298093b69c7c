"""Inputs of declared settings: one of each kind, with its bounds and its value."""

from streamlit.testing.v1 import AppTest

from vocadapt.ui.components.setting_inputs import KEYS


def draw_form():
    from dataclasses import dataclass, field

    import streamlit as st

    from vocadapt.errors import InputError
    from vocadapt.settings import setting
    from vocadapt.ui.components.setting_inputs import add_label, draw_settings

    @dataclass(frozen=True)
    class Inner:
        name: str = setting("a", "a text")

    @dataclass(frozen=True)
    class Settings:
        epochs: int = setting(5, "passes over the text", low=1, high=9)
        limit: int = setting(0, "maximum", empty="all")
        speed: str = setting(
            "slow", "speed", choices={"slow": "takes its time", "fast": "does not"}
        )
        deep: bool = setting(False, "dig deep")
        seeds: tuple[int, ...] = setting((1, 2), "seeds of the runs")
        inner: Inner = field(default_factory=Inner)

    st.json(draw_settings(Settings(), "form").__dict__ | {"inner": None})
    st.text(str(add_label(InputError("Too deep.", "", "deep"))))


def test_a_form_is_drawn_from_the_declarations():
    app = AppTest.from_function(draw_form, default_timeout=60).run()
    assert not app.exception
    epochs, limit = app.number_input(key="epochs_form"), app.number_input(key="limit_form")
    assert (epochs.label, epochs.min, epochs.max, epochs.value) == ("Epochs", 1, 9, 5)
    assert epochs.help == "Passes over the text."
    assert limit.value is None and limit.placeholder == "all"
    assert app.selectbox(key="speed_form").options == ["slow: takes its time", "fast: does not"]
    assert app.text_input(key="name_inner_form").value == "a"
    assert [text.value for text in app.text] == ["Too deep (Deep)."]
    app.checkbox(key="deep_form").check()
    app.text_input(key="seeds_form").set_value("4 5 6")
    epochs.set_value(3)
    app.run()
    assert '"epochs":3' in app.json[0].value.replace(" ", "")
    assert '"seeds":[4,5,6]' in app.json[0].value.replace(" ", "")
    assert '"deep":true' in app.json[0].value.replace(" ", "")


def test_a_change_needs_an_input_on_the_open_part(open_page, make_workspace):
    elsewhere = {("FinetuneStep", "limit"): "limit_of_another_part"}
    app = open_page("text", make_workspace("empty"), typed={KEYS: elsewhere})
    drawn = app.session_state[KEYS]
    assert ("CorpusSettings", "sample") in drawn and not elsewhere.keys() & drawn.keys()
