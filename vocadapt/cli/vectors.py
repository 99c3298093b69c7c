"""vectors train, vectors import."""

from argparse import Namespace

from vocadapt.cli.options import TEXT, add_casing, add_model, add_out, add_text, corpus_settings, write, written
from vocadapt.cli.parser import Parser, real, whole
from vocadapt.cli.run import Answer, Command
from vocadapt.lab.spec import ImportStep, Spec, VectorsStep
from vocadapt.progress import Progress
from vocadapt.spaces.word2vec import Word2VecSettings

NUMBERS = {
    "dim": "width of the vectors; 0: the model's, which a bare vocab.txt has not",
    "epochs": "passes over the text",
    "window": "words on either side",
    "min_count": "drop words that occur less often",
    "negative": "negative samples for each word",
    "seed": "of training, and of --sample",
    "workers": "threads; 0: all cores, 1: the same bits again",
}
ONLY = "keep only the words of this text (needs --model)"


def _train_options(parser: Parser) -> None:
    default = Word2VecSettings()
    parser.add_argument("text", nargs="+", metavar="TEXT", help=TEXT)
    add_model(parser)
    add_casing(parser)
    for name, meaning in NUMBERS.items():
        value, flag = getattr(default, name), f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=whole, default=value, metavar="N", help=f"{meaning} (default {value})")
    parser.add_argument("--skip-gram", action="store_true", help="skip-gram instead of CBOW")
    parser.add_argument("--alpha", type=real, default=default.alpha, help=f"first learning rate (default {default.alpha})")
    parser.add_argument(
        "--subsample", type=real, default=default.sample, help=f"thin out frequent words (default {default.sample})"
    )
    add_text(parser, own_seed=False)
    add_out(parser)


def _train(options: Namespace, progress: Progress) -> Answer:
    numbers = {name: getattr(options, name) for name in NUMBERS}
    word2vec = Word2VecSettings(**numbers, skip_gram=options.skip_gram, alpha=options.alpha, sample=options.subsample)
    inputs = {"text": options.text, "model": options.model}
    spec = Spec("vectors", VectorsStep(corpus_settings(options), word2vec), inputs, options.offline, options.casing)
    return written(write(spec, options, progress))


def _import_options(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="word2vec text or binary (.gz), fastText .vec, GloVe, .npy, safetensors")
    parser.add_argument("--words", metavar="FILE", help="the words of a .npy matrix, one a line")
    parser.add_argument("--limit", type=whole, default=0, metavar="N", help="read the first N words only")
    parser.add_argument("--only-words-of", nargs="+", metavar="TEXT", dest="text", help=ONLY)
    parser.add_argument("--fold", action="store_true", help="fold cased words onto an uncased model (needs --model)")
    parser.add_argument("--collisions", default="first", help="how spellings that fall together are merged (default first)")
    add_model(parser, required=False)
    add_casing(parser)
    add_text(parser)
    add_out(parser)


def _import(options: Namespace, progress: Progress) -> Answer:
    settings = ImportStep(options.limit, options.fold, options.collisions, corpus_settings(options))
    given = {"file": options.file, "words": options.words, "model": options.model, "text": options.text}
    inputs = {role: value for role, value in given.items() if value}
    return written(write(Spec("import", settings, inputs, options.offline, options.casing), options, progress))


TRAIN = Command(_train_options, _train)
IMPORT = Command(_import_options, _import)
