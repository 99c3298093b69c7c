"""context."""

from argparse import Namespace

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    TEXT,
    M,
    add_casing,
    add_model,
    add_text,
    corpus_settings,
    read_lowercase,
)
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.word_lookup import look_up
from vocadapt.models.language_model import open_model
from vocadapt.progress import Progress
from vocadapt.text.keyword_in_context import ContextSettings, Hit, KeywordContext
from vocadapt.text.splitter import Splitter


def _add_options(parser: Parser) -> None:
    parser.add_argument("word", metavar="WORD", help="a word, or a wordpiece with its mark")
    parser.add_argument("--corpus", metavar="TEXT", nargs="+", required=True, help=TEXT)
    add_model(
        parser,
        required=False,
        help=f"model whose word splitting applies: {M} (default: that of uncased BERT)",
    )
    add_casing(parser)
    parser.add_argument(
        "--piece",
        action="store_true",
        help="treat WORD as a wordpiece, also at the start of longer words",
    )
    add_settings(parser, ContextSettings)
    add_text(parser, own_seed=False)


def _show_context(options: Namespace, progress: Progress) -> Answer:
    settings = read_settings(options, ContextSettings)
    model = (
        open_model(options.model, options.offline or None, read_lowercase(options))
        if options.model
        else None
    )
    splitter = model.splitter if model else Splitter.bert(read_lowercase(options) is not False)
    text = read_corpus(options.corpus, corpus_settings(options))
    vocabulary = model.vocabulary if model else None
    found = look_up(
        text, options.word, splitter, vocabulary, settings, options.piece, progress=progress
    )
    lines = [{**_hit_to_dict(hit), "file": str(hit.file), "line": hit.line} for hit in found.hits]
    return Answer(
        {"word": found.word, "shown": len(lines), "of": found.of, "lines": lines},
        _render(found, settings),
    )


def _render(found: KeywordContext, settings: ContextSettings) -> str:
    """Render the lines with the word aligned; control characters are replaced."""
    cells = [
        {key: _replace_unprintable(value) for key, value in _hit_to_dict(hit).items()}
        for hit in found.hits
    ]
    left = max((len(cell["left"]) for cell in cells), default=0)
    middle = max((len(cell["match"]) for cell in cells), default=0)
    lines = [
        f"{cell['left']:>{left}} [{cell['match']}]{' ' * (middle - len(cell['match']))}"
        f" {cell['right']}"
        for cell in cells
    ]
    return "\n".join(
        [*(line.rstrip() for line in lines), f"{found.word}: {found.describe(settings)}"]
    )


def _hit_to_dict(hit: Hit) -> dict[str, str]:
    return {"left": hit.left, "match": hit.match, "right": hit.right}


def _replace_unprintable(text: str) -> str:
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


CONTEXT = Command(_add_options, _show_context)
