"""The glossary is available on every page and equal to docs/glossary.md."""

import re

import pytest

from tests.material.cases import check_each
from tests.material.sources import list_modules, list_strings, read_source
from vocadapt.spaces.projection.methods import METHODS
from vocadapt.ui.components.glossary import (
    FILE,
    TERMS,
    explain,
    find_terms,
    list_sources,
    render_glossary,
)
from vocadapt.ui.state import address
from vocadapt.ui.state.pages import PARTS
from vocadapt.ui.text.sources import TITLES, find_sources, format_source
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS
from vocadapt.vocabulary.plan.reduction import REDUCTIONS


def test_the_file_is_current():
    assert FILE.read_text(encoding="utf-8") == render_glossary(), (
        "run python -m vocadapt.ui.components.glossary"
    )


def test_each_term_is_offered_on_a_page():
    assert {term for part in PARTS.values() for term in part.terms} == set(TERMS)


def test_a_part_explains_its_terms_and_names_its_sources(open_page):
    shown = [one.value for one in open_page("diagnostics").markdown]
    for term in PARTS["diagnostics"].terms:
        assert f"**{term}**: {TERMS[term]}" in shown
    for citation in ("Fast 2023", "Radovanović et al. 2010"):  # its own, and that of a term
        assert f":material/menu_book: {format_source(citation)}" in shown


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


CITATION = re.compile(r"[A-Z]\w+(?: et al\.| and [A-Z]\w+)? (?:19|20)\d\d\b(?!-)")


def read_strings(folder):
    """The literal texts of the modules of a folder, without docstrings and comments."""
    for path in list_modules(folder):
        yield from (text for _, text in list_strings(read_source(path)))


@check_each("part", PARTS)
def test_a_work_that_a_part_cites_has_its_title_in_its_terms(part):
    texts = list(read_strings(f"vocadapt/ui/parts/{part}"))
    offered = list_sources(PARTS[part])
    assert set(find_sources(texts)) <= set(offered)
    assert set(PARTS[part].sources) <= set(TITLES)


def test_every_work_that_the_pages_cite_has_a_title():
    cited = CITATION.findall("\n".join(read_strings("vocadapt/ui")))
    assert len(cited) > 10
    assert [work for work in cited if not any(work in known for known in TITLES)] == []
    methods = [*INITIALIZERS.values(), *REDUCTIONS.values(), *METHODS.values()]
    cited = [work for one in methods for work in CITATION.findall(one.source)]
    assert [work for work in cited if not any(work in known for known in TITLES)] == []
