"""PubMed, PMC/JATS and CORD-19: extracted paragraphs, worked by hand, and every way in which
such a file can be invalid."""

import gzip
import json
import time
import tracemalloc
from pathlib import Path

import pytest

from tests.material.articles import (
    CORD,
    CORD_LINES,
    DOCTYPE,
    JATS,
    JATS_LINES,
    PUBMED,
    PUBMED_LINES,
    SPANISH,
    cord,
)
from tests.material.input_errors import raises_input_error
from vocadapt.text.corpus import Corpus, CorpusSettings, open_corpus
from vocadapt.text.formats.article_xml import MAX_DEPTH, is_english
from vocadapt.text.formats.readers import ReaderNotes
from vocadapt.text.words import Splitter, WordCounts, count_words

FORMATS = {
    "a.xml": (PUBMED, PUBMED_LINES, ReaderNotes(4, 1, 1)),
    "a.xml.gz": (PUBMED, PUBMED_LINES, ReaderNotes(4, 1, 1)),
    "a.nxml": (JATS, JATS_LINES, ReaderNotes(3, 1, 0)),
    "a.nxml.gz": (JATS, JATS_LINES, ReaderNotes(3, 1, 0)),
    "A.XML": (JATS, JATS_LINES, ReaderNotes(3, 1, 0)),
    "a.json": (cord(), CORD_LINES, ReaderNotes(1)),
    "a.json.gz": (cord(), CORD_LINES, ReaderNotes(1)),
    "json.xml": (cord(), CORD_LINES, ReaderNotes(1)),  # detected from the content
    "xml.json": (JATS, JATS_LINES, ReaderNotes(3, 1, 0)),
    "pubmed": (PUBMED, PUBMED_LINES, ReaderNotes(4, 1, 1)),
    "jats.txt": (JATS, JATS_LINES, ReaderNotes(3, 1, 0)),
    "marked.xml": ("\ufeff" + PUBMED, PUBMED_LINES, ReaderNotes(4, 1, 1)),
}


def write(path: Path, text: str) -> Path:
    content = text.encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def articles(corpus: Corpus) -> ReaderNotes:
    return sum((passage.notes for passage in corpus.passages()), ReaderNotes())


def lines(folder: Path, text: str, name: str = "a.xml") -> list[str]:
    return list(open_corpus([write(folder / name, text)]))


def as_shown(found: list[str]) -> list[str]:
    return [line.replace("\ufffd", "?") for line in found]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_texts_are_extracted_as_by_hand(name, block, tmp_path, monkeypatch):
    text, expected, counted = FORMATS[name]
    corpus = open_corpus([write(tmp_path / name, text)])
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", block)
    assert as_shown(list(corpus)) == expected == as_shown(list(corpus))
    assert articles(corpus) == counted
    assert [passage.fraction for passage in corpus.passages()][-1] == 1


def jats(body: str, attributes: str = "") -> str:
    return f"<article {attributes}><body>{body}</body></article>"


@pytest.mark.parametrize(
    ("inside", "line"),
    [
        ("a<sup>2</sup> b<sub>i</sub>", "a2 bi"),
        ('word<xref ref-type="bibr">12</xref>', "word 12"),
        (
            'word<sup><xref ref-type="bibr">1</xref>,<xref ref-type="bibr">2</xref></sup>',
            "word 1,2",
        ),
        ('word.<xref ref-type="bibr">12</xref>', "word.12"),
        ('<xref ref-type="table">Table 1</xref>a', "Table 1a"),
        ("a&#160;b&#x2009;c\t d\n\ne", "a b c d e"),
        ("a<table-wrap><p>x</p></table-wrap>b", "a b"),
        ("a<inline-graphic/>b", "ab"),
        ("a<fn><p>x</p></fn>b", "ab"),
        ("<p>a</p>", "a"),
        ("é𝛼与", "é𝛼与"),
        ('<italic xml:lang="la">in vitro</italic>', "in vitro"),
        ("<mml:math><mml:mi>x</mml:mi><mml:annotation>\\x</mml:annotation></mml:math>", "x"),
    ],
)
def test_a_paragraph(inside, line, tmp_path):
    assert lines(tmp_path, jats(f"<p>{inside}</p>")) == [line]


