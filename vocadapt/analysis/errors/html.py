"""Cards of the error ledger as HTML, for the page and the report; all text is escaped.

Colors are light-dark() pairs; no information is given by color alone.
"""

import html
from collections.abc import Sequence

from vocadapt.analysis.errors.entry_lines import EntryCard
from vocadapt.analysis.errors.keywords import CONTEXT, CORPUS, TEST, TRAINING, Keyword
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord
from vocadapt.progress import count
from vocadapt.report.table import Table
from vocadapt.text.display import escape_invisible
from vocadapt.training.tasks.kinds.judgment import Mark

IN = {TEST: "the test", TRAINING: "training", CORPUS: "the corpus"}
STYLE = """<style>
.ve-card{border:1px solid light-dark(#DDE3E9,#323D48);border-radius:.5rem;padding:.6rem 1rem .7rem;min-width:0}
.ve-card+.ve-card{margin-top:1rem}
.ve-head{font-size:.82rem;font-weight:600;color:light-dark(#5C6873,#A9B4BE);margin-bottom:.25rem;overflow-wrap:anywhere}
.ve-line{display:grid;grid-template-columns:5.2rem minmax(0,1fr);gap:.5rem;line-height:1.6;align-items:baseline;font-size:.95rem}
.ve-name,.ve-note{font-size:.8rem;color:light-dark(#5C6873,#A9B4BE)}
.ve-note{margin-left:.6rem;white-space:normal}
.ve-text{overflow-wrap:anywhere;min-width:0}
.ve-text bdi{white-space:pre-wrap}
.ve-gold,.ve-other,.ve-right,.ve-wrong{text-decoration:none;background:none;color:inherit;padding-bottom:.05rem;
 -webkit-box-decoration-break:clone;box-decoration-break:clone}
.ve-gold{border-bottom:3px solid light-dark(#7A8793,#9AA6B1)}
.ve-other{border-bottom:1px dotted light-dark(#7A8793,#9AA6B1)}
.ve-right{border-bottom:3px solid light-dark(#009E73,#2FC79A);background:light-dark(#E6F5F0,#12332A)}
.ve-wrong{border-bottom:3px solid light-dark(#96446F,#E0A0C4);background:light-dark(#F9EFF4,#33232D)}
.ve-chips{display:flex;flex-wrap:wrap;gap:.25rem .3rem;align-items:center}
.ve-chip{font-family:"Source Code Pro",ui-monospace,monospace;font-size:.84rem;white-space:pre;max-width:16rem;overflow:hidden;
 text-overflow:ellipsis;padding:.02rem .35rem;border-radius:.3rem;border:1px solid light-dark(#DDE3E9,#323D48);
 background:light-dark(#F4F6F8,#1B232C);unicode-bidi:isolate}
.ve-new{border:1.5px solid light-dark(#009E73,#2FC79A);background:light-dark(#E6F5F0,#12332A);font-weight:700}
.ve-gap{width:.45rem}
.ve-made{font-size:.82rem;color:light-dark(#5C6873,#A9B4BE);overflow-wrap:anywhere}
.ve-counts{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:1rem}
.ve-count{border:1px solid light-dark(#DDE3E9,#323D48);border-radius:.5rem;padding:.7rem 1rem;min-width:0}
.ve-count b{display:block;font-size:1.45rem;line-height:1.5;font-weight:600;font-variant-numeric:tabular-nums}
.ve-count span{font-size:.8rem;color:light-dark(#5C6873,#A9B4BE)}
.ve-good{color:light-dark(#00714F,#5BD6B0)}
.ve-bad{color:light-dark(#96446F,#E8B5D1)}
.ve-table{width:100%;border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;
 border:1px solid light-dark(#DDE3E9,#323D48);border-radius:.5rem}
.ve-table th{font-weight:400;text-align:left;color:light-dark(#5C6873,#A9B4BE);padding:.32rem .5rem;
 background:light-dark(#F4F6F8,#1B232C)}
.ve-table td{padding:.32rem .5rem;border-top:1px solid light-dark(#DDE3E9,#323D48);overflow-wrap:break-word}
.ve-table :is(td,th):not(:first-child){text-align:right}
.ve-table td:not(:first-child){white-space:nowrap}
.ve-table tr.ve-chosen td{background:light-dark(#E8F1F8,#1C2F40)}
.ve-word{margin:.2rem 0}
.ve-word>summary{font-size:.92rem;font-weight:400;margin:0}
.ve-word>summary>bdi{font-weight:600}
.ve-kwic{display:grid;grid-template-columns:minmax(0,1fr) auto minmax(0,1fr) 11rem;gap:.1rem .5rem;font-size:.88rem}
.ve-kwic>span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis;unicode-bidi:isolate}
.ve-kwic>.ve-left{text-align:right;direction:rtl}
.ve-kwic>.ve-left bdi{direction:ltr}
@media(max-width:700px){.ve-counts{grid-template-columns:repeat(2,minmax(0,1fr))}}
</style>"""


