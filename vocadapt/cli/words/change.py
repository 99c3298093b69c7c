"""change."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    exclusive,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import OFFLINE
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


def _compare(options: Options) -> Answer:
    start = time.perf_counter()
    settings = read_settings(options, ChangeSettings)
    before, after = (
        open_space(name, options.offline or None) for name in (options.before, options.after)
    )
    trained = 0.0  # fraction of the work that trains the noise baseline
    if options.noise_baseline_seed or options.noise_baseline_bootstrap:
        trained = 0.7
    pair = _open_baseline(options, before, after, part(options.progress, 0.0, trained))
    change, baseline = measure_change_with_baseline(
        before.space, after.space, settings, pair, part(options.progress, trained, 1.0)
    )
    answer = _change_to_json(change, baseline, options.n)
    found = None
    if options.word:
        found = change.word(options.word)
        answer["word"] = {
            "word": found.word,
            "overlap": found.overlap,
            "only_before": _name_columns(("word", "cosine"), found.only_before),
            "both": _name_columns(("word", "before", "after"), found.both),
            "only_after": _name_columns(("word", "cosine"), found.only_after),
        }
    answer["seconds"] = time.perf_counter() - start
    return Answer(answer, _render(change, baseline, options.n, found))


def _open_baseline(
    options: Options, before: OpenedSpace, after: OpenedSpace, progress: Progress
) -> BaselinePair | None:
    """Open or train the two spaces of the noise baseline; None if none was requested."""
    # 1. Two spaces that were given.
    if options.noise_baseline:
        names = options.noise_baseline
        first, second = (open_space(name, options.offline or None).space for name in names)
        return BaselinePair(f"{names[0]} and {names[1]}, as given", first, second)

    # 2. Two spaces to train, from the first of the compared ones that can be trained again.
    if options.noise_baseline_seed:
        how = SEED
    elif options.noise_baseline_bootstrap:
        how = BOOTSTRAP
    else:
        return None
    found = list(filter(None, map(open_vectors_artifact, (before.folder, after.folder))))
    if not found:
        raise InputError(
            "Neither space was trained in this workspace, so none can be trained again.",
            "Give two spaces that differ only in the seed: --noise-baseline X Y.",
        )
    # If the text of the first has changed since, the second is trained again.
    chosen = found[0]
    try:
        rebuild_spec(chosen)
    except InputError:
        chosen = found[-1]
    return train_noise_baseline(chosen, how, progress)


def _change_to_json(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, shown: int
) -> dict[str, Any]:
    rows = change.order[:shown].tolist()
    answer: dict[str, Any] = {
        "k": change.settings.k,
        "among": change.settings.among,
        "without": list(change.settings.without),
        "shared": change.shared,
        "of": list(change.sizes),
        "compared": len(change.words),
        "left_out": change.left_out,
        "mean_overlap": change.mean,
        "chance": change.chance,
        "histogram": change.histogram.tolist(),
        "words": [_word_row_to_json(change, baseline, row) for row in rows],
        "shown": len(rows),
        "null": None,
        "note": _describe_baseline(baseline),
    }
    if baseline is not None:
        answer["null"] = {
            "about": baseline.about,
            "spaces": list(baseline.names),
            "mean_overlap": baseline.mean,
            "histogram": count_by_overlap(baseline.overlap, change.settings.k).tolist(),
            "bands": baseline.bands,
            "quantile": LOW,
            "share_below": baseline.fraction_below,
            "own_share_below": baseline.baseline_fraction_below,
        }
    return answer


def _word_row_to_json(
    change: NeighborhoodChange, baseline: NoiseBaseline | None, row: int
) -> dict[str, Any]:
    # z is null if the standard deviation of the baseline is 0: JSON has no NaN.
    found: dict[str, Any] = {"word": change.words[row], "overlap": float(change.overlap[row])}
    if change.counts is not None:
        found["count"] = int(change.counts[row])
    if baseline is not None:
        z = float(baseline.z[row]) if np.isfinite(baseline.z[row]) else None
        found["null"] = {
            "overlap": float(baseline.overlap[row]),
            "quantile": float(baseline.quantile[row]),
            "z": z,
        }
        found["changed"] = bool(baseline.below[row])
    return found


def _name_columns(
    names: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> list[dict[str, object]]:
    """Return rows as dictionaries."""
    return [dict(zip(names, row, strict=True)) for row in rows]


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

    # 1. The table of words; counts and the columns of the baseline are optional.
    columns: dict[str, list[Any]] = {
        "word": [change.words[row] for row in rows],
        "overlap": change.overlap[rows].tolist(),
    }
    if change.counts is not None:
        columns["count"] = change.counts[rows].tolist()
    if baseline is not None:
        columns["baseline quantile"] = baseline.quantile[rows].tolist()
        columns["z"] = baseline.z[rows].tolist()
        columns["changed"] = baseline.below[rows].tolist()

    # 2. The figures.
    figures: dict[str, Any] = {
        f"mean overlap@{change.settings.k}": change.mean,
        "by chance": change.chance,
    }
    if baseline is not None:
        figures["baseline mean"] = baseline.mean
    figures["words compared"] = (
        f"{len(change.words):,} of {change.shared:,} shared ({change.sizes[0]:,} and"
        f" {change.sizes[1]:,} words)"
    )
    figures |= {f"left out: {reason}": number for reason, number in change.left_out.items()}
    lines = [
        format_table(list(columns), list(zip(*columns.values(), strict=True))),
        "",
        f"{len(rows):,} of {len(change.words):,} words, most changed first.",
        "",
        format_facts(figures),
    ]

    # 3. The neighbors of one word.
    if found is not None:
        lines += [
            f"\n{found.word}: overlap {found.overlap:.3f}",
            _render_neighbors("before only", found.only_before),
            _render_neighbors("both", found.both),
            _render_neighbors("after only", found.only_after),
            "",
        ]
    return "\n".join([*lines, f"{_describe_baseline(baseline)}."])


def _render_neighbors(title: str, listed: Sequence[tuple[Any, ...]]) -> str:
    """Render words with their cosine, or with those before and after."""
    shown = []
    for word, *cosines in listed:
        shown.append(f"{word} " + " → ".join(f"{cosine:.3f}" for cosine in cosines))
    return f"  {title}: {', '.join(shown) or 'none'}"


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
            "--word",
            metavar="WORD",
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
    ),
    description="List the words whose neighbors differ most between two spaces, among the words of"
    " both. The spaces may be two models, a model before and after its adaptation, word vectors of"
    " two texts, or contextual vectors of two layers.",
)