def test_namespaces_do_not_matter(tmp_path):
    assert lines(tmp_path, jats("<p>a</p>", 'xmlns="http://jats.nlm.nih.gov"')) == ["a"]
    assert lines(
        tmp_path, jats("<p>a</p>", 'xmlns:j="x"').replace("<", "<j:").replace("<j:/", "</j:")
    ) == ["a"]
    assert lines(
        tmp_path, f'<OAI-PMH xmlns="o"><record>{jats("<p>a</p>")}</record>{SPANISH}</OAI-PMH>'
    ) == ["a"]


def test_paragraphs_outside_abstract_and_body_are_not_taken(tmp_path):
    assert lines(
        tmp_path,
        "<article><front><p>x</p></front><body><p>a</p></body><back><p>x</p></back></article>",
    ) == ["a"]
    assert lines(tmp_path, "<pmc-articleset><body><p>x</p></body></pmc-articleset>") == []


def test_an_english_translation_in_a_foreign_article_is_taken(tmp_path):
    inner = '<sub-article xml:lang="en-US"><body><p>Read me.</p></body></sub-article>'
    corpus = open_corpus(
        [write(tmp_path / "a.nxml", SPANISH.replace("</body>", f"</body>{inner}"))]
    )
    assert list(corpus) == ["Read me."] and articles(corpus) == ReaderNotes(2, 1, 0)


@pytest.mark.parametrize(
    ("code", "english"),
    [("en", 1), ("eng", 1), ("EN-gb", 1), ("en_US", 1), ("enm", 0), ("es", 0), ("", 0)],
)
def test_language_codes(code, english):
    assert is_english(code) == bool(english)


def test_old_medline_sets_and_books_are_read(tmp_path):
    record = "<Article><Abstract><AbstractText>a</AbstractText></Abstract><Language>eng</Language></Article>"
    assert lines(
        tmp_path,
        f"<MedlineCitationSet><MedlineCitation>{record}</MedlineCitation></MedlineCitationSet>",
    ) == ["a"]
    book = "<BookDocument><Language>eng</Language><Abstract><AbstractText>b</AbstractText></Abstract></BookDocument>"
    assert lines(
        tmp_path,
        f"<PubmedArticleSet><PubmedBookArticle>{book}</PubmedBookArticle></PubmedArticleSet>",
    ) == ["b"]


def test_declared_encodings_are_used(tmp_path):
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>' + jats("<p>naïve</p>")
    (tmp_path / "a.xml").write_bytes(text.encode("latin-1"))
    assert list(open_corpus([tmp_path / "a.xml"])) == ["naïve"]


def test_cord_articles_without_an_abstract_or_text(tmp_path):
    assert (
        lines(tmp_path, cord(abstract=None), "a.json")
        != []
        == lines(tmp_path, cord(abstract=[], body_text=[]), "b.json")
    )
    corpus = open_corpus([tmp_path])
    assert articles(corpus) == ReaderNotes(2, 0, 1)
    assert lines(tmp_path, cord(body_text=None), "c.json") == CORD_LINES[:1]


