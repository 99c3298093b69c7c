"""Reader of articles: PubMed and PMC/JATS XML and CORD-19 JSON, one paragraph per line.

The format is detected from the content: the root element, or the keys.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import MAX_LINE_BYTES, parse_record
from vocadapt.text.formats import text_file as sources
from vocadapt.text.formats.article_xml import ArticleParser, find_root_element, is_known_root
from vocadapt.text.formats.readers import Articles, Block, join_lines
from vocadapt.text.formats.text_file import SNIFF, Source, open_text_file, refuse_binary

SUFFIXES = (".xml", ".nxml", ".json")
BIGGEST_JSON = 100_000_000  # bytes; an article of CORD-19 has about 100 000
CORD_KEYS = re.compile(rb'"(?:paper_id|body_text)"\s*:')
CORD = (
    'An article of CORD-19 looks like {"paper_id": "…", "abstract": [{"text": "…"}], "body_text":'
    ' [{"text": "…"}]}.'
)


def read_articles(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Paragraphs of the articles in a file: abstracts and bodies, English only where the file says
    the language.

    Raises InputError for what is broken, and for XML and JSON of any other kind.
    """
    with open_text_file(path, max_line) as source:
        first = source.read(SNIFF)
        refuse_binary(first, path)
        start = _trimmed(first)[:1]
        if start == b"<":
            yield from _read_xml(source, first)
        elif start in (b"{", b"["):
            yield _read_cord(source, first)
        else:
            raise InputError(
                f"{path}: expected XML or JSON, found neither.",
                "Text that is neither goes into a .txt.",
            )


def is_other_document(path: Path) -> bool:
    """Whether a file with such a suffix is plainly no article: XML or JSON of another kind. Reads
    its first bytes only.
    """
    head = _head(path)
    if head.startswith(b"<"):
        root = find_root_element(head)
        return root is not None and not is_known_root(
            root
        )  # None: not well-formed, which is reported when it is read
    return not CORD_KEYS.search(head)


def is_article_xml(path: Path) -> bool:
    """Whether a file of any name is XML of articles. Reads its first bytes only."""
    head = _head(path)
    root = find_root_element(head) if head.startswith(b"<") else None
    return root is not None and is_known_root(root)


def _head(path: Path) -> bytes:
    with open_text_file(path) as source:
        return _trimmed(source.read(SNIFF))


def _trimmed(raw: bytes) -> bytes:
    """Bytes without a byte order mark and blanks before them."""
    return raw.removeprefix(b"\xef\xbb\xbf").lstrip()


def _read_xml(source: Source, first: bytes) -> Iterator[Block]:
    """The blocks of an XML file of which the first bytes were read."""
    parser = ArticleParser(source.path, source.max_line)
    raw = first
    while raw:
        parser.feed(raw)
        lines, articles = parser.take()
        yield Block(join_lines(lines), source.position(), articles)
        raw = source.read(sources.BLOCK)
    parser.feed(b"")


def _read_cord(source: Source, first: bytes) -> Block:
    """The one block of a CORD-19 file of which the first bytes were read; a file is an article, and
    held as a whole.
    """
    raw = first + source.read(BIGGEST_JSON)
    if len(raw) > BIGGEST_JSON:
        problem = (
            f"{source.path}: JSON of more than {BIGGEST_JSON // 10**6} MB, too much for an article."
        )
        raise InputError(problem, "Write one object a line, and name the file .jsonl.")
    lines = extract_cord_paragraphs(source.path, source.decode(raw))
    return Block(join_lines(lines), source.position(), Articles(1, 0, int(not lines)))


def extract_cord_paragraphs(path: Path, text: str) -> list[str]:
    """The paragraphs of a CORD-19 article: its abstract, which articles of PMC lack there, and its
    body.

    Raises InputError for what is no JSON and for JSON of another kind.
    """
    remedy = "Download it again; a file with one object a line is named .jsonl."
    article = parse_record(text, str(path), remedy)
    if not isinstance(article, dict):
        raise InputError(f"{path}: expected a JSON object, found {type(article).__name__}.", CORD)
    if "body_text" not in article and not {"paper_id", "abstract"} <= set(article):
        keys = ", ".join(repr(key[:40]) for key in list(article)[:10]) or "no keys"
        raise InputError(f"{path}: JSON with {keys}, which is no format of articles.", CORD)
    return [
        line
        for key in ("abstract", "body_text")
        for line in _texts(article.get(key) or [], key, path)
    ]


def _texts(paragraphs: Any, key: str, path: Path) -> Iterator[str]:
    """The texts of a list of paragraphs, each as one line."""
    if not isinstance(paragraphs, list):
        raise InputError(
            f"{path}: expected a list in {key!r}, found {type(paragraphs).__name__}.", CORD
        )
    for number, paragraph in enumerate(paragraphs, 1):
        text = paragraph.get("text") if isinstance(paragraph, dict) else None
        if not isinstance(text, str):
            raise InputError(f"{path}: paragraph {number:,} of {key!r} has no text.", CORD)
        line = " ".join(text.split())
        if line:
            yield line
