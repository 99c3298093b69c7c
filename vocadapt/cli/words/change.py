"""change."""

import time
from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict, cast

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
from vocadapt.cli.options import (
    OFFLINE,
    choose_destination,
    describe_place,
    destination_options,
    write_artifact,
)
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.steps.change import (
    ChangeStep,
    Compared,
    Comparison,
    compare_spaces,
    load_comparison,
)
from vocadapt.lab.steps.noise_baselines import BOOTSTRAP, SEED
from vocadapt.lab.steps.step import Spec
from vocadapt.settings import MAX_COUNT
from vocadapt.spaces.neighbors.change import (
    ChangeSettings,
    NeighborhoodChange,
    WordChange,
    count_by_overlap,
)
from vocadapt.spaces.neighbors.noise_baseline import LOW, NoiseBaseline, explain_missing_baseline

SHOWN = 30


class NoiseOfWord(TypedDict):
    """Overlap of a word in the noise baseline, its quantile in it, and z."""

    overlap: float
    quantile: float
    z: float | None


class ChangedWord(TypedDict):
    """A word with the fraction of its neighbors that both spaces have."""

    word: str
    overlap: float
    count: NotRequired[int]
    null: NotRequired[NoiseOfWord]
    changed: NotRequired[bool]


class NoiseAnswer(TypedDict):
    """The noise baseline: how much two runs that differ only in chance differ."""

    about: str
    spaces: list[str]
    mean_overlap: float
    histogram: list[int]
    bands: int
    quantile: float
    share_below: float
    own_share_below: float


class NeighborIn(TypedDict):
    """A neighbor in one space."""

    word: str
    cosine: float


class NeighborInBoth(TypedDict):
    """A neighbor in both spaces, with its two cosines."""

    word: str
    before: float
    after: float


class WordNeighbors(TypedDict):
    """The neighbors of one word."""

    word: str
    overlap: float
    only_before: list[NeighborIn]
    both: list[NeighborInBoth]
    only_after: list[NeighborIn]


class ChangeAnswer(TypedDict):
    """The comparison of two spaces, most changed words first."""

    k: int
    among: str
    without: list[str]
    shared: int
    of: list[int]
    compared: int
    left_out: dict[str, int]
    mean_overlap: float
    chance: float
    histogram: Annotated[list[int], "number of words by number of common neighbors, 0 to k"]
    words: list[ChangedWord]
    shown: int
    null: NoiseAnswer | None
    note: str
    word: NotRequired[WordNeighbors]
    seconds: float
    out: NotRequired[str]
    manifest: NotRequired[str]
    training_seconds: NotRequired[float]


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
        found = _compare_now(spec, options)
    else:
        artifact = write_artifact(spec, options)
        found, place = load_comparison(artifact.folder), dict(describe_place(artifact))
    change, baseline = found.change, found.baseline
    # 2. The most changed words, and the neighbors of one word.
    answer = _change_to_json(change, baseline, options.n)
    word = None
    if options.word:
        word = change.word(options.word)
        answer["word"] = {
            "word": word.word,
            "overlap": word.overlap,
            "only_before": _name_columns(("word", "cosine"), word.only_before),
            "both": _name_columns(("word", "before", "after"), word.both),
            "only_after": _name_columns(("word", "cosine"), word.only_after),
        }
    text = _render(change, baseline, options.n, word)
    if place:
        text = f"{text}\n\n{format_facts(place)}"
    answer |= {"seconds": time.perf_counter() - start, **place}
    return Answer(cast(ChangeAnswer, answer), text)


def _build_spec(options: Options) -> Spec:
    """Build the step from the options: spaces, settings, and which noise baseline is trained."""
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


def _compare_now(spec: Spec, options: Options) -> Comparison:
    """Compare the spaces of a step without writing an artifact."""
    offline = options.offline or None
    opened = {
        role: [open_space(name, offline) for name in spec.inputs[role]] for role in spec.inputs
    }
    counted = None
    if "counts" in opened:
        counted = opened["counts"][0].space
    noise = tuple(one.space for one in opened.get("noise", ()))
    spaces = Compared(opened["before"][0], opened["after"][0], noise, counted)
    return compare_spaces(spaces, spec.settings, options.progress)


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
        "note": _describe_baseline(change, baseline),
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


def _describe_baseline(change: NeighborhoodChange, baseline: NoiseBaseline | None) -> str:
    if baseline is None:
        return explain_missing_baseline(change)
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
    return "\n".join([*lines, f"{_describe_baseline(change, baseline)}."])


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
            "--counts",
            metavar="V",
            help="word vectors whose word counts are used, for spaces without counts such as models",
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
        *destination_options(),
    ),
    description="List the words whose neighbors differ most between two spaces, among the words of"
    " both. The spaces may be two models, a model before and after its adaptation, word vectors of"
    " two texts, or contextual vectors of two layers.",
)
