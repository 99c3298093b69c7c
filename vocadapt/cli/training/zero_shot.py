"""zero-shot: general questions learned, then the words of a domain, then its questions answered."""

import time
from argparse import Namespace
from pathlib import Path

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_model
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_given
from vocadapt.cli.tables import format_facts
from vocadapt.cli.training.finetune import render_scores
from vocadapt.lab.reports.zero_shot import SCORES, ZeroShotSettings, run_zero_shot
from vocadapt.presets import get_preset
from vocadapt.progress import Progress
from vocadapt.training.finetune.settings import (
    FINETUNING_PRESETS,
    FinetuneSettings,
    training_preset,
)

CHANGED = ("epochs", "batch", "lr", "word_rule")  # settings of the fine-tuning with a flag


def _add_options(parser: Parser) -> None:
    add_model(parser, help="hub name or model folder, with or without a head for questions")
    parser.add_argument(
        "--train", metavar="F", required=True, help="general questions in SQuAD's form"
    )
    parser.add_argument(
        "--test",
        metavar="F",
        required=True,
        help="questions of the domain, none of which may occur in --train",
    )
    parser.add_argument("--vectors", metavar="V", default="", help="word vectors of the domain")
    parser.add_argument(
        "--corpus",
        metavar="T",
        nargs="+",
        default=(),
        help="text of the domain, in place of vectors",
    )
    parser.add_argument(
        "--preset",
        default="green-bert",
        metavar="P",
        help="recipe of the adaptation (default green-bert)",
    )
    parser.add_argument(
        "--settings",
        choices=tuple(FINETUNING_PRESETS),
        default="quick",
        help="named settings of the fine-tuning (default quick)",
    )
    add_settings(parser, FinetuneSettings, *CHANGED, default="the settings'")
    add_settings(parser, ZeroShotSettings, "seed", "limit")
    parser.add_argument(
        "--out",
        metavar="DIR",
        required=True,
        help="output folder for general/, adapted/ and scores.json",
    )


def _zero_shot(options: Namespace, progress: Progress) -> Answer:
    start, out = time.perf_counter(), Path(options.out)
    settings = ZeroShotSettings(
        options.model,
        Path(options.train),
        Path(options.test),
        get_preset(options.preset),
        options.vectors,
        tuple(options.corpus),
        training_preset(options.settings, **read_given(options, FinetuneSettings)),
        offline=options.offline,
        **read_given(options, ZeroShotSettings),
    )
    numbers = run_zero_shot(settings, out, progress)
    place = {"out": str(out), "seconds": time.perf_counter() - start, "scores": str(out / SCORES)}
    return Answer({**numbers, **place}, f"{render_scores(numbers)}\n\n{format_facts(place)}")


ZERO_SHOT = Command(_add_options, _zero_shot)
