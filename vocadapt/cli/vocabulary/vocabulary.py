"""vocabulary compare, study, reduce, extension."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
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
from vocadapt.cli.workspace_options import output_option
from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.lab.steps.adapt import AdaptStep, ModelNumbers
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.presets import EXTENSION as PUBLISHED_SIZE
from vocadapt.presets import build_reduction, get_preset
from vocadapt.progress import Progress, part
from vocadapt.report.table import Table
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import MAX_SEED, get_settings
from vocadapt.system.files import expand_path
from vocadapt.text.words import WordCounts, describe_held_out
from vocadapt.vocabulary.families.files.vocab_file import Fault, format_faults
from vocadapt.vocabulary.families.reading import inspect_file
from vocadapt.vocabulary.growth.growth import (
    EXTENSION_SIZES,
    KEEPS,
    SEEDS,
    ExtensionSize,
    Reducer,
    Study,
    measure_extension_curve,
    study,
)
from vocadapt.vocabulary.overlap import VocabularyComparison, compare_vocabularies, profile
from vocadapt.vocabulary.plan.plan import PlanSettings
from vocadapt.vocabulary.plan.reduction import PUBLISHED, REDUCTIONS, ReductionSettings

PRESET = "exbert-s3"  # every preset exbert-s… plans the same tokens


@dataclass(frozen=True, kw_only=True)
class CompareAnswer(VocabularyComparison):
    """Figures of each vocabulary, what they have in common, and the faults of files."""

    faults: Mapping[str, tuple[Fault, ...]]


HeldOutLines = Annotated[int, "lines that were measured; no token is chosen by them; 0: all lines"]


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyAnswer(Study):
    """Growth of a text with smaller vocabularies."""

    held_out_lines: HeldOutLines
    counting_seconds: float
    seconds: float


@dataclass(frozen=True)
class ExtensionAnswer:
    """How a text is tokenized with more and more added tokens."""

    words: int
    sizes: tuple[ExtensionSize, ...]
    held_out_lines: HeldOutLines
    note: str
    seconds: float


def _compare(options: Options) -> Answer[CompareAnswer]:
    # 1. Read each vocabulary: a file with its faults; a folder or hub name as a model.
    vocabularies = []
    profiles = []
    faults = dict[str, tuple[Fault, ...]]()
    for name in options.models:
        path = expand_path(name)
        if os.path.isfile(path):
            vocabulary, splitter, found = inspect_file(path, read_lowercase(options))
            if found:
                faults[name] = found
        else:
            # --casing applies to a bare vocab.txt only: the casing of a model is known.
            opened = open_model(name, options.offline or None)
            vocabulary, splitter = opened.vocabulary, opened.splitter
        vocabularies.append(vocabulary)
        profiles.append(profile(vocabulary, splitter))

    # 2. Compare them.
    compared = compare_vocabularies(options.models, vocabularies, profiles)
    tables = (compared.build_overlap_table(), compared.build_figures_table())
    parts = [write_terminal(table) for table in tables]
    parts += [
        f"{name}: {format_faults(found)}. A model with it is refused."
        for name, found in faults.items()
    ]
    return Answer(CompareAnswer(**vars(compared), faults=faults), "\n\n".join(parts))


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

    answer = StudyAnswer(
        **vars(found),
        held_out_lines=counts.held_out_lines,
        counting_seconds=counted - start,
        seconds=time.perf_counter() - counted,
    )

    # 2. The definitions of the figures.
    marks = "with" if options.count_marks else "without"
    table = found.build_table(
        describe_held_out(counts.held_out_lines, counts.lines),
        f"Fractions are of the whole vocabulary; lengths {marks} the marks of continuations;"
        " special tokens and those shorter than four characters are kept; ties are removed by"
        f" falling id; random: mean over the seeds {', '.join(map(str, options.seeds))}.",
    )
    return Answer(answer, write_terminal(table))


def _reduce(options: Options) -> Answer[ArtifactAnswer[ModelNumbers]]:
    recipe = build_reduction(read_settings(options, ReductionSettings))
    settings = read_settings(options, AdaptStep, AdaptStep(recipe))
    inputs = {"model": options.model, "text": options.corpus}
    return build_answer(write_artifact(Spec(settings, inputs, options.offline), options))


def _compare_sizes(options: Options) -> Answer[ExtensionAnswer]:
    start = time.perf_counter()
    largest = max(options.sizes, default=PUBLISHED_SIZE)
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
    note = plan.note or ""
    answer = ExtensionAnswer(
        found.words, found.sizes, counts.held_out_lines, note, time.perf_counter() - start
    )
    measured = describe_held_out(counts.held_out_lines, counts.lines)
    notes = tuple(filter(None, (measured, note)))
    return Answer(answer, write_terminal(Table("", EXTENSION_SIZES, found.sizes, notes)))


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
EXTENSION = Command(
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
            help=f"numbers of added tokens (default: {PUBLISHED_SIZE:,}, the published number, and"
            " repeated halves)",
        ),
        COUNTS_WORKSPACE,
        CORPUS_SETTINGS,
    ),
    description="Compare extension sizes: how the first N tokens that adapt --preset exbert-s… would"
    " add change the tokenization of a text.",
)
