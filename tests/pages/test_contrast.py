"""Colored texts have a contrast of at least 4.5 on their backgrounds, in both themes (WCAG 2.1 AA)."""

import re
import tomllib
from itertools import product

import pytest

from vocadapt.analysis.errors import html as error_html
from vocadapt.analysis.figures import figures
from vocadapt.ui.shell.server import ROOT
from vocadapt.ui.text.markup_style import FILL, HEAT_OPACITY, INK, STYLE

THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
SCHEMES = ("light", "dark")
PAIR = re.compile(r"light-dark\((#[0-9A-Fa-f]{6}),\s*(#[0-9A-Fa-f]{6})\)")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
LEAST = 4.5
COLORS = ("blue", "orange", "green", "yellow", "violet", "gray")
# Streamlit mixes the background of a badge from the color of its name, at most this opaque.
BADGE = {"light": 0.1, "dark": 0.2}


def channels(color):
    return [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def luminance(rgb):
    """Relative luminance of a color, as WCAG 2.1 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text, background):
    one, other = sorted((luminance(text), luminance(background)))
    return (other + 0.05) / (one + 0.05)


def mix(color, background, opacity):
    pairs = zip(color, background, strict=True)
    return [opacity * one + (1 - opacity) * other for one, other in pairs]


def backgrounds(scheme):
    """Colors that text stands on: the page, widgets and the sidebar."""
    theme = THEME[scheme]
    return [channels(theme[name]) for name in ("backgroundColor", "secondaryBackgroundColor")]


def declared(style, scheme, name):
    """(selector, color) of each rule of a style sheet that declares a property as a pair."""
    place = SCHEMES.index(scheme)
    for selector, body in RULE.findall(style):
        found = re.search(rf"(?<![\w-]){name}:\s*{PAIR.pattern}", body)
        if found:
            yield selector.strip(), channels(found[place + 1])


def test_contrast_by_hand():
    black, white = channels("#000000"), channels("#FFFFFF")
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(white, white) == 1
    assert contrast(channels("#767676"), white) == pytest.approx(4.54, abs=0.01)
    assert mix(black, white, 0.25) == [0.75] * 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_badges_titles_and_buttons_of_the_theme(scheme):
    theme, place = THEME[scheme], SCHEMES.index(scheme)
    for background in backgrounds(scheme):
        for name in ["textColor", *(f"{color}TextColor" for color in COLORS)]:
            assert contrast(channels(theme[name]), background) >= LEAST, name
        for color in COLORS:
            badge = mix(channels(theme[f"{color}Color"]), background, BADGE[scheme])
            assert contrast(channels(theme[f"{color}TextColor"]), badge) >= LEAST, color
        for kind, pair in INK.items():  # titles of cards
            ink = channels(PAIR.fullmatch(pair)[place + 1])
            assert contrast(ink, background) >= LEAST, kind
    # White text of primary buttons and tags.
    [(selector, background)] = declared(STYLE, scheme, "background-color")
    assert "stBaseButton-primary" in selector and "data-tag" in selector
    assert contrast(channels("#FFFFFF"), background) >= LEAST


@pytest.mark.parametrize("style", [STYLE, error_html.STYLE], ids=["markup", "errors"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_of_the_style_sheets(style, scheme):
    found = list(declared(style, scheme, "color"))
    assert len(found) > 5
    for (selector, ink), background in product(found, backgrounds(scheme)):
        assert contrast(ink, background) >= LEAST, selector


@pytest.mark.parametrize("style", [STYLE, error_html.STYLE], ids=["markup", "errors"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_on_colored_backgrounds(style, scheme):
    """Text in the color of the page, and gray text, on the backgrounds of chips and marks."""
    theme, tested = THEME[scheme], 0
    for selector, background in declared(style, scheme, "background"):
        if selector.endswith((".va-bar", ".va-tick", "i", "u")):  # bars hold no text
            continue
        tested += 1
        for name in ("textColor", "grayTextColor"):
            assert contrast(channels(theme[name]), background) >= LEAST, (selector, name)
    assert tested > 2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_numbers_on_the_strongest_color_of_a_heat_map(scheme):
    """Numbers and notes have the color of the text; a cell is at most HEAT_OPACITY of its color."""
    theme = THEME[scheme]
    assert not [one for one in declared(STYLE, scheme, "color") if ".va-heat small" in one[0]]
    for kind, background in product(("source", "domain"), backgrounds(scheme)):
        fill = channels(PAIR.fullmatch(FILL[kind])[SCHEMES.index(scheme) + 1])
        assert (
            contrast(channels(theme["textColor"]), mix(fill, background, HEAT_OPACITY)) >= LEAST
        ), kind


def test_no_text_of_a_figure_has_a_color_of_its_own():
    """The theme colors it: no gray has enough contrast on both backgrounds."""
    annotated = figures.plot_frequency_ranks([9, 4, 1], minimum=2)
    assert annotated.layout.annotations
    assert all(one.font.color is None for one in annotated.layout.annotations)


@pytest.mark.parametrize("style", [STYLE, error_html.STYLE], ids=["markup", "errors"])
def test_no_text_is_faded(style):
    """Opacity would lower the contrast of a text: gray text has a color of its own."""
    faded = [selector for selector, body in RULE.findall(style) if "opacity:" in body]
    # Streamlit hides these buttons: the rule shows them.
    assert all(selector.endswith('"stElementToolbar"]:focus-within') for selector in faded)
