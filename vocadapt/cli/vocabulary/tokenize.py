"""tokenize."""

from argparse import Namespace
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import M, add_casing, add_offline, read_lowercase
from vocadapt.cli.parser import Parser
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress
from vocadapt.vocabulary.lens import Piece, tokenize_text


def _add_options(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", help="text to tokenize, in quotes")
    add_models(parser)


def add_models(parser: Parser) -> None:
    """Add a repeatable --model, --casing and --offline."""
    parser.add_argument(
        "--model", metavar="M", action="append", required=True, help=f"{M}; may be repeated"
    )
    add_casing(parser)
    add_offline(parser)


def open_models(options: Namespace) -> dict[str, LanguageModel]:
    """Open the models named by the options of `add_models`, by name."""
    return {
        name: open_model(name, options.offline or None, read_lowercase(options))
        for name in options.model
    }


def _tokenize(options: Namespace, progress: Progress) -> Answer:
    models = open_models(options)
    tokenizations = {
        name: tokenize_text(model.fast_tokenizer, options.text) for name, model in models.items()
    }
    shown = (render_tokens(name, models[name], tokens) for name, tokens in tokenizations.items())
    return Answer(
        {name: tokens_to_json(tokens) for name, tokens in tokenizations.items()}, "\n".join(shown)
    )


def render_tokens(name: str, model: LanguageModel, tokens: tuple[Piece, ...]) -> str:
    """Render a tokenization: the model and its tokens."""
    casing = "uncased" if model.splitter.lowercase else "cased"
    return f"{name} ({casing}, {len(tokens)} tokens)\n  {' '.join(piece.token for piece in tokens)}"


def tokens_to_json(tokens: tuple[Piece, ...]) -> dict[str, list[Any]]:
    """Convert a tokenization to JSON: tokens, ids and character offsets, without special tokens."""
    return {
        "tokens": [piece.token for piece in tokens],
        "ids": [piece.id for piece in tokens],
        "offsets": [[piece.start, piece.end] for piece in tokens],
    }


TOKENIZE = Command(_add_options, _tokenize)
