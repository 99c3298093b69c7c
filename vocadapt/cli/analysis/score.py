"""score: predictions of any program against a gold file."""

import json
from argparse import Namespace, RawDescriptionHelpFormatter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import describe_kind, format_facts, format_table, number
from vocadapt.errors import InputError
from vocadapt.progress import Progress
from vocadapt.training.scoring.counts import Rules, Score, Scorer
from vocadapt.training.scoring.uncertainty import (
    Comparison,
    Draws,
    aligned,
    bootstrap,
    compare_tallies,
)
from vocadapt.training.tasks.examples import UNITS, Predictions, Split
from vocadapt.training.tasks.kinds import TASK_KINDS, TaskKind
from vocadapt.training.tasks.predictions import build_tally


def _add_options(parser: Parser) -> None:
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _describe_files()
    parser.add_argument("--gold", metavar="F", required=True, help="gold labels")
    parser.add_argument("--predicted", metavar="F", required=True, help="predictions")
    parser.add_argument("--kind", choices=tuple(TASK_KINDS), required=True, help="kind of task")
    parser.add_argument(
        "--scorer",
        nargs="+",
        metavar="S",
        default=[],
        help="scorers by name, the headline one first (default: the kind's own)",
    )
    parser.add_argument(
        "--against",
        metavar="F",
        help="other predictions for a paired test against --predicted",
    )
    add_settings(parser, Rules)
    unit = (
        "unit of resampling and of example-f1 (default example; for example-f1 document, if known)"
    )
    parser.add_argument("--example-unit", choices=UNITS, default="", help=unit)
    add_settings(parser, Draws)


def _score(options: Namespace, progress: Progress) -> Answer:
    draws = _read_draws(options)
    kind = TASK_KINDS[options.kind]
    scorers = [kind.scorer(name) for name in options.scorer or [""]]
    rules = read_settings(options, Rules)
    gold = _read_gold(Path(options.gold), kind)
    said = kind.read_predictions(Path(options.predicted), gold)
    against = None
    if options.against:
        against = kind.read_predictions(Path(options.against), gold)
    answer: dict[str, Any] = {
        "kind": kind.name,
        "gold": options.gold,
        "predicted": options.predicted,
        "scores": {},
    }
    parts = []
    for scorer in scorers:
        found = _score_once(scorer, gold, said, against, rules, draws, options.example_unit)
        answer["scores"][scorer.name] = found[0]
        parts.append(found[1])
    notes = {
        what: count
        for what, count in {**gold.notes, **said.notes}.items()
        if isinstance(count, int) and count
    }
    return Answer(
        {**answer["scores"][scorers[0].name], **answer, "notes": notes},
        "\n\n".join([*parts, format_facts(notes)]).rstrip(),
    )


def _read_draws(options: Namespace) -> Draws:
    draws = read_settings(options, Draws)
    if options.against and not draws.rounds:
        problem = "A comparison draws its interval and its test, so --against needs rounds."
        raise InputError(problem, "Such as --rounds 1000; or leave --against out.")
    return draws


def _describe_files() -> str:
    """Describe the files of each kind of task, and which scores it has."""
    parts = ["files and scores, by the kind of task:"]
    for kind in TASK_KINDS.values():
        parts.append(describe_kind(kind.name, f"gold: {kind.file_format}"))
        parts.append(describe_kind("", f"predictions: {kind.prediction_format}"))
        parts.append(describe_kind("", f"scores: {', '.join(one.name for one in kind.scorers())}"))
    return "\n".join(parts)


def _read_gold(path: Path, kind: TaskKind) -> Split:
    """Read the gold file; its labels stay unchanged."""
    gold = kind.read_gold(path)
    if not gold.labeled:
        raise InputError(
            f"{path}: holds no labels, so nothing can be scored.",
            "Give the gold file with its labels.",
        )
    return gold


def _score_once(
    scorer: Scorer,
    gold: Split,
    said: Predictions,
    against: Predictions | None,
    rules: Rules,
    draws: Draws,
    unit: str,
) -> tuple[dict[str, Any], str]:
    """Compute one score, as JSON values and as text."""
    tally = build_tally(gold, said.predicted, scorer, rules, unit)
    score = scorer.of(tally, rules)
    used = "".join(
        f"; {name}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in score.rules.items()
    )
    values, lines = (
        score.to_dict(),
        [f"{scorer.name}: {score.definition}{used}", _render_figures(score)],
    )
    if draws.rounds:
        interval = bootstrap(scorer, tally, rules, draws)
        values["interval"] = asdict(interval) | {"rounds": draws.rounds, "seed": draws.seed}
        lines.append(
            f"{draws.level:.0%} of {draws.rounds:,} draws of {score.units:,} units give"
            f" {scorer.headline} {number(interval.low)} to {number(interval.high)}"
        )
    if against is not None:
        other = build_tally(gold, against.predicted, scorer, rules, unit)
        theirs, ours = aligned(other, tally)
        compared = compare_tallies(scorer, theirs, ours, rules, draws)
        values["against"] = asdict(compared)
        lines.append(_describe_comparison(compared, draws))
    return values, "\n".join(lines)


def _render_figures(score: Score) -> str:
    header = ("", *score.values, *(("gold", "predicted") if score.by_label else ()))
    counts = (
        [sum(int(own[side]) for own in score.by_label.values()) for side in ("gold", "predicted")]
        if score.by_label
        else []
    )
    rows: list[tuple[Any, ...]] = [("score", *score.values.values(), *counts)]
    if len(score.by_label) > 1:
        rows += [
            (name, *(own[column] for column in header[1:])) for name, own in score.by_label.items()
        ]
    return format_table(header, rows)


def _describe_comparison(found: Comparison, draws: Draws) -> str:
    mcnemar = "" if found.p_mcnemar is None else f", exact McNemar p = {number(found.p_mcnemar)}"
    if found.scorer == "accuracy" and not mcnemar:
        mcnemar = ", no McNemar test: it needs units of one example each, and these are documents"
    return (
        f"against the other predictions: {number(found.a)} → {number(found.b)}, difference"
        f" {found.difference:+.4f} ({draws.level:.0%} interval {found.interval.low:+.4f} to"
        f" {found.interval.high:+.4f}), approximate randomisation p ="
        f" {number(found.p_randomisation)}{mcnemar}"
    )


SCORE = Command(_add_options, _score)
