"""align, neighbors."""

import time
from argparse import Namespace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import add_model, add_out, choose_destination, write
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_table
from vocadapt.lab.steps.alignment import (
    AlignmentStep,
    cross_validate_alignments,
    load_evaluation,
    tabulate_alignments,
)
from vocadapt.lab.steps.spec import Spec
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.progress import Progress
from vocadapt.spaces.alignment.alignment import (
    AlignmentSettings,
    fit_alignment,
)
from vocadapt.spaces.alignment.cross_validation import find_infeasible_methods
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.cross_space import (
    CrossSpace,
    FourLists,
    Listed,
    ListSettings,
    find_shared_neighbors,
    resolve_word,
)
from vocadapt.spaces.space import EmbeddingSpace

TITLES = {
    "within_words": "within words",
    "within_pieces": "within wordpieces",
    "to_pieces": "to wordpieces",
    "to_words": "to words",
}
ROWS = "hub name or model folder"


def _add_space_options(parser: Parser) -> None:
    parser.add_argument(
        "--vectors",
        metavar="DIR",
        required=True,
        help="word vectors, as vectors train or import wrote them",
    )
    add_model(parser, help=ROWS)


def _add_align_options(parser: Parser) -> None:
    _add_space_options(parser)
    add_settings(parser, AlignmentStep)
    add_out(parser, "--save")


def _align(options: Namespace, progress: Progress) -> Answer:
    start = time.perf_counter()
    step = read_settings(options, AlignmentStep)
    written: dict[str, Any] = {}
    if choose_destination(options, "alignments") is None:
        maps = tabulate_alignments(
            cross_validate_alignments(step, *_open_spaces(options), progress)
        )
    else:
        inputs = {"vectors": options.vectors, "model": options.model}
        artifact = write(Spec("alignment", step, inputs, options.offline), options, progress)
        maps = list(load_evaluation(artifact.folder).maps)
        written = {"out": str(artifact.folder), "manifest": str(artifact.folder / "manifest.json")}
    seconds = time.perf_counter() - start
    answer = {key: maps[0][key] for key in ("method", "anchors", "held_out", "settings")}
    skipped: dict[str, str] = {}
    if options.all:
        space, model = _open_spaces(options)
        skipped = find_infeasible_methods(space, model.word_space, maps[0]["anchors"], step.folds)
    more = {"maps": maps, "left_out": skipped} if options.all else {}
    return Answer(
        {**answer, **more, **written, "seconds": seconds}, _render_scores(maps, skipped, written)
    )


def _open_spaces(options: Namespace) -> tuple[EmbeddingSpace, LanguageModel]:
    """Load the word vectors and the model named by the options."""
    model = open_model(options.model, options.offline or None)
    return load_space(Path(options.vectors)), model


def _render_scores(
    maps: list[dict[str, Any]], skipped: dict[str, str], written: dict[str, Any]
) -> str:
    """Format the scores of each alignment, one row each.

    Scores are among all anchors and, under "all: …", among all wordpieces, with n and chance.
    """
    among = ("P@5", "P@5 CSLS", "chance@5", "of")
    header = (
        "map",
        "anchors",
        "cosine",
        "P@1",
        "P@5",
        "P@10",
        "P@5 CSLS",
        "chance@5",
        *(f"all: {name}" for name in among),
    )
    rows = []
    for found in maps:
        held, pieces = found["held_out"], found["held_out"]["all_pieces"]
        scores = (
            *(held[name] for name in ("cosine", "p@1", "p@5", "p@10")),
            held["csls"]["p@5"],
            held["chance@5"],
        )
        wide = (
            pieces["p@5"],
            held["csls"]["all_pieces"]["p@5"],
            pieces["chance@5"],
            pieces["candidates"],
        )
        rows.append((_name_alignment(found), found["anchors"], *scores, *wide, held["verdict"]))
    chosen = maps[0]["held_out"]
    lines = [format_table((*header, "verdict"), rows), ""]
    lines += [f"Held out: means over {chosen['folds']} folds of anchors the map was not fitted on."]
    lines += [
        _describe_best(found, len(maps))
        for found in maps
        if found["best"] and found["against_first"]
    ]
    lines += [f"Not in the table: {method} ({why})." for method, why in skipped.items()]
    if chosen["verdict"] == "chance":
        lines.append(
            "Chance: there is too little text, or text of another language, for a map that"
            " generalizes."
        )
    return "\n".join([*lines, *(f"{key}: {value}" for key, value in written.items())])


def _describe_best(found: dict[str, Any], among: int) -> str:
    """Describe the best alignment and its paired test against the first."""
    against = found["against_first"]
    gain = (
        f"{against['difference']:+.3g} over the first, ahead in {against['won']} of"
        f" {against['folds']} folds"
    )
    picked = f"picked among {among} maps on the same folds, so p is optimistic"
    return (
        f"Best on these words by P@5 CSLS: {_name_alignment(found)} ({gain}, p = {against['p']:.2g};"
        f" {picked})."
    )


def _name_alignment(found: dict[str, Any]) -> str:
    return " ".join(
        [found["method"], *(name for name in ("unit", "center") if found["settings"][name])]
    )


def _add_neighbors_options(parser: Parser) -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="words to look up")
    _add_space_options(parser)
    add_settings(parser, AlignmentSettings)
    add_settings(parser, ListSettings)


def _list_neighbors(options: Namespace, progress: Progress) -> Answer:
    space, model = _open_spaces(options)
    progress(0.1, "fitting the map")
    alignment = fit_alignment(space, model.word_space, read_settings(options, AlignmentSettings))
    forms = {
        typed: resolve_word(typed, model.splitter, space, model.word_space)
        for typed in options.words
    }
    settings = read_settings(options, ListSettings)
    spaces = CrossSpace(space, model.word_space, alignment)
    found = {typed: spaces.lists(form, settings) for typed, form in forms.items()}
    shown = [
        _render_lists(typed if typed == form else f"{typed}: {form}", found[typed])
        for typed, form in forms.items()
    ]
    return Answer(
        found, "\n\n".join([*shown, f"Scores: {settings.measure}. *: in more than one list."])
    )


def _render_lists(word: str, lists: FourLists) -> str:
    """Format the four lists of a word side by side; a star marks words of several lists."""
    marked = find_shared_neighbors(lists)
    columns = [_render_column(listed, marked) for listed in (lists[key] for key in TITLES)]  # type: ignore[literal-required]
    return f"{word}\n" + format_table(
        list(TITLES.values()), list(zip_longest(*columns, fillvalue=""))
    )


def _render_column(listed: Listed | None, marked: frozenset[str]) -> list[str]:
    if listed is None:
        return ["not there"]
    return [f"{score:.3f} {name}{'*' if name in marked else ''}" for name, score in listed]


ALIGN = Command(_add_align_options, _align)
NEIGHBORS = Command(_add_neighbors_options, _list_neighbors)
