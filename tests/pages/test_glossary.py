"""The glossary is available on every page and equal to docs/glossary.md."""

import ast

import pytest

from vocadapt.ui.components.glossary import FILE, TERMS, render_glossary
from vocadapt.ui.serving.server import ROOT

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("pages/*/*.py"))


def offered_terms(page: str) -> list[str]:
    """Terms that the source of a page offers."""
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / page).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "frame.open_page"
    ]
    assert len(calls) == 1, f"{page} offers its terms once"
    return list(ast.literal_eval(calls[0].args[2]))


def test_the_file_is_current():
    assert FILE.read_text(encoding="utf-8") == render_glossary(), (
        "run python -m vocadapt.ui.components.glossary"
    )


def test_each_term_is_offered_on_a_page():
    assert {term for page in PAGES for term in offered_terms(page)} == set(TERMS)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_sentences_of_its_terms(page, open_page):
    shown = [one.value for one in open_page(page).markdown]
    terms = offered_terms(page)
    assert len(terms) >= 3
    for term in terms:
        assert f"**{term}**: {TERMS[term]}" in shown
