"""change."""

import time
from argparse import Namespace
from typing import Any

import numpy as np

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_offline
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.errors import InputError
from vocadapt.lab.artifacts.open_space import OpenedSpace, open_space
from vocadapt.lab.reports.noise_baselines import (
    BOOTSTRAP,
    SEED,
    open_vectors_artifact,
    rebuild_spec,
    train_noise_baseline,
)
from vocadapt.progress import Progress, part
from vocadapt.settings import MAX_COUNT
from vocadapt.spaces.neighbors.change import (
    ChangeSettings,
    NeighborhoodChange,
    WordChange,
    count_by_overlap,
)
from vocadapt.spaces.neighbors.noise_baseline import (
    LOW,
    NONE,
    BaselinePair,
    NoiseBaseline,
    measure_change_with_baseline,
)

SHOWN = 30
SPACE = (
    "folder of word vectors, or a model for its input embeddings (called contextual embeddings by"
    " Fast 2023)"
)


def _add_options(parser: Parser) -> None:
    parser.description = (
        "Which words have other neighbors in one space than in another, over the words that both"
        " have: two models, a model before and after it was adapted, word vectors of two texts,"
        " vectors in context of two layers."
    )
    parser.add_argument("--before", metavar="A", required=True, help=SPACE)
    parser.add_argument(
        "--after", metavar="B", required=True, help="space to compare with, of any dimension"
    )
    add_settings(parser, ChangeSettings)
    baseline = parser.add_mutually_exclusive_group()
    baseline.add_argument(
        "--noise-baseline",
        nargs=2,
        metavar=("X", "Y"),
        help="noise baseline: two runs that differ only in the seed",
    )
    baseline.add_argument(
        "--noise-baseline-seed",
        action="store_true",
        help="noise baseline: train A (or B) again with another seed",
    )
    baseline.add_argument(
        "--noise-baseline-bootstrap",
        action="store_true",
        help="noise baseline: train A (or B) on two bootstrap resamples of its text",
    )
    parser.add_argument(
        "--word", metavar="WORD", help="word whose neighbors before, in both and after are listed"
    )
    parser.add_argument(
        "-n",
        type=whole(0, MAX_COUNT),
        default=SHOWN,
        metavar="N",
        help=f"words to list, most changed first (default {SHOWN})",
    )
    add_offline(parser)


