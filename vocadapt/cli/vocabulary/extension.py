"""vocabulary extension."""

import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    TEXT,
    add_casing,
    add_model,
    add_text,
    corpus_settings,
    read_lowercase,
)
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.tables import format_table
from vocadapt.lab.artifacts.corpora import load_or_count_words, read_corpus
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.presets import EXTENSION, get_preset
from vocadapt.progress import Progress, part
from vocadapt.settings import settings_of
from vocadapt.vocabulary.growth.growth import RARE, measure_extension_curve
from vocadapt.vocabulary.plan.plan import PlanSettings

PRESET = "exbert-s3"  # every preset exbert-s… plans the same tokens


def _add_options(parser: Parser) -> None:
    parser.description = (
        "Compare extension sizes: how the first N tokens that adapt --preset exbert-s… would add"
        " change the tokenization of a text."
    )
    add_model(parser)
    add_casing(parser)
    parser.add_argument("--corpus", metavar="TEXT", nargs="+", required=True, help=TEXT)
    sizes = f"numbers of added tokens (default: {EXTENSION:,}, the published number, and repeated halves)"
    parser.add_argument(
        "--sizes",
        type=whole(1, int(settings_of(PlanSettings)["max_added"].high)),
        nargs="+",
        default=[],
        metavar="N",
        help=sizes,
    )
    parser.add_argument(
        "--workspace",
        metavar="W",
        help="workspace that stores word counts for reuse",
    )
    add_text(parser)


def _compare_sizes(options: Namespace, progress: Progress) -> Answer:
    start, most = time.perf_counter(), max(options.sizes, default=EXTENSION)
    model = open_model(options.model, options.offline or None, read_lowercase(options))
    root = Workspace(Path(options.workspace)).root if options.workspace else None
    corpus = read_corpus(options.corpus, corpus_settings(options))
    counts = load_or_count_words(root, corpus, model.splitter, part(progress, 0, 0.4)).counts
    recipe = get_preset(PRESET)
    recipe = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=most))
    plan = plan_adaptation(recipe, model, Sources(counts=counts), progress=part(progress, 0.4, 0.8))
    sizes = [
        min(size, len(plan.added)) for size in options.sizes
    ]  # the note says where a text gives fewer
    found = measure_extension_curve(plan, counts, sizes, part(progress, 0.8, 1))
    rows = [
        (
            at.size,
            at.tokens,
            at.fertility,
            f"{found.shorter(at):.2%}",
            f"{at.new_share:.2%}",
            at.seldom,
        )
        for at in found.sizes
    ]
    header = (
        "tokens added",
        "wordpieces",
        "a word",
        "text shorter",
        "are new tokens",
        f"under {RARE} times",
    )
    note = plan.note or ""
    answer = {**found.to_dict(), "note": note, "seconds": time.perf_counter() - start}
    return Answer(answer, "\n\n".join(filter(None, [format_table(header, rows), note])))


EXTENSION_CURVE = Command(_add_options, _compare_sizes)
