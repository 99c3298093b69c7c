"""Parser of PubMed and PMC/JATS XML: the paragraphs of English articles, "all abstracts and text
bodies" (Poerner et al. 2020).

Included: each AbstractText of PubMed (without section labels); each paragraph of the abstract and
the body of a JATS article, with captions of figures. Excluded: titles and headings, front and back
matter, tables, displayed formulas, TeX, footnotes, references, and elements marked as a language
other than English. Inline markup keeps its text: H<sub>2</sub>O is "H2O". Citation numbers are kept
and separated from the word before them: disease<sup><xref>12</xref></sup> is "disease 12".

expat calls a handler for each element and builds no tree. To prevent the attacks that defusedxml
prevents, every entity that a file declares is refused; expat never fetches a DTD.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from xml.parsers import expat

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_LINE_BYTES
from vocadapt.text.formats.readers import ReaderNotes
from vocadapt.text.formats.text_file import build_line_error

# Bytes of one tag with its attributes, or of one comment: expat keeps it in memory.
MAX_TAG = 8 << 20
# Distinct element and attribute names, which expat keeps in memory; articles have hundreds.
MAX_NAMES = 100_000
MAX_PARTS = 10_000  # text nodes of a paragraph, before they are joined
MAX_DEFAULTS = 100  # attributes with a default value, which expat adds to every element
MAX_DEPTH = 500  # open elements; articles have about 30, with MathML 60
ENGLISH = re.compile(r"en(g|[-_].*)?", re.IGNORECASE)
ASCII_NAMES = {"utf-8", "utf8", "us-ascii", "ascii"}

PUBMED = {
    **dict.fromkeys(("MedlineCitation", "BookDocument"), "article"),
    **dict.fromkeys(("Abstract", "OtherAbstract"), "section"),
    "AbstractText": "paragraph",
    "Language": "language",
    "DispFormula": "dropped_block",
    **dict.fromkeys(("annotation", "annotation-xml"), "dropped"),
}
JATS = {
    **dict.fromkeys(("article", "sub-article", "response"), "article"),
    **dict.fromkeys(("abstract", "body", "floats-group"), "section"),
    "p": "paragraph",
    **dict.fromkeys(
        (
            "fig",
            "fig-group",
            "boxed-text",
            "list",
            "def-list",
            "disp-quote",
            "statement",
            "speech",
            "verse-group",
        ),
        "block",
    ),
    **dict.fromkeys(
        (
            "table-wrap",
            "table-wrap-group",
            "table",
            "disp-formula",
            "disp-formula-group",
            "chem-struct-wrap",
            "preformat",
            "code",
            "supplementary-material",
            "media",
            "ref-list",
            "fn-group",
        ),
        "dropped_block",
    ),
    **dict.fromkeys(
        (
            "tex-math",
            "annotation",
            "annotation-xml",
            "graphic",
            "inline-graphic",
            "private-char",
            "alt-text",
            "long-desc",
            "fn",
            "index-term",
        ),
        "dropped",
    ),
    "break": "break",
    "xref": "citation",
}
ROOTS: dict[str, Mapping[str, str]] = {
    **dict.fromkeys(
        ("PubmedArticleSet", "MedlineCitationSet", "PubmedArticle", "MedlineCitation"), PUBMED
    ),
    **dict.fromkeys(("article", "pmc-articleset", "OAI-PMH"), JATS),
}
KNOWN = "PubMed (PubmedArticleSet, MedlineCitationSet) and PMC/JATS (article, pmc-articleset)"


@dataclass
class _Article:
    """An article being read: whether it is in English, its paragraphs, and its PubMed languages.

    inner: paragraphs of replies and translations inside it, which have their own language.
    """

    english: bool
    lines: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)


class ArticleParser:
    """Parses one XML file block by block: call `feed` with bytes, then `take` the paragraphs."""

    def __init__(self, path: Path, max_line: int = MAX_LINE_BYTES) -> None:
        self.path = path
        self.max_line = max_line
        self.lines: list[str] = []
        self.articles = ReaderNotes()
        self._opening: dict[str, Callable[[Mapping[str, str]], None]] = {}
        self._closing: dict[str, Callable[[], None]] = {}
        self._open: list[_Article] = []
        # Text nodes of the open paragraphs; None for a block whose own text is dropped.
        self._texts: list[list[str] | None] = []
        # Open elements; the depth of the element being dropped (0: none); open sections.
        self._depth = self._dropped_at = self._sections = 0
        # Bytes parsed; characters of the open article; attributes with a default value.
        self._fed = self._held = self._defaults = 0
        self._other_encoding = ""
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._beyond_ascii = False
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = self._end_element
        parser.XmlDeclHandler = self._read_declaration
        parser.SkippedEntityHandler = self._replace_entity
        parser.AttlistDeclHandler = self._count_attribute_default
        parser.EntityDeclHandler = parser.UnparsedEntityDeclHandler = self._refuse_entity

    def feed(self, raw: bytes) -> None:
        """Parse the next bytes; b"" marks the end.

        Raises InputError for XML that is not well-formed, declares entities or has another format.
        """
        try:
            self._parser.Parse(raw, not raw)
        except expat.ExpatError as error:
            raise InputError(
                f"{self.path}, line {error.lineno:,}: not well-formed XML"
                f" ({expat.ErrorString(error.code)}).",
                "Download it again: it may be truncated, or in another encoding than declared.",
                code="invalid-xml",
            ) from None
        except (LookupError, ValueError) as error:
            raise InputError(
                f"{self.path}: its encoding cannot be read ({error}).",
                "Save it as UTF-8.",
                code="unknown-encoding",
            ) from None
        self._fed += len(raw)
        self._check_size()
        if self._other_encoding:
            self._compare_encoding(raw)

    def take(self) -> tuple[list[str], ReaderNotes]:
        """Return the paragraphs and the count of the articles that ended since the last call."""
        taken = self.lines, self.articles
        self.lines, self.articles = [], ReaderNotes()
        return taken

    def _check_size(self) -> None:
        """Raise InputError if a tag, a paragraph or an article exceeds its limit in memory."""
        if self._fed - self._parser.CurrentByteIndex > MAX_TAG:
            raise InputError(
                f"{self.path}, line {self._parser.CurrentLineNumber:,}: a tag or a comment of more"
                " than 8 MB.",
                "Such a file is not an article.",
                code="too-long-tag",
            )
        if len(self._parser.intern) > MAX_NAMES:
            raise InputError(
                f"{self.path}: more than {MAX_NAMES:,} element names.",
                "Such a file is not an article.",
                code="too-many-element-names",
            )
        held = self._held
        for text in filter(None, self._texts):
            if len(text) > MAX_PARTS:
                text[:] = ["".join(text)]
            held += sum(map(len, text))
        if held > self.max_line:
            raise build_line_error(self.path, self._parser.CurrentLineNumber, self.max_line)

    # Handlers that expat calls.

    def _start_root(self, tag: str, attributes: dict[str, str]) -> None:
        markup = ROOTS.get(_local(tag))
        if markup is None:
            raise InputError(
                f"{self.path}: XML with the root <{tag[:60]}>, which is not a format of articles.",
                f"Readable: {KNOWN}.",
                code="unknown-article-format",
            )
        for name, role in markup.items():
            self._opening[name] = getattr(self, f"_open_{role}")
            if close := getattr(self, f"_close_{role}", None):
                self._closing[name] = close
        self._parser.StartElementHandler = self._start_element
        self._start_element(tag, attributes)

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InputError(
                f"{self.path}: its elements are nested more than {MAX_DEPTH} deep.",
                "Such a file is not an article.",
                code="nested-too-deep",
            )
        if not self._dropped_at:
            handle = self._opening.get(_local(tag))
            if handle:
                handle(attributes)
                self._redirect_text()

    def _end_element(self, tag: str) -> None:
        if not self._dropped_at:
            handle = self._closing.get(_local(tag))
            if handle:
                handle()
                self._redirect_text()
        elif self._depth == self._dropped_at:
            self._dropped_at = 0
            self._redirect_text()
        self._depth -= 1

    def _read_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding and encoding.lower() not in ASCII_NAMES:
            self._other_encoding = encoding

    def _replace_entity(self, name: str, is_parameter: bool) -> None:
        """Replace an entity of the DTD, which is not read, by the HTML entity of the same name."""
        character = html5.get(f"{name};")
        if character is None and not is_parameter:
            raise InputError(
                f"{self.path}: the entity &{name}; is not known.",
                "Replace it by its character.",
                code="unknown-entity",
            )
        if not self._dropped_at:
            self._append(character or "")

    def _refuse_entity(self, name: str, *more: object) -> None:
        raise InputError(
            f"{self.path}: it declares an entity of its own ({name}), which could have"
            " any content.",
            "Articles of PubMed and PMC declare none. Remove the declaration if you trust the"
            " file.",
            code="declared-entity",
        )

    def _count_attribute_default(
        self, element: str, attribute: str, kind: str, default: str | None, required: int
    ) -> None:
        self._defaults += default is not None
        if self._defaults > MAX_DEFAULTS or len(default or "") > MAX_DEFAULTS:
            raise InputError(
                f"{self.path}: its declarations of default attributes are too many or too long.",
                "Remove the declarations: articles of PubMed and PMC have none.",
                code="too-many-default-attributes",
            )

    # One method per role of an element in PUBMED and JATS.

    def _open_article(self, attributes: Mapping[str, str]) -> None:
        english = True
        if language := attributes.get("xml:lang"):
            english = is_english(language)
        elif self._open:
            english = self._open[-1].english
        self._open.append(_Article(english))

    def _close_article(self) -> None:
        article = self._open.pop()
        # PubMed declares the languages in elements, JATS in an attribute of the article.
        english = article.english
        if article.languages:
            english = any(map(is_english, article.languages))
        # Replies and translations inside it have their own language, so they are always kept.
        lines = article.inner
        if english:
            lines = [*article.lines, *article.inner]
        if self._open:
            self._open[-1].inner += lines
        else:
            self.lines += lines
            self._held = 0
        self.articles += ReaderNotes(1, int(not english), int(english and not article.lines))

    def _open_section(self, attributes: Mapping[str, str]) -> None:
        language = attributes.get("xml:lang") or attributes.get("Language")
        if not self._open or not self._open[-1].english or (language and not is_english(language)):
            self._open_dropped(attributes)
        else:
            self._sections += 1

    def _close_section(self) -> None:
        self._sections -= 1

    def _open_paragraph(self, attributes: Mapping[str, str]) -> None:
        if self._sections:
            self._texts.append([])

    def _close_paragraph(self) -> None:
        if self._sections:
            line = " ".join("".join(self._texts.pop() or ()).split())
            if line:
                self._open[-1].lines.append(line)
                self._held += len(line)

    def _open_block(self, attributes: Mapping[str, str]) -> None:
        """Begin a part with paragraphs of its own; its other text (labels, titles) is dropped."""
        if self._texts:
            self._append(" ")
            self._texts.append(None)

    def _close_block(self) -> None:
        if self._texts:
            self._texts.pop()

    def _open_dropped(self, attributes: Mapping[str, str]) -> None:
        self._dropped_at = self._depth

    def _open_dropped_block(self, attributes: Mapping[str, str]) -> None:
        self._append(" ")
        self._open_dropped(attributes)

    def _open_break(self, attributes: Mapping[str, str]) -> None:
        self._append(" ")

    def _open_citation(self, attributes: Mapping[str, str]) -> None:
        if not self._texts or attributes.get("ref-type") != "bibr":
            return
        # "disease<sup>12</sup>" must not become "disease12".
        text = self._texts[-1]
        if text and text[-1][-1:].isalnum():
            text.append(" ")

    def _open_language(self, attributes: Mapping[str, str]) -> None:
        self._texts.append([])

    def _close_language(self) -> None:
        language = "".join(self._texts.pop() or ()).strip()
        if self._open and language:
            self._open[-1].languages.append(language)

    def _append(self, text: str) -> None:
        """Append text to the open paragraph, if there is one."""
        if self._texts and self._texts[-1] is not None:
            self._texts[-1].append(text)

    def _redirect_text(self) -> None:
        """Let expat append the following text to the open paragraph.

        If there is none, or within a dropped element, the text is dropped.
        """
        self._parser.CharacterDataHandler = None
        if not self._dropped_at and self._texts and self._texts[-1] is not None:
            self._parser.CharacterDataHandler = self._texts[-1].append

    def _compare_encoding(self, raw: bytes) -> None:
        """Raise InputError at the end of a file that declares another encoding, but is UTF-8."""
        try:
            self._utf8.decode(raw, final=not raw)
        except UnicodeDecodeError:
            self._other_encoding = ""  # not UTF-8, as declared
            return
        self._beyond_ascii |= not raw.isascii()
        if not raw and self._beyond_ascii:
            raise InputError(
                f"{self.path}: its first line declares {self._other_encoding}, but its bytes are"
                " UTF-8.",
                'Change the first line to encoding="UTF-8".',
                code="wrong-declared-encoding",
            )


def find_root_element(head: bytes) -> str | None:
    """Return the root element of an XML file, from its first bytes.

    Returns None if they do not reach it or are not well-formed.
    """
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, attributes: found.append(tag)
    # XML that is not well-formed raises an error, with the line, when the file is read.
    with suppress(expat.ExpatError, LookupError, ValueError):
        for at in range(0, len(head), 1024):
            parser.Parse(head[at : at + 1024], False)
            if found:
                return found[0]
    return None


def is_known_root(root: str) -> bool:
    """Return whether files with this root element can be read."""
    return _local(root) in ROOTS


def is_english(language: str) -> bool:
    """Return whether a language code (en, eng, en-GB) means English."""
    return ENGLISH.fullmatch(language.strip()) is not None


def _local(tag: str) -> str:
    """Return a name without the prefix of its namespace."""
    return tag.rpartition(":")[2]
