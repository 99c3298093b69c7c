"""pretrain."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from vocadapt.cli.options import add_out, add_text, corpus_settings, write
from vocadapt.cli.parser import Parser, real, whole
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.tables import facts
from vocadapt.errors import InputError
from vocadapt.lab.spec import PretrainStep, Spec
from vocadapt.lab.workspace import Artefact
from vocadapt.progress import Progress
from vocadapt.training.masked import MaskedSettings
from vocadapt.training.pretrain import ScratchSettings
from vocadapt.vocabulary.wordpiece_training import TRAINERS

SIZES = {"vocabulary": "wordpieces, at most", "layers": "layers", "hidden": "width, a multiple of 64"}
TRAINING = {
    "length": (whole, "wordpieces of a block"),
    "batch": (whole, "blocks a step"),
    "lr": (real, "highest learning rate"),
    "share": (real, "share of the words that is asked"),
    "dropout": (real, "share of the activations that is dropped while it trains"),
    "seed": (whole, "of all that is drawn"),
}
BUDGET = {
    "epochs": (real, "passes over the text"),
    "tokens": (whole, "wordpieces to read"),
    "hours": (real, "time, turned into steps by the pace of the first ones"),
}
REPORTED = ("tokens", "steps", "seconds", "tokens_per_second", "trainable", "frozen", "loss_per_character", "held_out_words")


def _options(parser: Parser) -> None:
    sizes, training = ScratchSettings(), MaskedSettings()
    parser.add_argument("--from-scratch", action="store_true", help="build a new model (the one stage there is as yet)")
    parser.add_argument("--corpus", nargs="+", metavar="TEXT", required=True, help="files and folders of text")
    for name, meaning in SIZES.items():
        value = getattr(sizes, name)
        parser.add_argument(f"--{name}", type=whole, default=value, metavar="N", help=f"{meaning} (default {value})")
    trainers = "; ".join(f"{name}: {trainer.about}" for name, trainer in TRAINERS.items())
    parser.add_argument(
        "--trainer", choices=TRAINERS, default=sizes.trainer, help=f"of the wordpieces; {trainers} (default {sizes.trainer})"
    )
    budget = parser.add_mutually_exclusive_group()
    for name, (kind, meaning) in BUDGET.items():
        budget.add_argument(f"--{name}", type=kind, default=getattr(training, name), metavar="X", help=meaning)
    for name, (kind, meaning) in TRAINING.items():
        value = getattr(training, name)
        parser.add_argument(f"--{name}", type=kind, default=value, metavar="X", help=f"{meaning} (default {value})")
    parser.add_argument("--cased", action="store_true", help="keep capitals and accents")
    parser.add_argument("--random-rows", action="store_true", help="start from random rows, not from word vectors")
    parser.add_argument("--half", action="store_true", help="save in float16")
    add_text(parser, own_seed=False)
    add_out(parser)


def _pretrain(options: Namespace, progress: Progress) -> Answer:
    if not options.from_scratch:
        raise InputError("Training on goes from scratch only as yet.", "Add --from-scratch.")
    given = {name: getattr(options, name) for name in (*TRAINING, *BUDGET)}
    sizes = {name: getattr(options, name) for name in SIZES}
    chosen = {name: getattr(options, name) for name in ("trainer", "cased", "random_rows")}
    scratch = ScratchSettings(**sizes, **chosen, training=MaskedSettings(**given))
    settings = PretrainStep(corpus_settings(options), scratch, options.half)
    return _answer(write(Spec("pretrain", settings, {"text": options.corpus}), options, progress))


def _answer(made: Artefact) -> Answer:
    numbers: Mapping[str, Any] = made.manifest.numbers
    loss = numbers["loss_per_character"]
    place = {"out": str(made.folder), "manifest": str(made.folder / "manifest.json")}
    shown = {f"loss a character, {name}": loss[name] for name in ("unigram", "before", "after")}
    reported = {name: numbers[name] for name in REPORTED}
    plain = {name: value for name, value in reported.items() if value is not loss}
    return Answer({"stage": numbers["stage"], **reported, **place}, facts({**plain, **shown, **place}))


PRETRAIN = Command(_options, _pretrain)
