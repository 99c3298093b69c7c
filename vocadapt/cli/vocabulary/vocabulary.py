"""vocabulary compare, study, reduce, extension."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict, cast

from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    option,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CASING,
    CORPUS,
    CORPUS_SETTINGS,
    CORPUS_SETTINGS_WITHOUT_SEED,
    OFFLINE,
    TEXT,
    WITH_WEIGHTS,
    ArtifactAnswer,
    M,
    build_answer,
    destination_options,
    model_options,
    open_named_model,
    read_lowercase,
    read_texts,
    write_artifact,
)
from vocadapt.cli.tables import format_table
from vocadapt.cli.workspace_options import output_option
from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.lab.steps.adapt import AdaptStep, ModelNumbers
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.presets import EXTENSION, build_reduction, get_preset
from vocadapt.progress import Progress, part
from vocadapt.settings import MAX_SEED, get_settings
from vocadapt.system.files import expand_path
from vocadapt.text.words import WordCounts, describe_held_out
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.families.family import inspect_file
from vocadapt.vocabulary.families.files.vocab_file import Fault, format_faults
from vocadapt.vocabulary.growth.growth import (
    KEEPS,
    RARE,
    SEEDS,
    Reducer,
    measure_extension_curve,
    study,
)
from vocadapt.vocabulary.overlap import (
    Overlap,
    Profile,
    count_lengths,
    list_common_tokens,
    measure_overlap,
    profile,
)
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.reduction import PUBLISHED, REDUCTIONS, ReductionSettings
from vocadapt.vocabulary.vocabulary import POSITIONS

CELL = (
    "heuristic",
    "keep",
    "vocabulary",
    "tokens",
    "growth",
    "growth_in_sample",
)  # of the study; sd follows
LISTED = 20  # unreachable tokens that are named
PRESET = "exbert-s3"  # every preset exbert-s… plans the same tokens


class SingleCharacters(TypedDict):
    """Numbers of tokens of one character, for each vocabulary and in all of them."""

    word_start: list[int]
    continuation: list[int]
    word_start_common: int
    continuation_common: int


class Unreachable(TypedDict):
    """Tokens that the tokenizer never produces: [unusedN] among them, and the first others."""

    tokens: int
    unused: int
    first: list[str]


class CompareAnswer(TypedDict):
    """Figures of each vocabulary, in the order given; `common` and `share` for each pair."""

    models: list[str]
    size: list[int]
    common: list[list[int]]
    share: Annotated[list[list[float]], "common tokens as a fraction of the row's vocabulary"]
    lengths: Annotated[list[dict[str, int]], "number of tokens by their length"]
    lengths_common: dict[str, int]
    positions: list[dict[str, int]]
    single_characters: SingleCharacters
    unreachable: list[Unreachable]
    faults: dict[str, list[Fault]]


class StudyCell(TypedDict):
    """The held-out lines under a smaller vocabulary; sd over seeds, if the heuristic is random."""

    heuristic: str
    keep: float
    vocabulary: int
    tokens: int
    growth: float
    growth_in_sample: Annotated[float, "growth of the lines that the tokens were chosen by"]
    sd: NotRequired[float]


class StudyAnswer(TypedDict):
    """Growth of a text with smaller vocabularies."""

    tokens: int
    held_out_lines: Annotated[
        int, "lines that were measured; no token is chosen by them; 0: all lines"
    ]
    rows: list[StudyCell]
    left_out: NotRequired[dict[str, str]]
    counting_seconds: float
    seconds: float


class ExtensionSize(TypedDict):
    """The held-out lines with the first `size` added tokens."""

    size: int
    tokens: int
    fertility: float
    new_share: float
    seldom: int
    shorter: float
    in_sample: Annotated[int, "wordpieces of the lines that the tokens were chosen by"]
    shorter_in_sample: float


class ExtensionAnswer(TypedDict):
    """How a text is tokenized with more and more added tokens."""

    words: int
    held_out_lines: Annotated[
        int, "lines that were measured; no token is chosen by them; 0: all lines"
    ]
    sizes: list[ExtensionSize]
    note: str
    seconds: float


def _compare(options: Options) -> Answer[CompareAnswer]:
    # 1. Read each vocabulary: a file with its faults; a folder or hub name as a model.
    vocabularies, profiles, faults = [], [], []
    for name in options.models:
        path = expand_path(name)
        if os.path.isfile(path):
            vocabulary, splitter, found = inspect_file(path, read_lowercase(options))
            if found:
                faults.append((name, found))
        else:
            # --casing applies to a bare vocab.txt only: the casing of a model is known.
            opened = open_model(name, options.offline or None)
            vocabulary, splitter = opened.vocabulary, opened.splitter
        vocabularies.append(vocabulary)
        profiles.append(profile(vocabulary, splitter))

    # 2. Compare them.
    overlap = measure_overlap(vocabularies)
    answer: CompareAnswer = {
        "models": options.models,
        "size": list(overlap.sizes),
        "common": list(map(list, overlap.common)),
        "share": list(map(list, overlap.share)),
        "lengths": [_to_json_keys(one.lengths) for one in profiles],
        "lengths_common": _to_json_keys(
            count_lengths(vocabularies[0], list_common_tokens(vocabularies))
        ),
        "positions": [dict(one.positions) for one in profiles],
        "single_characters": {
            "word_start": [len(one.single) for one in profiles],
            "continuation": [len(one.single_more) for one in profiles],
            "word_start_common": len(frozenset.intersection(*(one.single for one in profiles))),
            "continuation_common": len(
                frozenset.intersection(*(one.single_more for one in profiles))
            ),
        },
        "unreachable": [
            {
                "tokens": len(one.unreachable),
                "unused": one.unreachable_unused,
                "first": list(one.unreachable_others[:LISTED]),
            }
            for one in profiles
        ],
        "faults": {name: list(found) for name, found in faults},
    }
    return Answer(
        answer, _render_comparison(options.models, vocabularies, overlap, profiles, faults)
    )


def _to_json_keys(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(length): count for length, count in counts.items()}


def _render_comparison(
    names: Sequence[str],
    vocabularies: Sequence[Vocabulary],
    overlap: Overlap,
    profiles: Sequence[Profile],
    faults: Sequence[tuple[str, tuple[Fault, ...]]],
) -> str:
    """Render the comparison: overlap, figures of each vocabulary, faults."""
    shares, figures = [], []
    for i, (name, seen) in enumerate(zip(names, profiles, strict=True)):
        cells = [
            f"{count:,} ({share:.1%})"
            for count, share in zip(overlap.common[i], overlap.share[i], strict=True)
        ]
        shares.append((f"{i + 1} {name}", *cells))
        positions = [seen.positions[place] for place in POSITIONS]
        single, unreachable = len(seen.single), len(seen.unreachable)
        figures.append((name, len(vocabularies[i]), *positions, single, unreachable))
    header = ("vocabulary", "tokens", *POSITIONS, "single characters", "unreachable")
    parts = [
        "Tokens in common, and their fraction of the row's vocabulary:\n"
        + format_table(("", *map(str, range(1, len(names) + 1))), shares),
        format_table(header, figures),
    ]
    parts += [
        f"{name}: {format_faults(found)}. A model with it is refused." for name, found in faults
    ]
    return "\n\n".join(parts)


def _count_words(options: Options, opened: LanguageModel, progress: Progress) -> WordCounts:
    """Count the words of --corpus, or load their counts from --workspace."""
    root = Workspace(Path(options.workspace)).root if options.workspace else None
    return load_or_count_words(root, read_texts(options, options.corpus), opened.splitter, progress)


def _study(options: Options) -> Answer[StudyAnswer]:
    import pyarrow.compute  # noqa: F401 - so that the time below does not include the import

    # 1. Count the words once, and compute every cell of the study from the counts.
    opened = open_named_model(options)
    start = time.perf_counter()
    counts = _count_words(options, opened, part(options.progress, 0, 0.8))
    counted = time.perf_counter()
    found = study(
        Reducer(opened.vocabulary, counts.in_sample, counts.held_out),
        options.heuristics,
        options.keep,
        options.seeds,
        options.count_marks,
        part(options.progress, 0.8, 1),
    )

    # 2. The cells as JSON and as text; only random heuristics have a standard deviation.
    cells, rows, unknown = [], [], []
    for one in found.rows:
        cell = {name: getattr(one, name) for name in CELL}
        deviation = ""
        if one.sd is not None:
            cell["sd"] = one.sd
            deviation = f"{one.sd:.2%}"
        cells.append(cell)
        rows.append(
            (
                one.heuristic,
                one.keep,
                one.vocabulary,
                one.tokens,
                f"{one.growth:+.2%}",
                deviation,
                f"{one.growth_in_sample:+.2%}",
            )
        )
        if one.unknown:
            unknown.append(
                f"{one.unknown:,} words become unknown under {one.heuristic}, {one.keep:g}."
            )
    answer = {
        "tokens": found.tokens,
        "held_out_lines": counts.held_out_lines,
        "rows": cells,
    }
    if found.left_out:
        answer["left_out"] = {f"{keep:g}": why for keep, why in found.left_out.items()}
    answer["counting_seconds"] = counted - start
    answer["seconds"] = time.perf_counter() - counted
    # 3. The definitions of the figures, and what could not be measured.
    marks = "with" if options.count_marks else "without"
    header = ("heuristic", "keep", "vocabulary", "wordpieces", "growth", "sd", "in sample")
    parts = [
        f"{found.tokens:,} wordpieces with the whole vocabulary, special tokens not counted."
        f" {describe_held_out(counts.held_out_lines, counts.lines)} In sample: the growth of the"
        " lines that the tokens were chosen by.",
        format_table(header, rows),
        f"Fractions are of the whole vocabulary; lengths {marks} the marks of continuations;"
        " special tokens and those shorter than four characters are kept; ties are removed by"
        f" falling id; random: mean over the seeds {', '.join(map(str, options.seeds))}.",
        *unknown,
        *(f"Left out: {why}" for why in found.left_out.values()),
    ]
    return Answer(cast(StudyAnswer, answer), "\n\n".join(parts))


def _reduce(options: Options) -> Answer[ArtifactAnswer[ModelNumbers]]:
    recipe = build_reduction(read_settings(options, ReductionSettings))
    settings = read_settings(options, AdaptStep, AdaptStep(recipe))
    inputs = {"model": options.model, "text": options.corpus}
    return build_answer(write_artifact(Spec(settings, inputs, options.offline), options))


def _compare_sizes(options: Options) -> Answer[ExtensionAnswer]:
    start, largest = time.perf_counter(), max(options.sizes, default=EXTENSION)
    opened = open_named_model(options)
    counts = _count_words(options, opened, part(options.progress, 0, 0.4))
    # One plan is enough: a smaller extension consists of the first tokens of a larger one.
    recipe = get_preset(PRESET)
    recipe = replace(recipe, vocabulary=replace(recipe.vocabulary, max_added=largest))
    sources = Sources(counts=counts.in_sample)
    plan = plan_adaptation(recipe, opened, sources, progress=part(options.progress, 0.4, 0.8))
    # A text may yield fewer tokens than requested; the note of the plan reports that.
    sizes = [min(size, len(plan.added)) for size in options.sizes]
    found = measure_extension_curve(
        plan, counts.in_sample, sizes, part(options.progress, 0.8, 1), counts.held_out
    )
    rows = []
    for at in found.sizes:
        rows.append(
            (
                at.size,
                at.tokens,
                at.fertility,
                f"{found.shorter(at):.2%}",
                f"{found.shorter_in_sample(at):.2%}",
                f"{at.new_share:.2%}",
                at.seldom,
            )
        )
    header = (
        "tokens added",
        "wordpieces",
        "per word",
        "text shorter by",
        "in sample",
        "added tokens",
        f"under {RARE} times",
    )
    note = plan.note or ""
    answer = {
        **found.to_dict(),
        "held_out_lines": counts.held_out_lines,
        "note": note,
        "seconds": time.perf_counter() - start,
    }
    measured = describe_held_out(counts.held_out_lines, counts.lines)
    text = "\n\n".join(filter(None, [format_table(header, rows), measured, note]))
    return Answer(cast(ExtensionAnswer, answer), text)


COMPARE = Command(
    _compare,
    (
        option("models", nargs="+", metavar="M", help=f"{M}; invalid ones are analyzed, too"),
        CASING,
        OFFLINE,
    ),
)
COUNTS_WORKSPACE = output_option(
    "--workspace",
    metavar="W",
    help="workspace that stores word counts for reuse",
)
STUDY = Command(
    _study,
    (
        *model_options(),
        CASING,
        CORPUS,
        option(
            "--heuristics",
            nargs="+",
            choices=REDUCTIONS,
            default=list(PUBLISHED),
            metavar="NAME",
            help=f"heuristics to compare: {', '.join(REDUCTIONS)} (default: the published ones,"
            " without cost)",
        ),
        setting_options(
            ReductionSettings,
            "keep",
            nargs="+",
            default=list(KEEPS),
            help="fractions of the vocabulary to keep, 0 to 1",
        ),
        option(
            "--seeds",
            nargs="+",
            between=(0, MAX_SEED),
            default=list(SEEDS),
            metavar="SEED",
            help="random seeds of the heuristic random (default 1 2 3)",
        ),
        setting_options(ReductionSettings, "count_marks", default=False),
        COUNTS_WORKSPACE,
        CORPUS_SETTINGS_WITHOUT_SEED,
    ),
)
REDUCE = Command(
    _reduce,
    (
        *model_options(help=WITH_WEIGHTS),
        setting_options(ReductionSettings, except_=("keep",)),
        setting_options(
            ReductionSettings,
            "keep",
            required=True,
            help="fraction of the vocabulary to keep, above 0 and up to 1",
        ),
        option("--corpus", metavar="TEXT", nargs="+", help=f"text to count tokens in: {TEXT}"),
        setting_options(AdaptStep, "certify"),
        CORPUS_SETTINGS_WITHOUT_SEED,
        *destination_options(),
    ),
)
EXTENSION_CURVE = Command(
    _compare_sizes,
    (
        *model_options(),
        CASING,
        CORPUS,
        option(
            "--sizes",
            between=(1, int(get_settings(PlanSettings)["max_added"].high)),
            nargs="+",
            default=[],
            metavar="N",
            help=f"numbers of added tokens (default: {EXTENSION:,}, the published number, and"
            " repeated halves)",
        ),
        COUNTS_WORKSPACE,
        CORPUS_SETTINGS,
    ),
    description="Compare extension sizes: how the first N tokens that adapt --preset exbert-s… would"
    " add change the tokenization of a text.",
)
