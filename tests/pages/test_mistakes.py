"""Error messages on pages: bounded length, no hidden characters, also in quoted text."""

import pytest

from vocadapt.errors import InputError
from vocadapt.text.display import shorten_text
from vocadapt.ui.components import mistakes


@pytest.mark.parametrize("most", [1, 2, 3, 10, 11])
@pytest.mark.parametrize("text", ["", "abc", "a" * 50])
def test_text_is_cut_in_the_middle(text, most):
    shown = shorten_text(text, most)
    assert len(shown) == min(len(text), most) and (shown == text or "…" in shown)


def test_a_message_that_quotes_six_thousand_characters_is_bounded_and_keeps_its_end():
    shown = mistakes.format_message("\u202e" + "a" * 6_000 + ": not there.")
    assert len(shown) < mistakes.MAX_LINE_LENGTH + 20
    assert shown.startswith("‹U+202E›") and shown.endswith("not there.")


def test_a_message_of_many_lines_is_bounded_and_keeps_its_lines():
    assert mistakes.format_message("one\ntwo") == "one\ntwo"
    assert len(mistakes.format_message("line\n" * 1_000).splitlines()) == mistakes.MAX_LINES


def test_problem_and_remedy_in_one_line():
    assert mistakes.format_in_one_line(InputError("No.", "Yes.")) == "No. Yes."
    assert mistakes.format_in_one_line(InputError("No.")) == "No."


def test_a_page_shows_no_more_of_an_address(open_page, tmp_path):
    app = open_page("lens", tmp_path / "w", models="/etc/" + "a" * 6_000 + "\u202e")
    shown = [
        element.value
        for kind in ("text", "markdown", "error", "warning", "caption")
        for element in app.get(kind)
    ]
    assert not app.exception and all("\u202e" not in text for text in shown)
    assert max(map(len, shown)) < 1_500
