"""vectors evaluate."""

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.parser import Parser
from vocadapt.cli.tables import format_table
from vocadapt.progress import Progress
from vocadapt.spaces.diagnostics.evaluation import detect_casing, score_analogies, score_pairs
from vocadapt.spaces.diagnostics.word_lists import (
    AnalogySection,
    PairList,
    load_bundled_analogies,
    load_bundled_pairs,
    read_analogies,
    read_pairs,
)
from vocadapt.spaces.io.storage import load_space
from vocadapt.text.splitter import Splitter

BUNDLED = "bundled"


def _add_options(parser: Parser) -> None:
    parser.add_argument(
        "vectors", metavar="DIR", help="word vectors, as vectors train or import wrote them"
    )
    parser.add_argument(
        "--pairs",
        nargs="+",
        metavar="FILE",
        help="word pairs with scores (default: WordSim-353, SimLex-999)",
    )
    parser.add_argument(
        "--analogies",
        nargs="?",
        const=BUNDLED,
        metavar="FILE",
        help="file of analogy questions (without FILE: Google's)",
    )


def _evaluate(options: Namespace, progress: Progress) -> Answer:
    space = load_space(Path(options.vectors))
    splitter = detect_casing(space)
    lists = (
        _read_lists(options.pairs)
        if options.pairs
        else {pairs.name: pairs for pairs in load_bundled_pairs()}
    )
    pairs = {name: asdict(score_pairs(space, pairs, splitter)) for name, pairs in lists.items()}
    analogies = None
    if options.analogies:
        scored = score_analogies(space, _read_questions(options.analogies), splitter, progress)
        analogies = {name: asdict(score) for name, score in scored.items()}
    return Answer({"pairs": pairs, "analogies": analogies}, _render(pairs, analogies, splitter))


def _read_lists(files: list[str]) -> dict[str, PairList]:
    """Read the lists of word pairs, by file name, or by path if two names are equal."""
    stems = [Path(file).stem for file in files]
    return {
        file if stems.count(stem) > 1 else stem: read_pairs(Path(file))
        for file, stem in zip(files, stems, strict=True)
    }


def _read_questions(file: str) -> tuple[AnalogySection, ...]:
    return load_bundled_analogies() if file == BUNDLED else read_analogies(Path(file))


def _render(
    pairs: dict[str, Any], analogies: dict[str, Any] | None, splitter: Splitter | None
) -> str:
    rows = [
        (name, score["spearman"], score["covered"], score["of"]) for name, score in pairs.items()
    ]
    parts = [format_table(("pairs", "Spearman", "covered", "of"), rows)]
    if analogies is not None:
        rows = [
            (name, score["accuracy"], score["covered"], score["of"])
            for name, score in analogies.items()
        ]
        parts.append(format_table(("analogies", "right", "covered", "of"), rows))
    spelled = (
        "as they are spelled" if splitter is None else "in lower case, as the vectors have them"
    )
    return "\n\n".join([*parts, f"Words were looked up {spelled}."])


EVALUATE = Command(_add_options, _evaluate)
