"""vocabulary compare, study, reduce."""

import os
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    TEXT,
    M,
    add_casing,
    add_model,
    add_offline,
    add_out,
    add_text,
    build_answer,
    corpus_settings,
    read_lowercase,
    write,
)
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import (
    add_setting,
    add_settings,
    number_of,
    read_settings,
)
from vocadapt.cli.tables import format_table
from vocadapt.files import expand_path
from vocadapt.lab.artifacts.corpora import load_or_count_words, read_corpus
from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.presets import build_reduction
from vocadapt.progress import Progress, part
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.families.family import inspect_file
from vocadapt.vocabulary.families.vocab_file import Fault, format_faults
from vocadapt.vocabulary.families.vocabulary import POSITIONS
from vocadapt.vocabulary.growth.growth import KEEPS, SEEDS, Growth, Reducer, Study, study
from vocadapt.vocabulary.overlap import (
    Overlap,
    Profile,
    count_lengths,
    list_common_tokens,
    measure_overlap,
    profile,
)
from vocadapt.vocabulary.plan.reduction import PUBLISHED, REDUCTIONS, ReductionSettings

MARKS = "count the mark of a continuation as part of a token's length (Fast 2023, section 3.3.3)"
LISTED = 20  # unreachable tokens that are named


@dataclass(frozen=True, eq=False)
class Compared:
    """A vocabulary to be compared, what makes its words, and what is wrong with its lines."""

    name: str
    vocabulary: Vocabulary
    splitter: Splitter
    faults: tuple[Fault, ...] = ()


def _add_compare_options(parser: Parser) -> None:
    parser.add_argument(
        "models", nargs="+", metavar="M", help=f"{M}; invalid ones are analyzed, too"
    )
    add_casing(parser)
    add_offline(parser)


def _compare(options: Namespace, progress: Progress) -> Answer:
    compared = [_read_vocabulary(name, options) for name in options.models]
    vocabularies = [one.vocabulary for one in compared]
    found, profiles = (
        measure_overlap(vocabularies),
        [profile(one.vocabulary, one.splitter) for one in compared],
    )
    common = count_lengths(vocabularies[0], list_common_tokens(vocabularies))
    answer = {
        "models": [one.name for one in compared],
        "size": list(found.sizes),
        "common": found.common,
        "share": found.share,
        "lengths": [_to_json_keys(one.lengths) for one in profiles],
        "lengths_common": _to_json_keys(common),
        "positions": [one.positions for one in profiles],
        "single_characters": _count_single_characters(profiles),
        "unreachable": [_count_unreachable(one) for one in profiles],
        "faults": {
            one.name: [{"line": f.line, "problem": f.problem} for f in one.faults]
            for one in compared
            if one.faults
        },
    }
    return Answer(answer, _render_comparison(compared, found, profiles))


def _read_vocabulary(name: str, options: Namespace) -> Compared:
    """A file is read as it is, faults and all; a folder or hub name as a model."""
    path = expand_path(name)
    if not os.path.isfile(path):
        model = open_model(name, options.offline or None)
        return Compared(name, model.vocabulary, model.splitter)
    return Compared(name, *inspect_file(path, read_lowercase(options)))


def _count_single_characters(profiles: Sequence[Profile]) -> dict[str, Any]:
    """Single characters of each vocabulary, at the beginning and inside of a word, and those that
    all know.
    """
    return {
        "word_start": [len(one.single) for one in profiles],
        "continuation": [len(one.single_more) for one in profiles],
        "word_start_common": len(frozenset.intersection(*(one.single for one in profiles))),
        "continuation_common": len(frozenset.intersection(*(one.single_more for one in profiles))),
    }


def _count_unreachable(found: Profile) -> dict[str, Any]:
    """Count the unreachable tokens and their placeholders, and list the first of the others."""
    return {
        "tokens": len(found.unreachable),
        "unused": found.unreachable_unused,
        "first": found.unreachable_others[:LISTED],
    }


def _to_json_keys(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(length): count for length, count in counts.items()}


def _render_comparison(
    compared: Sequence[Compared], found: Overlap, profiles: Sequence[Profile]
) -> str:
    """Render the comparison: overlap, figures of each vocabulary, faults."""
    numbers = [str(i) for i in range(1, len(compared) + 1)]
    shares = [
        (
            f"{number} {one.name}",
            *(f"{count:,} ({share:.1%})" for count, share in zip(counts, row, strict=True)),
        )
        for number, one, counts, row in zip(
            numbers, compared, found.common, found.share, strict=True
        )
    ]
    figures = [
        (
            one.name,
            len(one.vocabulary),
            *(seen.positions[place] for place in POSITIONS),
            len(seen.single),
            len(seen.unreachable),
        )
        for one, seen in zip(compared, profiles, strict=True)
    ]
    header = ("vocabulary", "tokens", *POSITIONS, "single characters", "unreachable")
    faults = [
        f"{one.name}: {format_faults(one.faults)}. No model is made with it."
        for one in compared
        if one.faults
    ]
    head = "Tokens in common, and their fraction of the row's vocabulary:"
    return "\n\n".join(
        [head + "\n" + format_table(("", *numbers), shares), format_table(header, figures), *faults]
    )


