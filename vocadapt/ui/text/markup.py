"""The only module that writes HTML: tokens, tokenizations, neighbor cards. All text is escaped."""

import html
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

import streamlit as st

from vocadapt.analysis.errors import html as error_html
from vocadapt.analysis.errors.entry_lines import EntryCard
from vocadapt.report.table import Table
from vocadapt.text.display import escape_invisible as escape_invisible  # re-exported
from vocadapt.text.keyword_in_context import Hit
from vocadapt.ui.text.bars import BarScale, build_scale
from vocadapt.ui.text.markup_style import FILL, HEAT_OPACITY, INK, STYLE
from vocadapt.ui.text.number_formats import count, fraction, group_digits

# Characters with a meaning in Markdown or Streamlit's extensions, and how they are escaped.
ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]()<>#+-.!|~$:&^=@/\"'"})
# Where http://x, www.x.com and a@b.c are split.
ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
EMPTY = ":small[]"  # Streamlit's directive for small text, without a text


@dataclass(frozen=True)
class Card:
    """One list of neighbors: title, note, kind of token, and (token, score) pairs.

    kind: a key of INK and FILL. measure: what the scores are, "similarity", "distance", "count" or
    "probability"; cards of the same measure that are drawn together share the scale of their bars.
    """

    title: str
    note: str
    kind: str
    rows: Sequence[tuple[str, float]]
    shared: Collection[str] = field(default_factory=frozenset)
    empty: str = ""
    measure: str = "similarity"
    words: Collection[str] = field(default_factory=frozenset)  # words of the note, drawn as links
    random_cosine: float | None = None  # mean cosine of two random tokens: a tick on every bar


@dataclass(frozen=True)
class Links:
    """Where words that are drawn as links lead: to the same view, with the word in a field.

    field: key of the field and query parameter. parameters: the other query parameters.
    """

    field: str
    parameters: Mapping[str, str]

    def render(self, word: str, style: str, label: str = "") -> str:
        """Return the HTML of a word as a link; label: the text that is shown instead of it."""
        query = urlencode({**self.parameters, self.field: word}, errors="replace")
        shown = _escape(label or word)
        return (
            f'<a class="va-token va-link {style}" title="{shown}" href="?{html.escape(query)}"'
            f' data-va-field="{html.escape(self.field)}" data-va-word="{html.escape(word)}"'
            f">{shown}</a>"
        )


def draw_neighbor_cards(cards: Sequence[Card], links: Links | None = None) -> None:
    """Draw lists of neighbors side by side; tokens in `shared` are bold and underlined in green.

    links: draws each token as a link to itself (`word_links.build_links`).
    """
    # Cards of the same measure share a scale, to make their bars comparable.
    scores: dict[str, list[float]] = {}
    random_cosines: dict[str, list[float]] = {}
    for card in cards:
        scores.setdefault(card.measure, []).extend(score for _, score in card.rows)
        if card.random_cosine is not None and card.rows:
            random_cosines.setdefault(card.measure, []).append(card.random_cosine)
    scales = {
        measure: build_scale(measure, found, random_cosines.get(measure, ()))
        for measure, found in scores.items()
    }
    body = "".join(_render_card(card, scales[card.measure], links) for card in cards)
    _write(f'<div class="va-cards" data-testid="neighbors">{body}</div>')
    if any(scores.values()):
        notes = html.escape(" ".join(scale.note for scale in scales.values()))
        _write(f'<div class="va-scale" data-testid="bar-scale">{notes}</div>')


