"""lens."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_text, corpus_settings
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.tables import format_table
from vocadapt.cli.vocabulary.tokenize import add_models, open_models, render_tokens, tokens_to_json
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.models.adapted_model import open_base_model
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress
from vocadapt.settings import MAX_COUNT
from vocadapt.text.corpus import READERS, Corpus
from vocadapt.text.words import Splitter, count_words
from vocadapt.vocabulary.lens import (
    TERMS,
    WordTokenizer,
    count_for_each_splitter,
    count_text,
    find_finest_splitter,
    list_changes,
    tokenize_text,
)

SHORT = 2000  # characters of a text whose tokens are printed
ENDINGS = {*READERS, ".gz"}


def _add_options(parser: Parser) -> None:
    parser.add_argument(
        "text",
        nargs="*",
        metavar="TEXT|FILE",
        help="text in quotes, or files and folders of text",
    )
    parser.add_argument(
        "--terms",
        action="store_true",
        help=f"use the built-in example: {len(TERMS)} biomedical terms",
    )
    parser.add_argument(
        "--top",
        type=whole(0, MAX_COUNT),
        default=20,
        help="number of changed words to list per model (default 20)",
    )
    add_models(parser)
    add_text(parser)


def _compare(options: Namespace, progress: Progress) -> Answer:
    source = _open_source(options)
    models = _add_original(open_models(options))
    cutters = [
        WordTokenizer(name, model.vocabulary, model.splitter) for name, model in models.items()
    ]
    short = isinstance(source, str) and len(source) <= SHORT
    tokenizations = (
        {name: tokenize_text(model.fast_tokenizer, str(source)) for name, model in models.items()}
        if short
        else {}
    )
    counted = _count(source, [word_tokenizer.splitter for word_tokenizer in cutters], progress)
    figures = [
        word_tokenizer.measure(counted[word_tokenizer.splitter]) for word_tokenizer in cutters
    ]
    changed = [_list_changes(counted, cutters[0], other, options.top) for other in cutters[1:]]
    answer = {
        "models": list(models),
        "words": figures[0].words,
        "distinct": figures[0].distinct,
        "rows": [row.to_dict() for row in figures],
        "changed": changed,
        "cuts": {name: tokens_to_json(tokens) for name, tokens in tokenizations.items()},
    }
    parts = [render_tokens(name, models[name], tokens) for name, tokens in tokenizations.items()]
    header = (
        "model",
        "words",
        "distinct",
        "wordpieces",
        "per word",
        "per distinct word",
        "whole words",
        "unknown",
    )
    rows = [
        (
            f.model,
            f.words,
            f.distinct,
            f.pieces,
            f.fertility,
            f.fertility_distinct,
            f.one_piece,
            f.unknown,
        )
        for f in figures
    ]
    return Answer(
        answer, "\n\n".join([*parts, format_table(header, rows), *map(_render_changes, changed)])
    )


def _open_source(options: Namespace) -> str | Corpus:
    """Return the given text, or the corpus of the given files.

    Raises InputError for neither, for both, and for a missing file.
    """
    given: list[str] = options.text
    if options.terms == bool(given):
        raise InputError(
            "lens needs one text, or files, or --terms, and got " + ("both." if given else "none.")
        )
    if options.terms:
        return " ".join(TERMS)
    if len(given) == 1 and not _is_path(given[0]):
        if Path(given[0]).suffix.lower() in ENDINGS and " " not in given[0]:
            raise InputError(
                f"{given[0]}: no such file.",
                "Check the spelling; a text of your own stands in quotes.",
            )
        return given[0]
    return read_corpus(given, corpus_settings(options))


def _is_path(text: str) -> bool:
    try:
        return (
            text.strip() != "" and Path(text).exists()
        )  # an empty text would name the folder one is in
    except (OSError, ValueError):  # too long for a path, or with a NUL in it
        return False


def _add_original(models: dict[str, LanguageModel]) -> dict[str, LanguageModel]:
    """A lone adapted model is compared with what it was before."""
    (name, model), *others = models.items()
    before = None if others else open_base_model(model)
    return models if before is None else {str(Path(name) / before.path.name): before, **models}


def _count(
    source: str | Corpus, splitters: Sequence[Splitter], progress: Progress
) -> Mapping[Splitter, Mapping[str, int]]:
    if isinstance(source, str):
        return count_for_each_splitter(splitters, lambda splitter: count_text(source, splitter))
    return count_for_each_splitter(
        splitters, lambda splitter: count_words(source, splitter, progress).counts
    )


def _list_changes(
    counted: Mapping[Splitter, Mapping[str, int]],
    before: WordTokenizer,
    after: WordTokenizer,
    top: int,
) -> dict[str, Any]:
    """List the `top` words whose tokenization changed most between two models."""
    splitter = find_finest_splitter([before.splitter, after.splitter])
    found = list_changes(counted[splitter], splitter, before, after)
    listed = [{**asdict(change), "saved": change.saved} for change in islice(found, top)]
    return {"before": before.name, "after": after.name, "of": len(found), "words": listed}


def _render_changes(changed: Mapping[str, Any]) -> str:
    words = changed["words"]
    head = (
        f"{len(words)} of {changed['of']:,} words tokenized differently by {changed['after']} and"
        f" {changed['before']}"
    )
    rows = [
        (w["word"], " ".join(w["before"]), " ".join(w["after"]), w["count"], w["saved"])
        for w in words
    ]
    return (
        f"{head}:\n{format_table(('word', 'before', 'after', 'count', 'saved'), rows)}"
        if rows
        else f"{head}."
    )


LENS = Command(_add_options, _compare)
