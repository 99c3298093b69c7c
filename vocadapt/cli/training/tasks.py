"""tasks list, tasks card, tasks download: the benchmarks of the papers."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_out, choose_destination
from vocadapt.cli.parser import Parser
from vocadapt.cli.tables import format_facts, format_table, number
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.tasks import fetch_benchmark
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.progress import Progress
from vocadapt.training.tasks.benchmark_card import ACCESS, UNKNOWN, Card, card_of, cards
from vocadapt.training.tasks.kinds import TASK_KINDS

NAME = "benchmark as family/name, or its name alone if that is unambiguous"


def _add_list_options(parser: Parser) -> None:
    parser.add_argument("--kind", choices=tuple(TASK_KINDS), help="kind of tasks to list")


def _list(options: Namespace, progress: Progress) -> Answer:
    wanted = getattr(options, "kind", None)
    shown = [card for card in cards().values() if wanted in (None, card.kind)]
    rows = [
        (
            card.name,
            card.kind,
            card.scorer,
            _format_sizes(card),
            "free" if card.free else card.access,
        )
        for card in shown
    ]
    said = (
        "tasks card NAME shows its card; tasks download NAME --out DIR downloads a free benchmark."
    )
    return Answer(
        [card.to_dict() for card in shown],
        f"{format_table(('name', 'kind', 'score', 'sizes', 'files'), rows)}\n\n{said}",
    )


def _add_card_options(parser: Parser) -> None:
    parser.add_argument("benchmark", metavar="NAME", help=NAME)


def _show_card(options: Namespace, progress: Progress) -> Answer:
    card = card_of(options.benchmark)
    values = {
        "name": card.name,
        "kind": card.kind,
        "about": card.about,
        "version": card.version,
        "labels": ", ".join(label or "(bare tags: one type)" for label in card.labels),
        **{
            split: ", ".join(f"{number(count)} {what}" for what, count in held.items())
            for split, held in card.sizes.items()
        },
        "folds": card.folds or ("" if card.folds else "none"),
        "metric": card.metric,
        "score here": card.scorer,
        "license": card.license,
        "files": "available with tasks download" if card.free else ACCESS[card.access],
        "where": card.where,
        "facts from": card.source,
        **{f"note {place}": note for place, note in enumerate(card.notes, start=1)},
    }
    return Answer(
        card.to_dict(), format_facts({name: value or UNKNOWN for name, value in values.items()})
    )


def _format_sizes(card: Card) -> str:
    """Format the first figure of every split: 5424/923/940 sentences."""
    first = [next(iter(held.items())) for held in card.sizes.values()]
    return f"{'/'.join(str(count) for _, count in first)} {first[0][0]}" if first else "–"


def _add_download_options(parser: Parser) -> None:
    parser.add_argument("benchmark", metavar="NAME", help=NAME)
    place = "address of a mirror or folder to read instead of the original source"
    parser.add_argument("--from", dest="source", metavar="PLACE", default="", help=place)
    add_out(parser)


def _download(options: Namespace, progress: Progress) -> Answer:
    folder = choose_destination(options, "tasks")
    if folder is None:
        raise InputError("Say where to write: --out DIR, or --name N (with --workspace W).")
    task, manifest = fetch_benchmark(
        options.benchmark, folder, options.source, options.overwrite, progress
    )
    place = {"out": str(folder), "seconds": manifest.seconds, "manifest": str(folder / MANIFEST)}
    answer: dict[str, Any] = {**place, "task": task.name, "kind": task.kind, **manifest.numbers}
    by_fold = manifest.numbers.get("by_fold", {})
    sizes = {
        split: f"{size:,} examples{_describe_folds(by_fold.get(split))}"
        for split, size in manifest.numbers["examples"].items()
    }
    findings = {
        f"note {place}": said for place, said in enumerate(manifest.numbers["findings"], start=1)
    }
    return Answer(answer, format_facts({"task": task.name, **sizes, **findings, **place}))


def _describe_folds(by_fold: Sequence[int] | None) -> str:
    """Describe the range of a split's size over the folds."""
    if not by_fold:
        return ""
    return (
        f" in the first of {len(by_fold)} folds ({min(by_fold):,} to {max(by_fold):,} in all of"
        " them)"
    )


LIST = Command(_add_list_options, _list)
CARD = Command(_add_card_options, _show_card)
DOWNLOAD = Command(_add_download_options, _download)
