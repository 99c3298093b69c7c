"""vectors train, vectors contextual, vectors import."""

from argparse import Namespace
from typing import Any

from vocadapt.cli.options import (
    TEXT,
    add_casing,
    add_model,
    add_out,
    add_text,
    build_answer,
    corpus_settings,
    write,
)
from vocadapt.cli.parser import Parser, setting
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.lab.steps.command_lines import flag_of
from vocadapt.lab.steps.contextual import ContextualStep
from vocadapt.lab.steps.import_vectors import ImportStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.models.contextual.occurrences import UNITS, ContextualSettings
from vocadapt.progress import Progress
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

ONLY = "keep only the words of this text (needs --model)"


def _add_train_options(parser: Parser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help=TEXT)
    add_model(parser)
    add_casing(parser)
    add_settings(parser, Word2VecSettings)
    drawn = (
        "train on a bootstrap resample of the lines, drawn with this seed (default 0: no"
        " resampling)"
    )
    parser.add_argument(
        "--resample", type=setting(VectorsStep, "resample"), default=0, metavar="SEED", help=drawn
    )
    add_text(parser, own_seed=False)
    add_out(parser)


def _train(options: Namespace, progress: Progress) -> Answer:
    word2vec = read_settings(options, Word2VecSettings)
    inputs = {"text": options.text, "model": options.model}
    settings = VectorsStep(corpus_settings(options), word2vec, options.resample)
    return build_answer(
        write(Spec("vectors", settings, inputs, options.offline, options.casing), options, progress)
    )


IN_CONTEXT = {
    "occurrences": "maximum number of occurrences to average over, drawn by the seed",
    "length": "wordpieces of a window; longer lines are divided",
    "batch": "windows per forward pass",
    "min_count": "drop words that occur less often",
    "first": "number of most frequent words to keep; 0: all",
    "seed": "random seed of the sampled occurrences and of --sample",
}


def _add_contextual_options(parser: Parser) -> None:
    default = ContextualSettings()
    parser.description = (
        "Compute contextual vectors: the output of a layer for each word, averaged over its"
        " occurrences in a text. The result is used like any other word vectors. Do not confuse"
        " them with a model's input embeddings (called contextual embeddings by Fast 2023), which"
        " every command that takes vectors or a model reads from the model, without a text."
    )
    add_model(parser, help="hub name or model folder")
    parser.add_argument("--corpus", nargs="+", metavar="TEXT", required=True, help=TEXT)
    which = (
        "layer to read. 0: the embedding output, with positions; 1: the output of the first layer;"
        " … last: the output of the top layer (default last)"
    )
    parser.add_argument(
        "--layer", type=_parse_layer, default=default.layer, metavar="L", help=which
    )
    parser.add_argument(
        "--words", metavar="FILE", help="file of the words to include, one per line, however rare"
    )
    for name, meaning in IN_CONTEXT.items():
        value = getattr(default, name)
        parser.add_argument(
            flag_of(name),
            dest=name,
            type=setting(default, name),
            default=value,
            metavar="N",
            help=f"{meaning} (default {value})",
        )
    units = "; ".join(f"{name}: {meaning}" for name, meaning in UNITS.items())
    parser.add_argument(
        "--token-unit",
        choices=UNITS,
        default=default.unit,
        help=f"unit of the vectors. {units} (default {default.unit})",
    )
    add_text(parser, own_seed=False)
    add_out(parser)


LAYER = setting(ContextualSettings, "layer")


def _parse_layer(text: str) -> Any:
    """Parse a layer: its number, or the word last."""
    return ContextualSettings().layer if text == "last" else LAYER(text)


def _compute_contextual(options: Namespace, progress: Progress) -> Answer:
    chosen = {name: getattr(options, name) for name in (*IN_CONTEXT, "layer")}
    given = {"text": options.corpus, "model": options.model, "words": options.words}
    inputs = {role: value for role, value in given.items() if value}
    settings = ContextualStep(
        corpus_settings(options), ContextualSettings(**chosen, unit=options.token_unit)
    )
    return build_answer(
        write(Spec("contextual", settings, inputs, options.offline), options, progress)
    )


def _add_import_options(parser: Parser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="vectors as word2vec text or binary (.gz), fastText .vec, GloVe, .npy, safetensors",
    )
    parser.add_argument(
        "--words", metavar="FILE", help="file with the words of a .npy matrix, one per line"
    )
    parser.add_argument(
        "--limit",
        type=setting(ImportStep, "limit"),
        default=0,
        metavar="N",
        help="read the first N words only",
    )
    parser.add_argument("--only-words-of", nargs="+", metavar="TEXT", dest="text", help=ONLY)
    parser.add_argument(
        "--fold-case",
        action="store_true",
        help="lowercase the words for an uncased model (needs --model)",
    )
    parser.add_argument(
        "--collisions",
        default="first",
        help="rule for merging spellings that become equal (default first)",
    )
    add_model(parser, required=False)
    add_casing(parser)
    add_text(parser)
    add_out(parser)


def _import(options: Namespace, progress: Progress) -> Answer:
    settings = ImportStep(
        options.limit, options.fold_case, options.collisions, corpus_settings(options)
    )
    given = {
        "file": options.file,
        "words": options.words,
        "model": options.model,
        "text": options.text,
    }
    inputs = {role: value for role, value in given.items() if value}
    return build_answer(
        write(Spec("import", settings, inputs, options.offline, options.casing), options, progress)
    )


TRAIN = Command(_add_train_options, _train)
CONTEXTUAL = Command(_add_contextual_options, _compute_contextual)
IMPORT = Command(_add_import_options, _import)
