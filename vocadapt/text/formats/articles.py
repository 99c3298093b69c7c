"""Reader of articles: PubMed and PMC/JATS XML and CORD-19 JSON, one paragraph per line.

The format is detected from the content: the root element, or the keys.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_LINE_BYTES, parse_record
from vocadapt.text.formats.article_xml import ArticleParser, find_root_element, is_known_root
from vocadapt.text.formats.readers import Block, ReaderNotes, join_lines
from vocadapt.text.formats.text_file import SNIFF, Source, open_text_file, refuse_binary

SUFFIXES = (".xml", ".nxml", ".json")
MAX_JSON_BYTES = 100_000_000  # bytes; an article of CORD-19 has about 100 000
CORD_KEYS = re.compile(rb'"(?:paper_id|body_text)"\s*:')
CORD = (
    'An article of CORD-19 looks like {"paper_id": "…", "abstract": [{"text": "…"}], "body_text":'
    ' [{"text": "…"}]}.'
)


def read_articles(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Yield the paragraphs of the articles in a file: abstracts and bodies.

    If the file declares languages, only English articles are read. Raises InputError for broken
    files and for any other XML or JSON.
    """
    with open_text_file(path, max_line) as source:
        first = source.read(SNIFF)
        refuse_binary(first, path)
        start = _strip_start(first)[:1]
        if start == b"<":
            yield from _read_xml(source, first)
        elif start in (b"{", b"["):
            yield _read_cord(source, first)
        else:
            raise InputError(
                f"{path}: expected XML or JSON, found neither.",
                "Save plain text as a .txt file.",
                code="not-xml-or-json",
            )


def is_other_document(path: Path) -> bool:
    """Return whether the first bytes of an .xml or .json file show that it is not an article."""
    head = _read_start(path)
    if not head.startswith(b"<"):
        return not CORD_KEYS.search(head)
    root = find_root_element(head)
    # None: not well-formed, which raises an error when the file is read.
    return root is not None and not is_known_root(root)


def is_article_xml(path: Path) -> bool:
    """Return whether the first bytes of a file, whatever its name, are XML of articles."""
    head = _read_start(path)
    if not head.startswith(b"<"):
        return False
    root = find_root_element(head)
    return root is not None and is_known_root(root)


def _read_start(path: Path) -> bytes:
    with open_text_file(path) as source:
        return _strip_start(source.read(SNIFF))


def _strip_start(raw: bytes) -> bytes:
    """Remove a byte order mark, and the blanks after it."""
    return raw.removeprefix(b"\xef\xbb\xbf").lstrip()


def _read_xml(source: Source, first: bytes) -> Iterator[Block]:
    """Yield the blocks of an XML file; `first`: its first bytes, which were already read."""
    parser = ArticleParser(source.path, source.max_line)
    raw = first
    while raw:
        parser.feed(raw)
        lines, articles = parser.take()
        yield Block(join_lines(lines), source.position(), articles)
        raw = source.read()
    parser.feed(b"")


def _read_cord(source: Source, first: bytes) -> Block:
    """Return the only block of a CORD-19 file, which is one article; `first`: its first bytes."""
    raw = first + source.read(MAX_JSON_BYTES)
    if len(raw) > MAX_JSON_BYTES:
        raise InputError(
            f"{source.path}: JSON of more than {MAX_JSON_BYTES // 10**6} MB, too large for an"
            " article.",
            "Write one object per line, and name the file .jsonl.",
            code="too-large-article",
        )
    lines = extract_cord_paragraphs(source.path, source.decode(raw))
    return Block(join_lines(lines), source.position(), ReaderNotes(1, 0, int(not lines)))


def extract_cord_paragraphs(path: Path, text: str) -> list[str]:
    """Extract the paragraphs of a CORD-19 article: abstract (articles of PMC have none) and body.

    Raises InputError for broken JSON and JSON of another kind.
    """
    article = parse_record(
        text, str(path), "Download it again. If it has one object per line, name it .jsonl."
    )
    if not isinstance(article, dict):
        raise InputError(
            f"{path}: expected a JSON object, found {type(article).__name__}.",
            CORD,
            code="not-a-json-object",
        )
    if "body_text" not in article and not {"paper_id", "abstract"} <= set(article):
        keys = ", ".join(repr(key[:40]) for key in list(article)[:10]) or "no keys"
        raise InputError(
            f"{path}: JSON with {keys}, which is not a format of articles.",
            CORD,
            code="unknown-article-format",
        )
    lines: list[str] = []
    for key in ("abstract", "body_text"):
        lines += _extract_lines(article.get(key) or [], key, path)
    return lines


def _extract_lines(paragraphs: Any, key: str, path: Path) -> Iterator[str]:
    if not isinstance(paragraphs, list):
        raise InputError(
            f"{path}: expected a list in {key!r}, found {type(paragraphs).__name__}.",
            CORD,
            code="not-a-list",
        )
    for number, paragraph in enumerate(paragraphs, 1):
        if not isinstance(paragraph, dict) or not isinstance(paragraph.get("text"), str):
            raise InputError(
                f"{path}: paragraph {number:,} of {key!r} has no text.",
                CORD,
                code="paragraph-without-text",
            )
        line = " ".join(paragraph["text"].split())
        if line:
            yield line
