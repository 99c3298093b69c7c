"""The glossary is available on every page and equal to docs/glossary.md."""

import pytest

from vocadapt.ui.components.glossary import FILE, TERMS, render_glossary
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
