"""initializers: compare the initializers of new embeddings on hidden tokens."""

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    add_own_settings,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CASING,
    CORPUS_SETTINGS_WITHOUT_SEED,
    TEXT,
    WITH_WEIGHTS,
    M,
    build_answer,
    choose_destination,
    destination_options,
    model_options,
)
from vocadapt.given_settings import read_own_settings
from vocadapt.lab.steps.initializers import (
    InitializerComparison,
    InitializersStep,
    LeaderboardNumbers,
    compare_for_step,
    load_comparison,
)
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.report.table import Finding
from vocadapt.report.terminal import write_terminal
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS as REGISTRY
from vocadapt.vocabulary.initializers.initialize import InitializerSettings

GLOSSARY = option(
    "--glossary",
    nargs="+",
    metavar="TEXT",
    help="text with a word and its description on each line, separated by a tab or a colon, for the"
    " initializer grounded",
)


@dataclass(frozen=True)
class CompareAnswer(InitializerComparison):
    """All initializers, best first, and what their comparison shows; the rest only if it was
    written to a folder.
    """

    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    out: str | None = None
    manifest: str | None = None
    numbers: LeaderboardNumbers | None = None


def _compare(options: Options) -> Answer[CompareAnswer]:
    start = time.perf_counter()

    # 1. The step, with the settings of the initializers that are compared.
    step = read_settings(options, InitializersStep)
    board = step.leaderboard
    own = read_own_settings(options, REGISTRY, board.options)
    step = replace(step, leaderboard=replace(board, options=own))
    inputs = {
        "model": options.model,
        "vectors": options.vectors,
        "target": options.target,
        "text": options.corpus,
        "held_out": options.text,
        "glossary": options.glossary,
    }
    spec = Spec(step, inputs, options.offline, options.casing)

    # 2. The comparison, written to a folder if one was named.
    folder = choose_destination(options, spec.kind)
    if folder is None:
        compared = compare_for_step(spec.open_inputs(), spec.settings, options.progress)
        written: dict[str, Any] = {"seconds": time.perf_counter() - start}
        ending = ""
    else:
        made = run_step(spec.absolute(), folder, options.progress, options.overwrite)
        compared = load_comparison(folder)
        written = build_answer(made).json
        ending = f"\nWritten to {folder}."
    findings = compared.board.findings
    answer = CompareAnswer(**vars(compared), findings=findings, **written)
    lines = [write_terminal(compared.build_table()), *map(str, findings)]
    return Answer(answer, "\n".join(lines) + ending)


INITIALIZERS = Command(
    _compare,
    (
        *model_options(help=WITH_WEIGHTS),
        option("--target", metavar="B", help=f"model whose vocabulary is taken over: {M}"),
        option(
            "--vectors", metavar="DIR", help="word vectors; words that the model lacks are added"
        ),
        option(
            "--corpus",
            nargs="+",
            metavar="TEXT",
            help=f"text to train the vectors of a bare vocab.txt's tokens on: {TEXT}",
        ),
        option(
            "--text",
            nargs="+",
            metavar="TEXT",
            help="held-out text for the masked-token loss and for the sentences that are read; without"
            " it, sentences are those of the text of the word vectors",
        ),
        GLOSSARY,
        setting_options(LeaderboardSettings),
        partial(add_own_settings, settings=InitializerSettings),
        CASING,
        CORPUS_SETTINGS_WITHOUT_SEED,
        *destination_options(),
    ),
)
