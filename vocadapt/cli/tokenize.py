"""tokenize."""

from argparse import Namespace
from typing import Any

from vocadapt.cli.options import M, add_casing, add_offline, lowercase
from vocadapt.cli.parser import Parser
from vocadapt.cli.run import Answer, Command
from vocadapt.errors import InputError
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress


def _options(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", help="one text, in quotes")
    parser.add_argument("--model", metavar="M", action="append", required=True, help=f"{M}; may be repeated")
    add_casing(parser)
    add_offline(parser)


def _tokenize(options: Namespace, progress: Progress) -> Answer:
    if any("\ud800" <= character <= "\udfff" for character in options.text):
        raise InputError("The text is not valid UTF-8.", "Give it in the terminal's own encoding.")
    models = {name: open_model(name, options.offline or None, lowercase(options)) for name in options.model}
    cuts = {name: _cut(model, options.text) for name, model in models.items()}
    return Answer(cuts, "\n".join(_line(name, models[name], cut["tokens"]) for name, cut in cuts.items()))


def _line(name: str, model: LanguageModel, tokens: list[Any]) -> str:
    casing = "uncased" if model.splitter.lowercase else "cased"
    return f"{name} ({casing}, {len(tokens)} tokens)\n  {' '.join(tokens)}"


def _cut(model: LanguageModel, text: str) -> dict[str, list[Any]]:
    """Tokens, ids, and from where to where each stands in the text, in characters; no special tokens around them."""
    encoding = model.fast_tokenizer.encode(text, add_special_tokens=False)
    return {"tokens": list(encoding.tokens), "ids": list(encoding.ids), "offsets": [list(pair) for pair in encoding.offsets]}


TOKENIZE = Command(_options, _tokenize)