MAX_UPRIGHT_COLUMNS = 5  # columns of a heat map with horizontal names


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map: its value from -1 to 1 (None if missing), a note below it, and what a
    click on it selects ("" if nothing).
    """

    value: float | None
    note: str = ""
    selects: str = ""
    chosen: bool = False


def draw_heat_map(
    columns: Sequence[str],
    rows: Sequence[tuple[str, str, Sequence[HeatCell]]],
    label: str,
    links: Links | None = None,
    show: Callable[[float | None], str] = fraction,
) -> None:
    """Draw a table of cosines as a heat map, blue above 0 and orange below, with their numbers.

    rows: name, note and cells of each. links: draws cells that select something as links. show:
    formats the numbers.
    """
    drawn = [
        f'<tr><th scope="row">{_escape(name)}<small>{html.escape(note)}</small></th>'
        f"{''.join(_render_heat_cell(cell, links, show) for cell in cells)}</tr>"
        for name, note, cells in rows
    ]
    many = " va-many" if len(columns) > MAX_UPRIGHT_COLUMNS else ""
    _write_table(f"va-heat{many}", ["", *columns], drawn, "heat-map", label)


@dataclass(frozen=True)
class SeedMark:
    """The mark of a seed in the grid of a study. state: sets its color; symbol: its text; title:
    its tooltip; selects: the value of a click; address: the page that it opens ("" for no link).
    """

    state: str
    symbol: str
    title: str
    selects: str = ""
    address: str = ""

    def render(self, field: str) -> str:
        """Return the HTML of the mark. field: the input that receives a click."""
        title = _escape(self.title)
        seen = f'class="va-seed va-seed-{html.escape(self.state)}" title="{title}"'
        if not self.address:
            return f"<span {seen}>{html.escape(self.symbol)}</span>"
        return (
            f'<a {seen} aria-label="{title}" href="{html.escape(self.address)}"'
            f' data-va-field="{html.escape(field)}" data-va-word="{html.escape(self.selects)}"'
            f">{html.escape(self.symbol)}</a>"
        )


def draw_seed_grid(
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Sequence[SeedMark]]]],
    label: str,
    field: str,
) -> None:
    """Draw a grid of rows and columns, with a mark for each seed in every cell.

    rows: name and cells of each. label: describes the grid for screen readers. field: the input
    that receives a click on a mark.
    """
    body = []
    for name, row in rows:
        cells = ("".join(mark.render(field) for mark in marks) for marks in row)
        drawn = "".join(f'<td><div class="va-seeds">{cell}</div></td>' for cell in cells)
        body.append(f'<tr><th scope="row">{_escape(name)}</th>{drawn}</tr>')
    _write_table("va-table va-study", ["", *columns], body, "study-grid", label, is_tall=True)


def draw_seed_legend(entries: Sequence[tuple[SeedMark, str]]) -> None:
    """Draw the legend of a grid: marks, each with its meaning."""
    body = "".join(f"<div>{mark.render('')}{html.escape(text)}</div>" for mark, text in entries)
    _write(f'<div class="va-seed-legend" data-testid="study-legend">{body}</div>')


@dataclass(frozen=True)
class PublishedMark:
    """A cell of a published table: its text, tooltip and style, and a note below it.

    fill: color of its background, such as "rgb(0 158 115 / 0.3)"; "" for none.
    """

    text: str
    title: str = ""
    bold: bool = False
    underlined: bool = False
    fill: str = ""
    note: str = ""

    def render(self) -> str:
        """Return the HTML of the cell."""
        text = _escape(self.text)
        if self.bold:
            text = f"<b>{text}</b>"
        if self.underlined:
            text = f"<u>{text}</u>"
        style = f' style="background:{html.escape(self.fill)}"' if self.fill else ""
        empty = "" if self.text not in ("", "–") else ' class="va-empty"'
        note = f"<small>{_escape(self.note)}</small>" if self.note else ""
        title = _escape(self.title)
        return f'<td{empty}{style} title="{title}">{text}{note}</td>'


def draw_published_table(
    columns: Sequence[str], rows: Sequence[tuple[str, Sequence[PublishedMark | None]]], label: str
) -> None:
    """Draw a published table; None stands for a cell that the publication does not have.

    rows: name and cells of each. label: describes the table for screen readers.
    """
    body = []
    for name, marks in rows:
        cells = "".join(mark.render() if mark else "<td></td>" for mark in marks)
        body.append(f'<tr><th scope="row">{_escape(name)}</th>{cells}</tr>')
    _write_table("va-table va-published", ["", *columns], body, "published-table", label)


def draw_word_links(words: Sequence[str], links: Links) -> None:
    """Draw words as links in one row."""
    body = "".join(links.render(word, "va-chip") for word in words)
    _write(f'<div class="va-chip-row" data-testid="word-links">{body}</div>')


def draw_concordance(hits: Sequence[Hit], unit: str = "line") -> None:
    """Draw occurrences of a word aligned on it; each part keeps its own writing direction.

    unit: what the numbers of the places count, "line" or "example".
    """
    # Each line has the widest word as invisible text: so all middle columns have the same width.
    widest = _escape(max((hit.match for hit in hits), key=len, default=""))
    body = ""
    for hit in hits:
        place = _escape(f"{hit.file.name}, {unit} {count(hit.line)}")
        body += (
            f'<div class="va-line" title="{place}">'
            f'<span class="va-left"><bdi>{_escape(hit.left)}</bdi></span>'
            f'<span class="va-match"><bdi>{_escape(hit.match)}</bdi>'
            f'<span class="va-sizer" aria-hidden="true">{widest}</span></span>'
            f'<span class="va-right"><bdi>{_escape(hit.right)}</bdi></span></div>'
        )
    _write(f'<div class="va-lines" data-testid="concordance">{body}</div>')


@dataclass(frozen=True)
class Chip:
    """One token of a text.

    title: its tooltip. continues: whether it continues a word. kind: "", "new" or "unknown". mark:
    its prefix that marks the position in a word, such as ##. note: shown small after the text.
    """

    text: str
    title: str = ""
    continues: bool = False
    kind: str = ""
    mark: str = ""
    note: str = ""


def build_word_chips(pieces: Sequence[str], find_mark: Callable[[str], str]) -> list[Chip]:
    """Return the wordpieces of a word as chips; find_mark: wordpiece -> its mark, such as ##."""
    return [
        Chip(piece, continues=place > 0, mark=find_mark(piece))
        for place, piece in enumerate(pieces)
    ]