def render_card(view: EntryCard, note: str = "") -> str:
    """Render one entry with the user's note."""
    head = f'<div class="ve-head">{escape(view.title)} · {escape(view.event)}</div>'
    lines = ""
    for line in view.lines:
        body = f"<bdi>{_render_marks(line.text, line.marks)}</bdi>"
        if line.note:
            body += f'<span class="ve-note">{escape(line.note)}</span>'
        lines += _render_row(escape(line.name), body)
    # Below the text: tokens, details (origin of new tokens, vote) and note, unless empty.
    details = "<br>".join(map(escape, filter(None, (*view.origins, view.vote))))
    if details:
        details = f'<span class="ve-made">{details}</span>'
    below = {"tokens": _render_tokenizations(view), "details": details, "note": escape(note)}
    rows = "".join(_render_row(name, body) for name, body in below.items() if body)
    return f'<article class="ve-card">{head}{lines}{rows}</article>'


def render_counts(counts: Sequence[tuple[int, str, str]]) -> str:
    """Render counts as cards, one for each (number, label, color "good", "bad" or "")."""
    cards = []
    for number, label, color in counts:
        color = f"ve-{color}" * bool(color)
        cards.append(
            f'<div class="ve-count"><b class="{color}">{count(number)}</b>'
            f"<span>{escape(label)}</span></div>"
        )
    return f'<div class="ve-counts">{"".join(cards)}</div>'


def render_table(table: Table, chosen: int = -1, firsts: Sequence[str] = ()) -> str:
    """Render a table; all columns but the first are right-aligned.

    chosen: index of the highlighted row. firsts: HTML of the first cell of each row, if not its
    text.
    """
    head = "".join(f"<th>{escape(column.label)}</th>" for column in table.shown)
    body = []
    for place, row in enumerate(table.write_cells()):
        rendered = list(map(escape, row))
        if firsts:
            rendered[0] = firsts[place]
        cells = "".join(f"<td>{cell}</td>" for cell in rendered)
        style = " class=ve-chosen" * (place == chosen)
        body.append(f"<tr{style}>{cells}</tr>")
    return (
        f'<table class="ve-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def render_keyword(one: Keyword) -> str:
    """Render a word with its occurrences in test, training and corpus, collapsed."""
    # 1. The summary, which is visible while the details are collapsed.
    counts = [f"{count(context.total)} in {IN[where]}" for where, context in one.found.items()]
    entries = f"{count(one.entries)} entries"
    if one.entries == 1:
        entries = "1 entry"
    summary = f"<bdi>{escape(one.word)}</bdi> · {entries} · {' · '.join(counts)}"
    parts = [f'<details class="ve-word"><summary>{summary}</summary>']
    # 2. The lines of each text, with the word in the middle column.
    for where, context in one.found.items():
        about = "none"
        if context.total:
            about = escape(context.describe(CONTEXT))
        parts.append(f'<p class="ve-note">In {IN[where]}: {about}.</p><div class="ve-kwic">')
        parts += [
            f'<span class="ve-left"><bdi>{escape(hit.left)}</bdi></span>'
            f"<b><bdi>{escape(hit.match)}</bdi></b><span><bdi>{escape(hit.right)}</bdi></span>"
            f'<span class="ve-name">{escape(hit.file.name)} {count(hit.line)}</span>'
            for hit in context.hits
        ]
        parts.append("</div>")
    return "".join([*parts, "</details>"])


def escape(text: str) -> str:
    """Escape text for HTML; invisible characters are shown, line breaks become spaces."""
    if "\n" in text:
        text = " ".join(text.splitlines())
    return html.escape(escape_invisible(text))


def _render_row(name: str, body: str) -> str:
    return (
        f'<div class="ve-line"><span class="ve-name">{name}</span><div'
        f' class="ve-text">{body}</div></div>'
    )


def _render_marks(text: str, marks: Sequence[Mark]) -> str:
    # The text up to each mark, the marked part, and what remains.
    rendered, at = "", 0
    for mark in marks:
        marked = f'<mark class="ve-{mark.style}">{escape(text[mark.start : mark.end])}</mark>'
        rendered += escape(text[at : mark.start]) + marked
        at = mark.end
    return rendered + escape(text[at:])


def _render_tokenizations(view: EntryCard) -> str:
    """Render the wordpieces of words before and after the adaptation; only once if equal."""
    if not any(word.before for word in view.words):
        return ""
    body = _render_words(view.words, [word.before for word in view.words])
    if any(word.changed for word in view.words):
        after = _render_words(view.words, [word.after for word in view.words])
        body += f"<span>→</span>{after}"
    else:
        body += '<span class="ve-note">same tokenization</span>'
    if len(view.words) < view.n_words:
        body += f'<span class="ve-note">{len(view.words)} of {count(view.n_words)} words</span>'
    return f'<div class="ve-chips">{body}</div>'


def _render_words(words: Sequence[TokenizedWord], pieces: Sequence[tuple[str, ...]]) -> str:
    """Render the wordpieces of each word as chips, new tokens highlighted."""
    groups = []
    for word, own in zip(words, pieces, strict=True):
        chips = ""
        for piece in own:
            style = "ve-chip"
            title = escape(piece)
            if piece in word.new:
                style = "ve-chip ve-new"
                title = f"{title} (new token)"
            chips += f'<span class="{style}" title="{title}">{escape(piece)}</span>'
        groups.append(chips)
    return '<span class="ve-gap"></span>'.join(groups)