def _compare(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    settings = read_settings(options, ChangeSettings)
    before, after = (
        open_space(name, options.offline or None) for name in (options.before, options.after)
    )
    trains = 0.7 if options.noise_baseline_seed or options.noise_baseline_bootstrap else 0.0
    pair = _open_baseline(options, before, after, part(progress, 0.0, trains))
    change, baseline = measure_change_with_baseline(
        before.space, after.space, settings, pair, part(progress, trains, 1.0)
    )
    found = change.word(options.word) if options.word else None
    answer = {
        **_change_to_json(change, baseline, options.n),
        **({"word": _word_to_json(found)} if found else {}),
    }
    answer["seconds"] = time.perf_counter() - start
    return Answer(answer, _render(change, baseline, options.n, found))


def _open_baseline(
    options: Namespace, before: OpenedSpace, after: OpenedSpace, progress: Progress
) -> BaselinePair | None:
    """Open or train the two spaces of the noise baseline; None if none was requested."""
    if options.noise_baseline:
        first, second = (
            open_space(name, options.offline or None).space for name in options.noise_baseline
        )
        return BaselinePair(
            f"{options.noise_baseline[0]} and {options.noise_baseline[1]}, as given", first, second
        )
    if not (options.noise_baseline_seed or options.noise_baseline_bootstrap):
        return None
    how = SEED if options.noise_baseline_seed else BOOTSTRAP
    found = [
        artifact
        for artifact in (open_vectors_artifact(before.folder), open_vectors_artifact(after.folder))
        if artifact
    ]
    if not found:
        raise InputError(
            "Neither space was trained in this workspace, so none can be trained again.",
            "Give two spaces that differ in the seed alone: --noise-baseline X Y.",
        )
    try:
        rebuild_spec(found[0])
    except InputError:
        return train_noise_baseline(found[-1], how, progress)
    return train_noise_baseline(found[0], how, progress)


def _change_to_json(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, shown: int
) -> dict[str, Any]:
    rows = change.order[:shown].tolist()
    return {
        "k": change.settings.k,
        "among": change.settings.among,
        "without": list(change.settings.without),
        "shared": change.shared,
        "of": list(change.of),
        "compared": len(change.words),
        "left_out": change.left_out,
        "mean_overlap": change.mean,
        "chance": change.chance,
        "histogram": change.histogram.tolist(),
        "words": [_word_row_to_json(change, baseline, row) for row in rows],
        "shown": len(rows),
        "null": _baseline_to_json(baseline, change) if baseline else None,
        "note": _describe_baseline(baseline),
    }


def _word_row_to_json(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, row: int
) -> dict[str, Any]:
    counted = {} if change.counts is None else {"count": int(change.counts[row])}
    found = {"word": change.words[row], "overlap": float(change.overlap[row]), **counted}
    if baseline is None:
        return found
    z = float(baseline.z[row])
    held = {
        "overlap": float(baseline.overlap[row]),
        "quantile": float(baseline.quantile[row]),
        "z": z if np.isfinite(z) else None,
    }
    return {**found, "null": held, "changed": bool(baseline.below[row])}


def _baseline_to_json(baseline: NoiseBaseline, change: NeighborhoodChange) -> dict[str, Any]:
    histogram = count_by_overlap(baseline.overlap, change.settings.k)
    return {
        "about": baseline.about,
        "spaces": list(baseline.names),
        "mean_overlap": baseline.mean,
        "histogram": histogram.tolist(),
        "bands": baseline.bands,
        "quantile": LOW,
        "share_below": baseline.fraction_below,
        "own_share_below": baseline.baseline_fraction_below,
    }


def _word_to_json(found: WordChange) -> dict[str, Any]:
    both = [{"word": word, "before": before, "after": after} for word, before, after in found.both]
    lists = {"only_before": found.only_before, "only_after": found.only_after}
    named = {
        name: [{"word": word, "cosine": cosine} for word, cosine in listed]
        for name, listed in lists.items()
    }
    return {
        "word": found.word,
        "overlap": found.overlap,
        "only_before": named["only_before"],
        "both": both,
        "only_after": named["only_after"],
    }


def _describe_baseline(baseline: NoiseBaseline | None) -> str:
    if baseline is None:
        return NONE
    if baseline.same:
        return "the two spaces of the noise baseline are identical, so it has no noise"
    return (
        f"{baseline.fraction_below:.1%} of the words keep fewer neighbors than 95 % of words of their"
        f" frequency do in the noise baseline; in the baseline itself it is {baseline.baseline_fraction_below:.1%}"
    )


def _render(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, shown: int, found: WordChange | None
) -> str:
    """Render the most changed words, the figures, and the neighbors of the word of --word."""
    rows = change.order[:shown].tolist()
    header = ("word", "overlap", *(("count",) if change.counts is not None else ()))
    held = ("baseline quantile", "z", "changed") if baseline else ()
    body = [
        (
            change.words[row],
            float(change.overlap[row]),
            *((int(change.counts[row]),) if change.counts is not None else ()),
            *(
                (float(baseline.quantile[row]), float(baseline.z[row]), bool(baseline.below[row]))
                if baseline
                else ()
            ),
        )
        for row in rows
    ]
    figures: dict[str, Any] = {
        f"mean overlap@{change.settings.k}": change.mean,
        "by chance": change.chance,
        **({"baseline mean": baseline.mean} if baseline else {}),
        "words compared": (
            f"{len(change.words):,} of {change.shared:,} shared ({change.of[0]:,} and"
            f" {change.of[1]:,} words)"
        ),
        **{f"left out: {reason}": number for reason, number in change.left_out.items()},
    }
    lines = [
        format_table((*header, *held), body),
        "",
        f"{len(rows):,} of {len(change.words):,} words, most changed first.",
        "",
    ]
    return "\n".join(
        [
            *lines,
            format_facts(figures),
            *([_render_lists(found)] if found else []),
            f"{_describe_baseline(baseline)}.",
        ]
    )


def _render_lists(found: WordChange) -> str:
    only = [("before only", found.only_before), ("after only", found.only_after)]
    lines = [
        f"  {name}: " + (", ".join(f"{word} {cosine:.3f}" for word, cosine in listed) or "none")
        for name, listed in only
    ]
    both = "  both: " + (
        ", ".join(f"{word} {one:.3f} → {two:.3f}" for word, one, two in found.both) or "none"
    )
    return "\n".join([f"\n{found.word}: overlap {found.overlap:.3f}", lines[0], both, lines[1], ""])


CHANGE = Command(_add_options, _compare)