@dataclass(frozen=True)
class TokenizationLine:
    """The tokens of a text, the name of the model or tokenization, and a note."""

    name: str
    note: str
    chips: Sequence[Chip]


@dataclass(frozen=True)
class WordRow:
    """A word of a text, its figures (one for each column), and its tokens."""

    word: str
    figures: Sequence[str]
    chips: Sequence[Chip]


def draw_word_table(columns: Sequence[str], rows: Sequence[WordRow], links: Links) -> None:
    """Draw words as links, with their figures and their tokens as chips.

    columns: names of the columns: word, figures, tokens.
    """
    body = []
    for row in rows:
        figures = "".join(f'<td class="va-figure">{html.escape(one)}</td>' for one in row.figures)
        chips = "".join(map(_render_chip, row.chips))
        body.append(
            f"<tr><td>{links.render(row.word, '')}</td>{figures}"
            f'<td><span class="va-word">{chips}</span></td></tr>'
        )
    _write_table("va-table va-word-table", columns, body, "words", "Words", is_tall=True)


def draw_tokenization_lines(lines: Sequence[TokenizationLine]) -> None:
    """Draw tokenizations of one text; the chips of a word are joined, new tokens are green, unknown
    ones violet.
    """
    _write(
        '<div class="va-tokenizations"'
        f' data-testid="tokenizations">{"".join(map(_render_tokenization_line, lines))}</div>'
    )


def draw_entry_card(view: EntryCard, note: str = "") -> None:
    """Draw an entry of an error ledger: gold label, both predictions, the tokens before and after,
    the provenance of new embeddings, and the user's note.
    """
    _write(
        error_html.STYLE + f'<div data-testid="entry">{error_html.render_card(view, note)}</div>'
    )


