"""change."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    exclusive,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    OFFLINE,
    choose_destination,
    describe_place,
    destination_options,
    write_artifact,
)
from vocadapt.cli.tables import format_facts
from vocadapt.lab.steps.change import (
    ChangeStep,
    compare_spaces,
    load_comparison,
    open_change_inputs,
)
from vocadapt.lab.steps.noise_baselines import BOOTSTRAP, SEED
from vocadapt.lab.steps.step import Spec
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import MAX_COUNT
from vocadapt.spaces.neighbors.change import ChangeSettings, NeighborIn
from vocadapt.spaces.neighbors.change_report import (
    ChangeSummary,
    build_word_table,
    summarize_change,
)

SHOWN = 30


@dataclass(frozen=True)
class ChangeAnswer(ChangeSummary):
    """The comparison of two spaces, and where it was written, if it was."""

    seconds: float
    out: str | None = None
    manifest: str | None = None
    training_seconds: float | None = None


SPACE = (
    "folder of word vectors, or a model for its input embeddings (called contextual embeddings by"
    " Fast 2023)"
)


def _compare(options: Options) -> Answer[ChangeAnswer]:
    start = time.perf_counter()
    spec = _build_spec(options)
    destination = choose_destination(options, "changes")
    place = dict[str, Any]()
    # 1. The artifact of the step, or only its answer.
    if destination is None:
        spaces = open_change_inputs(spec.open_inputs())
        found = compare_spaces(spaces, spec.settings, options.progress)
    else:
        artifact = write_artifact(spec, options)
        found = load_comparison(artifact.folder)
        place = dict(describe_place(artifact))
    # 2. The most changed words, and the neighbors of one word.
    summary = summarize_change(found.change, found.baseline, options.n, options.word)
    text = _render(summary)
    if place:
        text = f"{text}\n\n{format_facts(place)}"
    place = {"seconds": time.perf_counter() - start, **place}
    return Answer(ChangeAnswer(**vars(summary), **place), text)


def _build_spec(options: Options) -> Spec:
    train = ""
    if options.noise_baseline_seed:
        train = SEED
    elif options.noise_baseline_bootstrap:
        train = BOOTSTRAP
    inputs = {
        "before": options.before,
        "after": options.after,
        "noise": options.noise_baseline,
        "counts": options.counts,
    }
    settings = ChangeStep(read_settings(options, ChangeSettings), train)
    return Spec(settings, inputs, options.offline)


def _render(found: ChangeSummary) -> str:
    """Render the most changed words, the figures, and the neighbors of the word of --word."""
    # 1. The words and the figures.
    figures: dict[str, Any] = {
        f"mean overlap@{found.k}": found.mean_overlap,
        "by chance": found.chance,
    }
    if found.null is not None:
        figures["baseline mean"] = found.null.mean_overlap
    figures["words compared"] = (
        f"{found.compared:,} of {found.shared:,} shared ({found.of[0]:,} and {found.of[1]:,} words)"
    )
    figures |= {f"left out: {reason}": number for reason, number in found.left_out.items()}
    note = f"{len(found.words):,} of {found.compared:,} words, most changed first."
    lines = [write_terminal(build_word_table(found.words, (note,))), "", format_facts(figures)]

    # 2. The neighbors of one word.
    if found.word is not None:
        both = [f"{one.word} {one.before:.3f} → {one.after:.3f}" for one in found.word.both]
        lines += [
            f"\n{found.word.word}: overlap {found.word.overlap:.3f}",
            f"  before only: {_list_neighbors(found.word.only_before)}",
            f"  both: {', '.join(both) or 'none'}",
            f"  after only: {_list_neighbors(found.word.only_after)}",
            "",
        ]
    return "\n".join([*lines, *map(str, found.findings)])


def _list_neighbors(listed: Sequence[NeighborIn]) -> str:
    return ", ".join(f"{one.word} {one.cosine:.3f}" for one in listed) or "none"


CHANGE = Command(
    _compare,
    (
        option("--before", metavar="A", required=True, help=SPACE),
        option(
            "--after", metavar="B", required=True, help="space to compare with, of any dimension"
        ),
        setting_options(ChangeSettings),
        exclusive(
            option(
                "--noise-baseline",
                nargs=2,
                metavar=("X", "Y"),
                help="noise baseline: two runs that differ only in the seed",
            ),
            option(
                "--noise-baseline-seed",
                action="store_true",
                help="noise baseline: train A (or B) again with another seed",
            ),
            option(
                "--noise-baseline-bootstrap",
                action="store_true",
                help="noise baseline: train A (or B) on two bootstrap resamples of its text",
            ),
        ),
        option(
            "--counts",
            metavar="V",
            help="word vectors whose word counts are used, for spaces without counts such as models",
        ),
        option(
            "--word",
            metavar="WORD",
            default="",
            help="word whose neighbors before, in both and after are listed",
        ),
        option(
            "-n",
            between=(0, MAX_COUNT),
            default=SHOWN,
            metavar="N",
            help=f"words to list, most changed first (default {SHOWN})",
        ),
        OFFLINE,
        *destination_options(),
    ),
    description="List the words whose neighbors differ most between two spaces, among the words of"
    " both. The spaces may be two models, a model before and after its adaptation, word vectors of"
    " two texts, or contextual vectors of two layers.",
)
