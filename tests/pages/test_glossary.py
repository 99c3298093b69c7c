"""The glossary is available on every page and equal to docs/glossary.md."""

import pytest

from vocadapt.ui.components.glossary import FILE, TERMS, explain, find_terms, render_glossary
from vocadapt.ui.frame import address
from vocadapt.ui.frame.pages import PARTS


def test_the_file_is_current():
    assert FILE.read_text(encoding="utf-8") == render_glossary(), (
        "run python -m vocadapt.ui.components.glossary"
    )


def test_each_term_is_offered_on_a_page():
    assert {term for part in PARTS.values() for term in part.terms} == set(TERMS)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_shows_the_sentences_of_its_terms(part, open_page):
    shown = [one.value for one in open_page(part).markdown]
    terms = PARTS[part].terms
    assert terms
    for term in terms:
        assert f"**{term}**: {TERMS[term]}" in shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Held-out P@5", ("held-out", "P@k")),
        ("Anchors", ("anchor",)),
        ("Adapted tokenization", ("adapted tokenization",)),
        ("adapted and other tokenizations", ("tokenization",)),
        ("Retokenization", ()),
        ("P@kk-fold", ()),
        ("Number of words", ()),
    ],
)
def test_terms_are_found_in_a_label(text, found):
    terms = ("P@k", "adapted tokenization", "anchor", "held-out", "tokenization")
    assert find_terms(text, terms) == found


def test_a_help_is_followed_by_the_sentences_of_the_terms_of_its_part(monkeypatch):
    monkeypatch.setattr(address, "find_open_part", lambda: "alignment")
    sentence = f"**anchor**: {TERMS['anchor']}"
    assert explain("Anchors") == sentence
    assert explain("Anchors", "Words in both.") == f"Words in both.\n\n{sentence}"
    assert explain("Rows") is None and explain("Rows", "Help.") == "Help."
    # No page of the alignment explains what a job is, and a page has its own steps.
    assert explain("Jobs and steps") is None
    many = explain("Anchors, chance, CSLS and wordpieces", "Held-out.")
    assert many.count("**: ") == 3 and "wordpiece**" not in many
    monkeypatch.setattr(address, "find_open_part", lambda: "")
    assert explain("Anchors") is None