def test_a_megabyte_in_a_line(tmp_path):
    body = [{"text": "word " * 200_000}]
    assert len(lines(tmp_path, cord(abstract=[], body_text=body), "a.json")[0]) == 999_999
    assert len(lines(tmp_path, jats(f"<p>{'word ' * 200_000}</p>"), "a.xml")[0]) == 999_999


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
BAD = {
    "other.xml": ("<recipe><p>x</p></recipe>", "unknown-article-format", "<recipe>"),
    "html.xml": ("<html><body><p>x</p></body></html>", "unknown-article-format", "<html>"),
    "laughs.xml": (
        f'<!DOCTYPE article [<!ENTITY l0 "ha">{LAUGHS}]>' + jats("<p>&l11;</p>"),
        "declared-entity",
    ),
    "blowup.xml": (
        f'<!DOCTYPE article [<!ENTITY a "{"x" * 9999}">]>' + jats(f"<p>{'&a;' * 9999}</p>"),
        "declared-entity",
    ),
    "file.xml": (
        '<!DOCTYPE article [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + jats("<p>&f;</p>"),
        "declared-entity",
    ),
    "net.xml": (
        '<!DOCTYPE article [<!ENTITY % d SYSTEM "http://localhost:1/x"> %d;]>' + jats("<p>a</p>"),
        "declared-entity",
    ),
    "unknown.xml": (
        '<!DOCTYPE article SYSTEM "x.dtd">' + jats("<p>&nosuch;</p>"),
        "unknown-entity",
        "&nosuch;",
    ),
    "undeclared.xml": (jats("<p>&nbsp;</p>"), "invalid-xml", "line 1:", "undefined entity"),
    "deep.xml": (f"<article><body>{'<sec>' * 100_000}", "nested-too-deep", str(MAX_DEPTH)),
    "deep-p.xml": (f"<article><body>{'<p>' * 100_000}", "nested-too-deep", str(MAX_DEPTH)),
    "torn.xml": (PUBMED[:1500], "invalid-xml"),
    "crossed.xml": ("<article><body><p>a</b></p>\n</body></article>", "invalid-xml", "line 1:"),
    "blank.xml": ("  \n", "not-xml-or-json"),
    "words.xml": ("only words", "not-xml-or-json"),
    "words.json": ("only words", "not-xml-or-json"),
    "said.xml": (
        '<?xml version="1.0" encoding="ISO-8859-1"?>' + jats("<p>naïve</p>"),
        "wrong-declared-encoding",
        "ISO-8859-1",
    ),
    "utf16.xml": (
        '<?xml version="1.0" encoding="utf-16"?>' + jats("<p>a</p>"),
        "invalid-xml",
        "encoding specified",
    ),
    "alien.xml": (
        '<?xml version="1.0" encoding="klingon"?>' + jats("<p>a</p>"),
        "unknown-encoding",
        "klingon",
    ),
    "sjis.xml": (
        '<?xml version="1.0" encoding="shift-jis"?>' + jats("<p>a</p>"),
        "unknown-encoding",
    ),
    "list.json": (json.dumps([CORD]), "not-a-json-object", "list"),
    "keys.json": ('{"name": "x", "version": 1}', "unknown-article-format", "'name', 'version'"),
    "empty.json": ("{}", "unknown-article-format"),
    "torn.json": (cord()[:300], "invalid-json"),
    "lines.json": (f"{cord()}\n{cord()}\n", "invalid-json", "jsonl"),
    "deep.json": ('{"body_text": ' + "[" * 100_000, "nested-too-deep"),
    "string.json": (cord(body_text="all of it"), "not-a-list", "body_text", "str"),
    "strings.json": (cord(body_text=["a"]), "paragraph-without-text", "paragraph 1", "body_text"),
    "number.json": (
        cord(abstract=[{"text": "a"}, {"text": 3}]),
        "paragraph-without-text",
        "paragraph 2",
        "abstract",
    ),
    "zero.xml.gz": ("", "not-xml-or-json"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_articles(name, tmp_path):
    text, code, *values = BAD[name]
    write(tmp_path / name, text)
    start = time.perf_counter()
    with raises_input_error(code, *values) as caught:
        list(open_corpus([tmp_path / name]))
    assert time.perf_counter() - start < 5
    assert name in caught.value.problem and caught.value.remedy and "\n" not in caught.value.problem


@pytest.mark.parametrize(
    ("name", "content", "code", "value"),
    [
        ("latin.xml", jats("<p>naïve</p>").encode("latin-1"), "invalid-xml", "line 1"),
        ("latin.json", cord().replace("blood", "bl\xf6d").encode("latin-1"), "not-utf8", "0xF6"),
        ("marked.xml", jats("<p>a</p>").encode("utf-16"), "not-utf8", "UTF-16"),
        ("picture.xml", b"\x89PNG\0", "binary-file", "position 4"),
        ("packed.xml", gzip.compress(PUBMED.encode(), mtime=0), "unnamed-gzip", ".gz"),
        ("torn.xml.gz", gzip.compress(PUBMED.encode(), mtime=0)[:-9], "incomplete-gzip", ""),
        ("nothing.xml", b"", "empty-file", ""),
    ],
)
def test_bad_bytes(name, content, code, value, tmp_path):
    (tmp_path / name).write_bytes(content)
    with raises_input_error(code, value) as caught:
        list(open_corpus([tmp_path / name]))
    assert name in caught.value.problem and caught.value.remedy


def test_a_dtd_is_never_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.socket", lambda *given, **named: pytest.fail("it asks the network"))
    assert DOCTYPE in PUBMED and lines(tmp_path, PUBMED) == PUBMED_LINES


def test_a_huge_json_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.text.formats.articles.MAX_JSON_BYTES", 1000)
    with raises_input_error("too-large-article"):
        lines(tmp_path, cord(abstract=[{"text": "a" * 1000}]), "a.json")


def test_memory_is_bounded_on_a_big_set(tmp_path, monkeypatch):
    monkeypatch.setattr("vocadapt.text.formats.text_file.BLOCK", 1 << 16)
    record = (
        "<PubmedArticle><MedlineCitation><Article><Abstract><AbstractText>{}</AbstractText></Abstract></Article>"
        "</MedlineCitation></PubmedArticle>"
    )
    path = write(
        tmp_path / "a.xml",
        f"<PubmedArticleSet>{record.format('some words ' * 400) * 250}</PubmedArticleSet>",
    )
    corpus = open_corpus([path])
    assert corpus.bytes > 1e6
    tracemalloc.start()
    read = sum(passage.read for passage in corpus.passages())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == 250 and most < 7e5


def test_a_folder_of_many_files_is_read_in_order_and_others_are_counted(tmp_path):
    for number in range(100):
        write(tmp_path / f"{number:02d}.nxml", jats(f"<p>Text {number}.</p>"))
    write(tmp_path / "c.json", cord())
    write(tmp_path / "package.json", '{"name": "x"}')
    write(tmp_path / "pom.xml", "<project/>")
    (tmp_path / "picture.png").write_bytes(b"x")
    corpus = open_corpus([tmp_path])
    assert as_shown(list(corpus)) == [*(f"Text {number}." for number in range(100)), *CORD_LINES]
    assert len(corpus.files) == 101 and corpus.left_out == 3
    assert len(list(corpus.passages())) == 1
    sampled = list(open_corpus([tmp_path], CorpusSettings(sample=0.5)))
    assert 25 < len(sampled) < 75 and set(sampled) < set(corpus)


def test_a_folder_of_other_xml_and_json_is_refused_but_a_broken_article_is_reported(tmp_path):
    write(tmp_path / "package.json", '{"name": "x"}')
    write(tmp_path / "pom.xml", "<project/>")
    with raises_input_error("no-readable-file", "2"):
        open_corpus([tmp_path])
    write(tmp_path / "torn.xml", PUBMED[:1500])
    with raises_input_error("invalid-xml", "torn.xml"):
        list(open_corpus([tmp_path]))


def test_what_is_left_out_is_counted_and_kept(tmp_path):
    write(tmp_path / "a.xml", PUBMED)
    write(tmp_path / "b.xml", SPANISH)
    counts = count_words(open_corpus([tmp_path]), Splitter.bert())
    assert (counts.lines, counts.lines_read) == (4, 4)
    assert counts.notes.counts() == {
        "articles": 5,
        "articles_not_english": 2,
        "articles_without_text": 1,
    }
    counts.write(tmp_path / "counts.tsv")
    assert WordCounts.read(tmp_path / "counts.tsv").notes == ReaderNotes(5, 2, 1)
    assert counts.counts["aspirin"] == 1 and "title" not in counts.counts


def test_blocks_have_the_line_numbers_of_the_file(tmp_path):
    write(tmp_path / "a.txt", "one\n\nthree\nfour five\n")
    write(tmp_path / "b.xml", PUBMED)
    parts = list(open_corpus([tmp_path], CorpusSettings(min_length=5)).file_blocks())
    assert [(part.file.name, list(part.numbers), part.text.count("\n")) for part in parts] == [
        ("a.txt", [3, 4], 2),
        ("b.xml", [1, 2, 3, 4], 4),
    ]
