"""Summaries: the main values show themselves as one line and as short, harmless HTML."""

import time
from html.parser import HTMLParser

import numpy as np
import pytest

from vocadapt.text.summary import SHOWN, Summary, Table, render_html, render_line

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</code></td></table><h1>",
    "$\\href{javascript:alert(1)}{x}$",
    "&amp;&lt;",
    "\u202egnp.exe\x1b[31m\x00",
    "\ud800 lone",
    "x" * 10_000,
)
VOID = {"img", "br"}
ALLOWED = {
    *("div", "p", "b", "br", "bdi", "table", "thead", "tbody", "tr", "th", "td", "code", "small")
}


class Reader(HTMLParser):
    """Reads HTML: its elements with attributes, its text, and whether it is balanced."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(value):
    """Render a value; check that it is small, balanced and harmless; return its reader."""
    html = value._repr_html_()
    found = Reader(html)
    assert not found.open and len(html) < 40_000
    assert {tag for tag, _ in found.elements} <= ALLOWED
    for _, attributes in found.elements:
        assert set(attributes) <= {"class", "style"}
        assert "color" not in attributes.get("style", "")  # the theme's colors, light or dark
    assert "tex2jax_ignore" in found.elements[0][1]["class"]  # tokens are not formulas
    line = repr(value)
    assert "\n" not in line and len(line) < 400 and line.isprintable()
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text):
    table = Table(("token", "n"), [(text, 1), ("b", None)], 2, text, frozenset({"token"}))
    summary = Summary(text, {"name": text}, (table,), text)
    found = Reader(render_html("Value", summary))
    assert not found.open
    assert {tag for tag, _ in found.elements} <= ALLOWED
    shown = "".join(found.texts)
    assert not {"\u202e", "\x1b", "\x00", "\ud800"} & set(shown)
    assert len(shown) < 12_000  # the noun is the program's own, and not shortened
    line = render_line("Value", summary)
    assert "\n" not in line and len(line) < 200 and line.isprintable()
    line.encode()


def test_a_table_shows_n_of_n():
    rows = [(f"word{i}", i) for i in range(SHOWN + 5)]
    found = Reader(render_html("Value", Summary("", {}, (Table(("w", "n"), rows, 1234, "words"),))))
    text = "".join(found.texts)
    assert f"{SHOWN} of 1,234" in text
    assert f"word{SHOWN - 1}" in text and f"word{SHOWN}" not in text
    empty = render_html("Value", Summary("", {}, (Table(("w",), [], 0, "words"),)))
    assert "<table>" not in empty


def test_a_line():
    summary = Summary("a", {"words": 20_000, "cosine": 0.12345, "counts": False, "none": None})
    assert render_line("Space", summary) == (
        "<Space a: words 20,000, cosine 0.123, counts no, none –>"
    )
    assert render_line("Space", Summary("")) == "<Space>"


def test_spaces_hostile_empty_and_large():
    from vocadapt.spaces.space import EmbeddingSpace

    words = tuple(word for word in HOSTILE if word.isascii())
    hostile = EmbeddingSpace(words, np.ones((len(words), 2), np.float32), name=HOSTILE[1])
    texts = read(hostile).texts
    assert "<script>alert(1)</script>" in texts  # as text
    empty = read(EmbeddingSpace((), np.zeros((0, 3), np.float32)))
    assert not any(tag == "table" for tag, _ in empty.elements)

    size = 200_000
    large = EmbeddingSpace(tuple(map(str, range(size))), np.ones((size, 4), np.float32))
    start = time.process_time()
    line, found = repr(large), read(large)
    assert time.process_time() - start < 0.1
    assert f"{size:,}" in line and "counts no" in line
    assert f"{SHOWN} of {size:,} words" in found.texts


def test_word_counts():
    from vocadapt.text.words import WordCounts

    counts = WordCounts({"<b>": 3, "the": 2}, 4, 10)
    assert all(fact in repr(counts) for fact in ("words 5", "distinct 2", "lines 4"))
    assert "<b>" in read(counts).texts
    assert read(WordCounts({}, 0, 0)).texts


def test_models_plans_vocabularies_and_adapted_models(tiny_bert, text):
    from vocadapt.models.adapted_model import apply_plan
    from vocadapt.models.language_model import open_model
    from vocadapt.pipeline import Sources, open_corpus, plan_adaptation
    from vocadapt.presets import build_trim, get_preset
    from vocadapt.vocabulary.initializers.materials import NewEmbeddings, Provenance
    from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

    model = open_model(tiny_bert)
    assert repr(model).startswith("<LanguageModel tiny-bert:")
    read(model)
    vocabulary = read(model.vocabulary)
    assert f"{SHOWN} of {len(model.vocabulary):,} tokens" in vocabulary.texts
    assert len(repr(model.vocabulary)) < 120

    trim = plan_adaptation(build_trim(cover=1.0), model, Sources(open_corpus([str(text)])))
    assert "removed token" in read(trim).texts

    empty = VocabularyPlan(model.vocabulary, ())
    assert not any(tag == "table" for tag, _ in read(empty).elements)
    plain = [word for word in HOSTILE if word.isascii() and len(word) < 100]
    plan = VocabularyPlan(
        model.vocabulary,
        tuple(AddedWord(word, ("a", "<i>"), 1) for word in plain),
        left_out={"<u>": ("a",)},
        note="<script>",
    )
    texts = read(plan).texts
    assert {"<script>alert(1)</script>", "a <i>", "<u>", "<script>"} <= set(texts)

    word = VocabularyPlan(model.vocabulary, (AddedWord("hypertension", ("hyper", "##tension"), 2),))
    rows = NewEmbeddings(
        ("hypertension",), np.ones((1, 16), np.float32), (Provenance("<by hand>"),)
    )
    adapted = apply_plan(model, word, rows, get_preset("green-bert").tokenizer)
    assert "of tiny-bert" in repr(adapted) and "network BertForMaskedLM" in repr(adapted)
    assert "<by hand>" in read(adapted).texts and "<by hand>" in read(rows).texts


def test_a_large_plan_is_shown_at_once(tiny_bert):
    from vocadapt.models.language_model import open_model
    from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

    vocabulary = open_model(tiny_bert).vocabulary
    n_added = 200_000
    added = tuple(AddedWord(f"word{i}", ("a",), i) for i in range(n_added))
    plan = VocabularyPlan(vocabulary, added)
    start = time.process_time()
    assert f"{SHOWN} of {n_added:,} added tokens" in read(plan).texts
    assert time.process_time() - start < 1.0


def test_certificates():
    from vocadapt.models.certificate.certificate import Certificate, Check
    from vocadapt.models.loaders.loader import LoadResult

    checks = (Check("tokens", True, "all <b>"), Check("outputs", False, HOSTILE[0]))
    certificate = Certificate(checks, (LoadResult("x", "<Program>", "loads", "", "1.0"),))
    assert "verdict FAILED" in repr(certificate)
    texts = read(certificate).texts
    assert texts.index("FAILED") < texts.index("passed")
    assert "<Program> 1.0" in texts and "all <b>" in texts
    assert "verdict passed" in repr(Certificate(checks[:1]))
    many = Certificate(tuple(Check(str(i), True, "") for i in range(SHOWN + 4)))
    # Every check is shown, so that nothing is left to be counted.
    assert read(many).texts.count("passed") == SHOWN + 4
    assert not any(" of " in text for text in read(many).texts)


def test_leaderboards():
    from vocadapt.analysis.leaderboard.leaderboard import InitializerStanding, Leaderboard

    def stand(name, cosine):
        return InitializerStanding(
            initializer=name,
            centered_cosine=cosine,
            standard_error=0.01,
            p1=0.5,
            p5=0.6,
            mrr=0.6,
            median_rank=2.0,
            norm_ratio=1.0,
            fallbacks=0,
            seconds=0.1,
        )

    rows = (stand("<least>", 0.7), stand("global-mean", 0.0))
    board = Leaderboard(rows, {"target": "<no target>"}, ("a", "b"), 9, 100, 5, 5, 10, 90, None)
    texts = read(board).texts
    assert {"<least>", "global-mean (baseline)", board.verdict.sentence} <= set(texts)
    assert f"held-out tokens {len(board.hidden)}" in repr(board)


def test_alignments(vectors, tiny_bert):
    from vocadapt.models.language_model import open_model
    from vocadapt.spaces.alignment.alignment import fit_alignment
    from vocadapt.spaces.alignment.cross_validation import cross_validate
    from vocadapt.spaces.alignment.methods import AlignmentSettings
    from vocadapt.spaces.io.storage import load_space

    space, target = load_space(vectors), open_model(tiny_bert).word_space
    alignment = fit_alignment(space, target, AlignmentSettings())
    assert repr(alignment).startswith("<Alignment least-squares:")
    assert f"{space.dim} → {target.dim}" in "".join(read(alignment).texts)
    quality = cross_validate(space, target, AlignmentSettings(), 3, 1)
    assert any("csls" in text for text in read(quality).texts) and "verdict" in repr(quality)