def draw_plain_table(
    table: Table,
    chosen: int = -1,
    values: Sequence[str] = (),
    links: Links | None = None,
) -> None:
    """Draw a table as text, one row selected; all columns but the first are right-aligned.

    values, links: the first cell of each row is a link that selects its value.
    """
    firsts = []
    if links is not None:
        pairs = zip(values, table.write_cells(), strict=True)
        firsts = [links.render(value, "va-name-link", row[0]) for value, row in pairs]
    rendered = error_html.render_table(table, chosen, firsts)
    _write(f'{error_html.STYLE}<div class="va-wide">{rendered}</div>')


@dataclass(frozen=True)
class MarkedText:
    """A text with marked parts, and its name and note.

    marks: start and end (in characters) and label of each part, in order and without overlap.
    is_main: whether the text is highlighted.
    """

    name: str
    note: str
    text: str
    marks: Sequence[tuple[int, int, str]] = ()
    is_main: bool = False


def draw_marked_texts(lines: Sequence[MarkedText]) -> None:
    """Draw texts with marked parts underlined, each followed by its label."""
    _write(
        '<div class="va-marked-texts"'
        f' data-testid="marked">{"".join(map(_render_marked_text, lines))}</div>'
    )


def draw_strip(
    about: str, name: str, progress: str, done: float, waiting: Sequence[str] = ()
) -> None:
    """Draw the job strip: step, name of the result, progress as text, fraction done from 0 to 1;
    the waiting jobs are its tooltip.
    """
    full = _escape(name)
    _write(
        '<div class="va-strip" data-testid="job-strip" role="status">'
        f'<span title="{full}"><b>{html.escape(about)}</b> · {full}</span>'
        f'<span class="va-far" title="{_escape(" · ".join(waiting))}">{html.escape(progress)}</span>'
        f'<i><u style="width:{100 * done:.0f}%"></u></i></div>'
    )


def draw_empty_strip() -> None:
    """Draw an empty job strip, which keeps its space on the page."""
    _write("")


def plain(text: str) -> str:
    """Escape a text for Markdown: no markup takes effect, and no URL becomes a link.

    Streamlit links URLs after it has resolved backslashes, so escapes cannot prevent it. An empty
    span splits the text node in the middle of a URL; displayed and copied text do not change.
    """
    parts = ADDRESS.split(escape_invisible(text))
    return EMPTY.join(part.translate(ESCAPED) for part in parts)


def format_sentence(text: str) -> str:
    """Escape a sentence of the lab for Markdown, and group the digits of its numbers as the pages
    do.
    """
    return plain(group_digits(text))


def _render_tokenization_line(line: TokenizationLine) -> str:
    # Group the chips by word: one that continues a word is appended to the last group.
    words: list[list[Chip]] = []
    for chip in line.chips:
        if chip.continues and words:
            words[-1].append(chip)
        else:
            words.append([chip])
    drawn = "".join(
        f'<span class="va-word">{"".join(map(_render_chip, word))}</span>' for word in words
    )
    name = f'<div class="va-name">{_escape(line.name)}<small>{html.escape(line.note)}</small></div>'
    return f'<div>{name}<div class="va-words">{drawn}</div></div>'


def _render_marked_text(line: MarkedText) -> str:
    # Before each mark, write the text since the last one; at the end, write the rest.
    parts, done = [], 0
    for start, end, label in line.marks:
        named = f"<small>{_escape(label)}</small>" if label else ""
        parts += [
            _render_running_text(line.text[done:start]),
            f"<mark>{_render_running_text(line.text[start:end])}{named}</mark>",
        ]
        done = end
    parts.append(_render_running_text(line.text[done:]))
    note = f"<small>{_escape(line.note)}</small>" if line.note else ""
    name = f'<div class="va-name">{_escape(line.name)}{note}</div>'
    return (
        f'<div class="{"va-main" if line.is_main else ""}">{name}<div'
        f' class="va-text">{"".join(parts)}</div></div>'
    )