def _add_study_options(parser: Parser) -> None:
    add_model(parser)
    add_casing(parser)
    parser.add_argument("--corpus", metavar="TEXT", nargs="+", required=True, help=TEXT)
    names = ", ".join(REDUCTIONS)
    parser.add_argument(
        "--heuristics",
        nargs="+",
        choices=list(REDUCTIONS),
        default=list(PUBLISHED),
        metavar="NAME",
        help=f"heuristics to compare: {names} (default: the published ones, without cost)",
    )
    add_setting(
        parser,
        ReductionSettings,
        "keep",
        nargs="+",
        default=list(KEEPS),
        help="fractions of the vocabulary to keep, 0 to 1",
    )
    parser.add_argument(
        "--seeds",
        nargs="+",
        type=number_of(ReductionSettings, "seed"),
        default=list(SEEDS),
        metavar="SEED",
        help="random seeds of the heuristic random (default 1 2 3)",
    )
    add_setting(parser, ReductionSettings, "count_marks", default=False)
    parser.add_argument(
        "--workspace",
        metavar="W",
        help="workspace that stores word counts for reuse",
    )
    add_text(parser, own_seed=False)


def _study(options: Namespace, progress: Progress) -> Answer:
    import pyarrow.compute  # noqa: F401 - the seconds below are without imports

    model = open_model(options.model, options.offline or None, read_lowercase(options))
    vocabulary, splitter = model.vocabulary, model.splitter
    start = time.perf_counter()
    root = Workspace(Path(options.workspace)).root if options.workspace else None
    counts = load_or_count_words(
        root,
        read_corpus(options.corpus, corpus_settings(options)),
        splitter,
        part(progress, 0, 0.8),
    ).counts
    counted = time.perf_counter()
    reducer = Reducer(vocabulary, counts)
    found = study(
        reducer,
        options.heuristics,
        options.keep,
        options.seeds,
        options.count_marks,
        part(progress, 0.8, 1),
    )
    answer = {
        "tokens": found.tokens,
        "rows": [_growth_to_json(row) for row in found.rows],
        **(
            {"left_out": {f"{keep:g}": why for keep, why in found.left_out.items()}}
            if found.left_out
            else {}
        ),
        "counting_seconds": counted - start,
        "seconds": time.perf_counter() - counted,
    }
    return Answer(answer, _render_study(found, options))


def _growth_to_json(row: Growth) -> dict[str, Any]:
    """Convert a cell of the study to JSON; sd only if there is one."""
    named = (
        "heuristic",
        "keep",
        "vocabulary",
        "tokens",
        "growth",
        *(("sd",) if row.sd is not None else ()),
    )
    return {name: getattr(row, name) for name in named}


def _render_study(found: Study, options: Namespace) -> str:
    """Render the study as text."""
    rows = [
        (
            row.heuristic,
            row.keep,
            row.vocabulary,
            row.tokens,
            f"{row.growth:+.2%}",
            "" if row.sd is None else f"{row.sd:.2%}",
        )
        for row in found.rows
    ]
    marks = "with" if options.count_marks else "without"
    lines = [
        f"{found.tokens:,} wordpieces with the whole vocabulary, special tokens not counted.",
        format_table(("heuristic", "keep", "vocabulary", "wordpieces", "growth", "sd"), rows),
        (
            f"Fractions are of the whole vocabulary; lengths {marks} the marks of continuations;"
            " special tokens and those shorter than four characters are kept; of ties the higher id is removed first; random over"
            f" the seeds {', '.join(map(str, options.seeds))}."
        ),
    ]
    unknown = [
        f"{row.unknown:,} words become unknown under {row.heuristic}, {row.keep:g}."
        for row in found.rows
        if row.unknown
    ]
    return "\n\n".join([*lines, *unknown, *(f"Left out: {why}" for why in found.left_out.values())])


def _add_reduce_options(parser: Parser) -> None:
    add_model(parser, help="hub name or model folder")
    add_settings(parser, ReductionSettings, except_=("keep",))
    add_setting(
        parser,
        ReductionSettings,
        "keep",
        required=True,
        help="fraction of the vocabulary to keep, above 0 and up to 1",
    )
    parser.add_argument(
        "--corpus", metavar="TEXT", nargs="+", help=f"text to count tokens in: {TEXT}"
    )
    add_settings(parser, ModelStep, "certify")
    add_text(parser, own_seed=False)
    add_out(parser)


def _reduce(options: Namespace, progress: Progress) -> Answer:
    recipe = build_reduction(read_settings(options, ReductionSettings))
    inputs = {"model": options.model, **({"text": options.corpus} if options.corpus else {})}
    spec = Spec(
        "model",
        read_settings(options, ModelStep, ModelStep(recipe)),
        inputs,
        options.offline,
    )
    artifact = write(spec, options, progress)
    return build_answer(
        artifact, exit=1 if artifact.manifest.numbers.get("certificate") is False else 0
    )


COMPARE = Command(_add_compare_options, _compare)
STUDY = Command(_add_study_options, _study)
REDUCE = Command(_add_reduce_options, _reduce)
