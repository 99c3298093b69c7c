"""initializers."""

import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    TEXT,
    M,
    add_casing,
    add_model,
    add_out,
    add_text,
    build_answer,
    choose_destination,
)
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_table
from vocadapt.cli.vocabulary.initializer_options import (
    add_initializer_settings,
    read_initializer_settings,
)
from vocadapt.lab.steps.compare_initializers import (
    InitializerComparison,
    LeaderboardStep,
    compare_for_step,
    load_comparison,
)
from vocadapt.lab.steps.context import StepContext
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.spec import Spec
from vocadapt.progress import Progress

COLUMNS = (
    "initializer",
    "centered cosine",
    "±",
    "P@1",
    "MRR",
    "median rank",
    "norm ratio",
    "overlap",
    "loss/char",
    "fallbacks",
    "s",
)


def _add_options(parser: Parser) -> None:
    add_model(parser, help="hub name or model folder")
    parser.add_argument("--target", metavar="B", help=f"model whose vocabulary is taken over: {M}")
    parser.add_argument(
        "--vectors", metavar="DIR", help="word vectors; words that the model lacks are added"
    )
    trained = f"text to train the vectors of a bare vocab.txt's tokens on: {TEXT}"
    parser.add_argument("--corpus", nargs="+", metavar="TEXT", help=trained)
    parser.add_argument(
        "--text",
        nargs="+",
        metavar="TEXT",
        help="held-out text for the masked-token loss",
    )
    add_settings(parser, LeaderboardSettings)
    add_initializer_settings(parser)
    add_casing(parser)
    add_text(parser, own_seed=False)
    add_out(parser)


def _compare(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    spec = _build_spec(options)
    folder = choose_destination(options, spec.kind)
    if folder is None:
        compared = compare_for_step(StepContext(spec, Path(), None, progress), spec.settings)
        return Answer(
            {**compared.to_dict(), "seconds": time.perf_counter() - start}, _render(compared)
        )
    kept = build_answer(run_step(spec.absolute(), folder, progress, options.overwrite))
    compared = load_comparison(folder)
    return Answer({**compared.to_dict(), **kept.json}, f"{_render(compared)}\nKept in {folder}.")


def _build_spec(options: Namespace) -> Spec:
    step = read_settings(options, LeaderboardStep)
    board = step.leaderboard
    rows = replace(board.rows, seed=board.seed)
    rows = read_initializer_settings(options, rows, board.named)
    step = replace(step, leaderboard=replace(board, rows=rows))
    given = {
        "model": options.model,
        "vectors": options.vectors,
        "target": options.target,
        "text": options.corpus,
        "held_out": options.text,
    }
    inputs = {
        role: tuple(paths) if isinstance(paths, list) else (paths,)
        for role, paths in given.items()
        if paths
    }
    return Spec("leaderboard", step, inputs, options.offline, options.casing)


def _render(compared: InitializerComparison) -> str:
    """Render the comparison: the scores, their candidates and chance, skipped initializers, verdict."""
    board, masked = compared.board, compared.masked
    rows = [
        (
            row.initializer + (" (baseline)" if row.is_baseline else ""),
            *list(row.to_dict().values())[1:],
        )
        for row in board.rows
    ]
    chance = f"chance P@1 {board.chance['p@1']:.2g}, MRR {board.chance['mrr']:.2g}"
    hidden = (
        f"{len(board.hidden):,} of {board.of:,} common tokens hidden; their true embeddings ranked among"
        f" {board.candidates:,} embeddings"
    )
    near = (
        f"overlap@{board.k} and lengths: {board.judged:,} of {board.added:,} new tokens, among"
        f" {board.neighbor_candidates:,}"
    )
    loss = f"Masked-token loss: not computed ({compared.why_not})."
    if masked:
        read = (
            f"{masked['words']:,.0f} words of {masked['lines']:,.0f} of {masked['of']:,.0f} lines"
        )
        loss = (
            f"Masked-token loss over {read}; before any change {masked['before']:.3f} nats per"
            " character."
        )
    lines = [format_table(COLUMNS, rows), "", f"{hidden}; {chance}.", f"{near}.", loss]
    lines += [
        f"Not in the table: {name} ({' '.join(reason.split())})"
        for name, reason in board.skipped.items()
    ]
    return "\n".join([*lines, board.verdict])


COMPARE = Command(_add_options, _compare)