def _escape(text: str) -> str:
    """Escape a text for HTML; its invisible characters are shown."""
    return html.escape(escape_invisible(text))


def _render_running_text(text: str) -> str:
    """Return the HTML of running text: line breaks become spaces, invisible characters are shown."""
    return _escape(re.sub(r"\r\n|[\n\t]", " ", text))


def _render_chip(chip: Chip) -> str:
    """Return the HTML of a token, with its mark dimmed."""
    style = f"va-{chip.kind}" if chip.kind else ""
    shown = _escape(chip.text.removeprefix(chip.mark))
    if chip.mark:
        mark = _escape(chip.mark)
        shown = f'<span class="va-more">{mark}</span>{shown}'
    if chip.note:
        shown += f"<small>{html.escape(chip.note)}</small>"
    title = _escape(chip.title or chip.text)
    return f'<span class="va-token va-chip {style}" title="{title}">{shown}</span>'


def _render_card(card: Card, scale: BarScale, links: Links | None) -> str:
    rows = []
    tick = ""
    if card.random_cosine is not None:
        tick = f'<b class="va-tick" style="left:{scale.width(card.random_cosine):.0f}%"></b>'
    for text, score in card.rows:
        style = "va-shared" if text in card.shared else ""
        shown = _escape(text)
        name = f'<span class="va-token {style}" title="{shown}">{shown}</span>'
        if links is not None:
            name = links.render(text, style)
        number = fraction(score) if score < 10 else f"{score:.1f}"
        if card.measure == "count":
            number = count(round(score))
        bar = f'<i style="width:{scale.width(score):.0f}%;background:{FILL[card.kind]}"></i>'
        rows.append(
            f'<div class="va-row">{name}<span class="va-bar">{bar}{tick}</span>'
            f'<span class="va-score">{number}</span></div>'
        )
    head = f'<div class="va-title" style="color:{INK[card.kind]}">{html.escape(card.title)}</div>'
    note = _escape(card.note)
    if links is not None and card.words:
        # Parts of the note between blanks that are words are links.
        note = " ".join(
            links.render(part, "") if part in card.words else _escape(part)
            for part in card.note.split(" ")
        )
    note = f'<div class="va-note">{note}</div>'
    return f'<div class="va-card">{head}{note}{"".join(rows) or html.escape(card.empty)}</div>'


def _render_heat_cell(
    cell: HeatCell, links: Links | None, show: Callable[[float | None], str]
) -> str:
    """Return the HTML of a cell; its color is mixed with the page's to keep the text readable."""
    style = ""
    number = show(cell.value)
    if cell.value is not None:
        color = FILL["source"] if cell.value >= 0 else FILL["domain"]
        percent = 100 * HEAT_OPACITY * min(abs(cell.value), 1.0)
        style = f' style="background:color-mix(in srgb,{color} {percent:.0f}%,transparent)"'
    if cell.chosen:
        style += ' class="va-chosen"'
    shown = html.escape(number)
    if cell.selects and links is not None:
        shown = links.render(cell.selects, "va-name-link", number)
    return f"<td{style}>{shown}<small>{html.escape(cell.note)}</small></td>"


def _write_table(
    style: str,
    columns: Sequence[str],
    rows: Sequence[str],
    test_id: str,
    label: str,
    is_tall: bool = False,
) -> None:
    """Write a table in a frame that scrolls.

    rows: their HTML. label: describes the table for screen readers.
    """
    head = "".join(f'<th scope="col">{_escape(name)}</th>' for name in columns)
    tall = " va-tall" if is_tall else ""
    _write(
        f'<div class="va-wide{tall}" tabindex="0">'
        f'<table class="{style}" data-testid="{test_id}" aria-label="{_escape(label)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _write(markup: str) -> None:
    st.html(STYLE + markup)
