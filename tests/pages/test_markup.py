"""Tokens are hostile text: they are displayed literally and never interpreted."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st

from vocadapt.text.keyword_in_context import Hit
from vocadapt.ui.text import markup

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    '"><b>',
    "'&amp;",
    "##ing",
    "Ġthe",
    "▁the",
    "a b",
]


@pytest.fixture
def written(monkeypatch):
    bodies = []
    monkeypatch.setattr(st, "html", bodies.append)
    return bodies


def parsed(body):
    return ElementTree.fromstring(body.removeprefix(markup.STYLE))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_card_shows_title_note_and_tokens_as_they_are(text, written):
    markup.draw_neighbor_cards([markup.Card(text, text, "domain", [(text, 0.5)])])
    (card,) = parsed(written[0])
    title, note, row = card
    assert (title.text, note.text, row[0].text, row[0].get("title")) == (text,) * 4
    assert (row[0].tag, len(row[0]), row[2].text) == ("span", 0, ".500")


@pytest.mark.parametrize("text", [*HOSTILE, "\u202egnirts", "שלום"])
def test_a_concordance_shows_all_parts_as_they_are_each_with_its_own_direction(text, written):
    widest = "w" * 50
    markup.draw_concordance(
        [Hit(text, text, text, Path("a.txt"), 7), Hit("", widest, "", Path(), 1)]
    )
    line, other = parsed(written[0])
    left, match, right = line
    shown = "‹U+202E›gnirts" if text.startswith("\u202e") else text
    assert line.get("title") == "a.txt, line 7"
    assert left[0].text == match[0].text == right[0].text == shown
    assert {part[0].tag for part in line} == {"bdi"}
    assert match[1].text == other[1][1].text == widest


def widths(body):
    return re.findall(r"width:(\d+)%", body.removeprefix(markup.STYLE))


def test_shared_neighbors_are_marked_and_bars_run_from_0_to_1(written):
    markup.draw_neighbor_cards(
        [markup.Card("t", "n", "source", [("a", 0.8), ("b", 0.4), ("c", -0.1)], shared={"b"})]
    )
    body, scale = written
    assert widths(body) == ["80", "40", "0"]
    assert "0 to 1.000" in parsed(scale).text
    assert [row[0].get("class") for row in parsed(body)[0][2:]] == [
        "va-token ",
        "va-token va-shared",
        "va-token ",
    ]


@pytest.mark.parametrize(
    ("cards", "expected", "end"),
    [
        ([{"rows": [("a", -0.2), ("b", -0.3)]}], ["0", "0"], "1.000"),
        ([{"rows": [("a", 0.520)]}, {"rows": [("b", 0.454)]}], ["52", "45"], "1.000"),
        ([{"rows": [("a", 1.25), ("b", 1.0)]}], ["100", "80"], "1.250"),
        (
            [
                {"rows": [("a", 2.0), ("b", 4.0)], "measure": "distance"},
                {"rows": [("c", 8.0)], "measure": "distance"},
            ],
            ["25", "50", "100"],
            "8.000",
        ),
        ([{"rows": [("a", 0.0)], "measure": "distance"}], ["0"], "1.000"),
        ([{"rows": [("a", 40.0), ("b", 10.0)], "measure": "count"}], ["100", "25"], "40"),
        ([{"rows": [("a", float("nan"))]}], ["0"], "1.000"),
    ],
)
def test_bars_begin_at_0_and_share_one_stated_scale(cards, expected, end, written):
    """Neighbors by CSLS with negative scores drew full bars; .454 and .520 looked alike."""
    markup.draw_neighbor_cards([markup.Card("t", "n", "source", **card) for card in cards])
    assert widths("".join(body.removeprefix(markup.STYLE) for body in written)) == expected
    assert f"0 to {end}." in parsed(written[-1]).text


def test_cards_without_a_score_state_no_scale(written):
    markup.draw_neighbor_cards([markup.Card("t", "n", "source", [], empty="none")])
    assert len(written) == 1


def test_new_tokens_are_framed(written):
    chips = [markup.Chip("ta"), markup.Chip("tachycardia", kind="new")]
    markup.draw_tokenization_lines([markup.TokenizationLine("model", "", chips)])
    looks = [element.get("class", "").split() for element in parsed(written[0]).iter("span")]
    assert [look[-1] for look in looks if "va-chip" in look] == ["va-chip", "va-new"]


def test_control_characters_become_pictures():
    assert markup.escape_invisible("a\nb\x00") == "a\u240ab\u2400"


@pytest.mark.parametrize("text", HOSTILE)
def test_tokenizations_show_names_and_tokens_literally(text, written):
    markup.draw_tokenization_lines(
        [markup.TokenizationLine(text, text, [markup.Chip(text, f"{text} · id 1")])]
    )
    ((name, words),) = parsed(written[0])
    assert (name.text, name[0].text) == (text, text)
    chip = words[0][0]
    assert (chip.text, chip.get("title"), len(chip)) == (text, f"{text} · id 1", 0)


def test_the_pieces_of_a_word_are_joined_and_their_mark_is_kept(written):
    chips = [
        markup.Chip("ta"),
        markup.Chip("##chy", continues=True, mark="##"),
        markup.Chip("[UNK]", kind="unknown"),
        markup.Chip("##", continues=True),
    ]
    markup.draw_tokenization_lines([markup.TokenizationLine("m", "", chips)])
    ((_, words),) = parsed(written[0])
    assert [["".join(chip.itertext()) for chip in word] for word in words] == [
        ["ta", "##chy"],
        ["[UNK]", "##"],
    ]
    assert words[1][0].get("class").split()[-1] == "va-unknown"


def test_what_would_turn_the_text_round_it_is_shown_by_its_number():
    assert markup.escape_invisible("a\u202eb\u200b\x7f") == "a‹U+202E›b‹U+200B›‹U+007F›"
    assert markup.escape_invisible("ضغط e\u0301 高") == "ضغط e\u0301 高"


def test_plain_escapes_every_mark_of_markdown():
    assert markup.plain("$x$ :red[x] *a* <b>") == r"\$x\$ \:red\[x\] \*a\* \<b\>"
    assert markup.plain("hypertension") == "hypertension"


@pytest.mark.parametrize(
    "text",
    ["http://x.com", "HTTPS://X", "ftp://x", "www.x.com", "(WWW.x.com)", "a@b.co", "mailto:a@b.co"],
)
def test_plain_breaks_what_would_become_a_link(text):
    escaped = markup.plain(text)
    assert markup.EMPTY in escaped
    assert (
        re.sub(r"\\(.)", r"\1", escaped.replace(markup.EMPTY, "")) == text
    )  # nothing else was added


@pytest.mark.parametrize("text", HOSTILE)
def test_a_heat_map_shows_names_as_they_are_and_colors_by_sign(text, written):
    rows = [
        (text, text, [markup.HeatCell(1.0, text), markup.HeatCell(-0.5), markup.HeatCell(None)])
    ]
    markup.draw_heat_map([text, "b", "c"], rows, text)
    (table,) = parsed(written[0])
    head, body = table
    assert [cell.text for cell in head[0]] == [None, text, "b", "c"]
    assert table.get("aria-label") == text
    name, high, low, none = body[0]
    assert (name.text, name[0].text, high.text, high[0].text) == (text, text, "1.000", text)
    assert markup.FILL["source"] in high.get("style") and "50%" in high.get("style")
    assert markup.FILL["domain"] in low.get("style")
    assert "25%" in low.get("style")
    assert low.text == "-.500"
    assert none.text == "–" and none.get("style") is None


def test_scores_that_are_counts_are_whole(written):
    markup.draw_neighbor_cards(
        [markup.Card("t", "n", "source", [("a", 1341.0), ("b", 3.0)], measure="count")]
    )
    (card,) = parsed(written[0])
    assert [row[2].text for row in card[2:]] == ["1\N{NARROW NO-BREAK SPACE}341", "3"]


@pytest.mark.parametrize("text", [*HOSTILE, "\u202egnirts", "a&b=c#d", "\ud800"])
def test_a_neighbor_as_a_link_leads_to_itself_and_keeps_the_view(text, written):
    links = markup.Links("alignment_word", {"workspace": "w 1", "vectors_tab": "Alignment"})
    markup.draw_neighbor_cards([markup.Card("t", "n", "domain", [(text, 0.5)])], links)
    body = written[0].encode("utf-8", "replace").decode()
    link = parsed(body)[0][2][0]
    query = parse_qs(urlsplit(link.get("href")).query, strict_parsing=True)
    kept = text.encode("utf-8", "replace").decode()
    assert query == {"workspace": ["w 1"], "vectors_tab": ["Alignment"], "alignment_word": [kept]}
    assert (link.tag, link.get("data-va-field"), len(link)) == ("a", "alignment_word", 0)
    assert link.get("data-va-word") == kept and "\u202e" not in link.text
