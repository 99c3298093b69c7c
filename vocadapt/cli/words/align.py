"""align, neighbors, project."""

import re
import shlex
import time
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from vocadapt.cli.command import Answer, Command, Options, option, read_settings, setting_options
from vocadapt.cli.options import (
    WITH_WEIGHTS,
    choose_destination,
    describe_place,
    destination_options,
    model_options,
    open_named_model,
    write_artifact,
)
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.errors import InputError
from vocadapt.lab.inputs.alignments import (
    Ranking,
    find_saved_scores,
    find_workspace_of_vectors,
)
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.reports.recommendation import find_best_alignment
from vocadapt.lab.results.projection_files import check_export_path, export_projection
from vocadapt.lab.steps.alignment import STEP as ALIGNMENT_STEP
from vocadapt.lab.steps.alignment import (
    AlignmentStep,
    judge_alignments,
    judge_stacked,
    load_evaluation,
    tabulate_alignments,
)
from vocadapt.lab.steps.command_lines import PROGRAM, setting_arguments
from vocadapt.lab.steps.import_layout import (
    LAYOUT,
    ImportLayoutStep,
    build_imported_projection,
)
from vocadapt.lab.steps.projection import (
    ProjectionArtifact,
    ProjectionStep,
    compute_projection,
    summarize_projection,
)
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import open_artifact
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, count
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.alignment import (
    AlignmentSettings,
    fit_alignment,
)
from vocadapt.spaces.alignment.anchors import AnchorFilter
from vocadapt.spaces.alignment.cross_space import (
    ALL_PIECES,
    CrossSpace,
    FourLists,
    ListSettings,
    find_shared_neighbors,
    resolve_word,
)
from vocadapt.spaces.alignment.cross_validation import find_infeasible_methods
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.methods import METHODS
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.search import NeighborList
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import check_file
from vocadapt.vocabulary.initializers.stacked_quality import describe_stacked

TITLES = {
    "within_words": "within words",
    "within_pieces": "within wordpieces",
    "to_pieces": "to wordpieces",
    "to_words": "to words",
}
RANKS = ("cosine", "p@1", "p@5", "p@10")
HEADER = (
    "alignment",
    "anchors",
    "cosine",
    "P@1",
    "P@5",
    "P@10",
    "P@1 CSLS",
    "P@5 CSLS",
    "chance@5",
    "length",
    "all: P@5",
    "all: P@5 CSLS",
    "all: chance@5",
    "all: of",
    "verdict",
)


AllPieces = TypedDict(
    "AllPieces",
    {"p@1": float, "p@5": float, "p@10": float, "chance@5": float, "candidates": int},
)


class CslsRanking(AllPieces):
    """Ranking by CSLS."""

    all_pieces: Annotated[AllPieces, "among all wordpieces"]


class LengthQuality(TypedDict):
    """Norms of mapped words relative to their own wordpieces: median ratio and error."""

    ratio: float | None
    error: float | None


Reweighted = TypedDict(
    "Reweighted", {"p@1": float, "p@5": float, "new_words": int, "matched": float}
)
StackedScores = TypedDict(
    "StackedScores",
    {
        "p@1": float,
        "p@5": float,
        "reweighted": Annotated[Reweighted, "expected for the words that can be added"],
        "anchors": int,
        "candidates": int,
        "folds": int,
    },
)


class HeldOut(AllPieces):
    """Quality on held-out anchors: mean cosine, P@k among the wordpieces of all anchors, chance
    level, verdict.
    """

    cosine: float
    all_pieces: Annotated[AllPieces, "among all wordpieces"]
    csls: CslsRanking
    length: NotRequired[LengthQuality]
    stacked: NotRequired[Annotated[StackedScores, "of stacked embeddings, among all wordpieces"]]
    folds: int
    words: NotRequired[Annotated[int, "held-out anchors"]]
    verdict: Literal["chance", "better than chance"]


class PairedFolds(TypedDict):
    """Paired test of an alignment against the first, over folds."""

    difference: float
    sd: float
    won: int
    folds: int
    p: float | None


class AlignmentRow(TypedDict):
    """An alignment that was evaluated."""

    method: str
    anchors: int
    never_produced: int
    held_out: HeldOut
    seconds: float
    settings: AlignmentSettings
    best: bool
    against_first: PairedFolds | None


class AlignAnswer(TypedDict):
    """The chosen alignment on held-out anchors. With --all, every alignment, under `alignments`; without
    --method the published least squares, under `published`.
    """

    method: str
    anchors: int
    never_produced: Annotated[
        int, "shared words that are no anchors: the model's tokenizer never produces them"
    ]
    held_out: HeldOut
    settings: AlignmentSettings
    alignments: NotRequired[list[AlignmentRow]]
    published: NotRequired[AlignmentRow]
    left_out: NotRequired[Annotated[dict[str, str], "methods not evaluated, with the reason"]]
    out: NotRequired[str]
    manifest: NotRequired[str]
    seconds: float


class ProjectionQuality(TypedDict):
    """Quality at k of a projection, over a sample of tokens."""

    trustworthiness: float | None
    preservation: float | None
    k: int
    judged: int
    chance: float | None
    explained: NotRequired[float]


class SecondProjection(ProjectionQuality):
    """Quality of the second space."""

    name: str


class ProjectAnswer(ProjectionQuality):
    """The projection that was written, and its quality."""

    out: str
    seconds: float
    manifest: NotRequired[str]
    settings: Any
    shown: int
    of: int
    how: str
    method: str
    engine: str
    second: NotRequired[SecondProjection]
    moved: NotRequired[float]


SPACES = (
    option(
        "--vectors",
        metavar="DIR",
        required=True,
        help="word vectors, as vectors train or import wrote them",
    ),
    *model_options(help=WITH_WEIGHTS),
)


def _align(options: Options) -> Answer[AlignAnswer]:
    start = time.perf_counter()
    step = read_settings(options, AlignmentStep)
    named = replace(step.alignment, anchors=AnchorFilter()) != AlignmentSettings()
    if options.method is None and not named and not options.all:
        step = replace(step, choose=True)
    # 1. Fit and evaluate the alignments; write an artifact if a folder was named.
    place: dict[str, Any] = {}
    if choose_destination(options, "alignments") is None:
        spaces = _open_spaces(options)
        judged = judge_alignments(step, *spaces, options.progress)
        stacked = judge_stacked(*spaces, options.progress) if step.choose else None
        alignments = tabulate_alignments(judged, stacked)
    else:
        artifact = write_artifact(
            Spec(
                step,
                {"vectors": options.vectors, "model": options.model},
                options.offline,
            ),
            options,
        )
        alignments = list(load_evaluation(artifact.folder).alignments)
        place = dict(describe_place(artifact))
        place.pop("seconds")  # the command reports its own
    # 2. The answer describes the chosen method; --all adds the others.
    keys = ("method", "anchors", "never_produced", "held_out", "settings")
    answer = {key: alignments[0][key] for key in keys}
    skipped: dict[str, str] = {}
    if step.choose:
        published = AlignmentSettings(anchors=step.alignment.anchors)
        for found in alignments:
            if build_settings(AlignmentSettings, found["settings"]) == published:
                answer["published"] = found
    if options.all:
        space, target = _open_spaces(options)
        skipped = find_infeasible_methods(
            space, target.word_space, alignments[0]["anchors"], step.folds
        )
        evaluated = {found["method"] for found in alignments}
        for name, method in METHODS.items():
            if method.iterative and name not in evaluated:
                skipped.setdefault(name, "takes minutes: add --iterative")
        answer |= {"alignments": alignments, "left_out": skipped}
    written = [f"{key}: {value}" for key, value in place.items()]
    answer |= {**place, "seconds": time.perf_counter() - start}
    text = "\n".join([_render_scores(alignments, skipped), *written])
    return Answer(cast(AlignAnswer, answer), text)


def _open_spaces(options: Options) -> tuple[EmbeddingSpace, LanguageModel]:
    """Load the word vectors and the model named by the options."""
    opened = open_named_model(options)
    return load_space(Path(options.vectors)), opened


def _render_scores(alignments: list[dict[str, Any]], skipped: dict[str, str]) -> str:
    """Format the scores of each alignment, one row each.

    The candidates are the wordpieces of all anchors and, under "all: …", all wordpieces.
    """
    # 1. A row for each alignment.
    rows = []
    for found in alignments:
        held, csls = found["held_out"], found["held_out"]["csls"]
        pieces = held["all_pieces"]
        scores = (*(held[name] for name in RANKS), csls["p@1"], csls["p@5"], held["chance@5"])
        length = held.get("length", {}).get("ratio")  # earlier versions did not measure it
        wide = (pieces["p@5"], csls["all_pieces"]["p@5"], pieces["chance@5"], pieces["candidates"])
        rows.append(
            (_name_alignment(found), found["anchors"], *scores, length, *wide, held["verdict"])
        )
    # 2. How it was measured, which one is best, what is missing, and whether it beats chance.
    chosen = alignments[0]["held_out"]
    measured = f"Scores are means over {chosen['folds']} folds of held-out anchors."
    if chosen["folds"] == 1:
        measured = (
            "The method was chosen on some of the anchors; the scores are those of the others."
        )
    length = "Length: median norm of mapped words relative to their own wordpieces."
    lines = [format_table(HEADER, rows), "", f"{measured} {length}"]
    if stacked := chosen.get("stacked"):
        lines.append(describe_stacked(stacked))
    lines += [
        _describe_best(found, len(alignments))
        for found in alignments
        if found["best"] and found["against_first"]
    ]
    if unused := alignments[0]["never_produced"]:
        lines.append(
            f"{unused:,} shared words are no anchors: the model's tokenizer never produces them."
        )
    lines += [f"Not in the table: {method} ({why})." for method, why in skipped.items()]
    if chosen["verdict"] == "chance":
        lines.append(
            "Chance: there is too little text, or text of another language, for an alignment that"
            " generalizes."
        )
    return "\n".join(lines)


def _describe_best(found: dict[str, Any], among: int) -> str:
    """Describe the best alignment and its paired test against the first."""
    against = found["against_first"]
    return (
        f"Best on these words by P@5 CSLS: {_name_alignment(found)}"
        f" ({against['difference']:+.3g} over the first, ahead in {against['won']} of"
        f" {against['folds']} folds, p = {against['p']:.2g};"
        f" chosen among {among} alignments on the same folds, so p is optimistic)."
    )


def _name_alignment(found: dict[str, Any]) -> str:
    return describe_method(build_settings(AlignmentSettings, found["settings"]))


def _list_neighbors(options: Options) -> Answer[dict[str, FourLists]]:
    space, target = _open_spaces(options)
    pieces = target.word_space
    # The alignment: the given one, or the best one that was evaluated on these vectors.
    chosen = read_settings(options, AlignmentSettings)
    workspace = find_workspace_of_vectors(Path(options.vectors))
    if options.method is None and chosen == AlignmentSettings() and workspace is not None:
        vectors = open_artifact(Path(options.vectors).resolve())
        best = find_best_alignment(workspace, vectors, target)
        chosen = best.settings if best else chosen
    options.progress(0.1, "fitting the alignment")
    alignment = fit_alignment(space, pieces, chosen)
    settings = read_settings(options, ListSettings)
    spaces = CrossSpace(space, pieces, alignment)
    found, shown = {}, []
    for typed in options.words:
        form = resolve_word(typed, target.splitter, space, pieces)
        found[typed] = spaces.lists(form, settings)
        title = typed
        if typed != form:
            title = f"{typed}: {form}"
        shown.append(_render_lists(title, found[typed]))
    shown.append(
        f"Alignment: {describe_method(chosen)}. Scores: {settings.measure}. *: in more than one list."
    )
    shown[-1] += f"\n{_describe_accuracy(options, target, alignment.settings, settings)}"
    return Answer(found, "\n\n".join(shown))


def _describe_accuracy(
    options: Options, model: LanguageModel, alignment: AlignmentSettings, settings: ListSettings
) -> str:
    """Describe the held-out accuracy of the lists across the spaces, from the saved evaluation of
    the alignment; without one, name the command that measures it.
    """
    saved = find_saved_scores(Path(options.vectors), model, alignment)
    if saved is None:
        command = _build_align_command(options, alignment)
        return f"How often the lists across the spaces are right is not known yet: {command}"
    held_out = saved["held_out"]
    scores = Ranking(settings.csls, settings.among == ALL_PIECES).read_scores(held_out)
    by = " by CSLS" if settings.csls else ""
    line = (
        f"Lists across the spaces: on held-out words, P@5{by} is {scores['p@5']:.3f}"
        f" (chance {scores['chance@5']:.4f}, {count(saved['anchors'])} words)"
    )
    if held_out["verdict"] == "chance":
        return f"{line}. This alignment is no better than chance: do not rely on these lists."
    if scores["p@5"] < 0.5:
        return f"{line}: most lists lack the right word."
    return f"{line}."


def _build_align_command(options: Options, alignment: AlignmentSettings) -> str:
    """Return the command that evaluates an alignment, and saves it if the vectors are in a
    workspace.
    """
    inputs = ["--vectors", options.vectors, "--model", options.model]
    place: list[str] = []
    workspace = find_workspace_of_vectors(Path(options.vectors))
    if workspace is not None:
        name = workspace.find_free_name(
            "alignments", f"{Path(options.vectors).name}-{alignment.method}"
        )
        place = ["--workspace", str(workspace.root), "--name", name]
    chosen = setting_arguments(alignment, AlignmentSettings())
    return shlex.join([*PROGRAM, *ALIGNMENT_STEP.command, *inputs, *chosen, *place])


def _render_lists(title: str, lists: FourLists) -> str:
    """Format the four lists of a word side by side; a star marks words of several lists."""
    stars = dict.fromkeys(find_shared_neighbors(lists), "*")
    columns = []
    for key in TITLES:
        listed: NeighborList | None = lists[key]  # type: ignore[literal-required]
        if listed is None:
            columns.append(["not in this space"])
            continue
        columns.append([f"{score:.3f} {name}{stars.get(name, '')}" for name, score in listed])
    return f"{title}\n" + format_table(
        list(TITLES.values()), list(zip_longest(*columns, fillvalue=""))
    )


ALIGN = Command(
    _align,
    (*SPACES, setting_options(AlignmentStep), *destination_options("--save")),
    description=(
        "Fit an alignment of word vectors to a model's wordpieces and evaluate it on held-out words."
        " Without an option of the alignment, the best of five fast methods is chosen on held-out words."
    ),
)
NEIGHBORS = Command(
    _list_neighbors,
    (
        option("words", nargs="+", metavar="WORD", help="words to look up"),
        *SPACES,
        setting_options(AlignmentSettings),
        setting_options(ListSettings),
    ),
    description=(
        "List the nearest neighbors of words within and across spaces. Without an option of the"
        " alignment, it is the best of those that were evaluated in the workspace of the vectors"
        " (align --name), or else least squares. If it was evaluated, the answer says how often the"
        " lists across the spaces are right."
    ),
)


FILE = re.compile(r"\.[A-Za-z]{2,8}")  # suffixes of files, in contrast to folders


def _project(options: Options) -> Answer[ProjectAnswer]:
    start = time.perf_counter()
    if bool(options.model) == bool(options.vectors):
        raise InputError(
            "A projection shows either the wordpieces of a model or word vectors.",
            "Give either --model or --vectors.",
        )
    if options.layout and options.other:
        raise InputError(
            "A layout file holds the layout of one space, and two spaces were given.",
            "Leave out --other.",
        )
    step = read_settings(options, ProjectionStep)
    choose_destination(options, "projections")  # raises InputError for two destinations
    spec = _build_projection_spec(options, step)
    file = Path(options.out or "")
    place = dict[str, Any]()
    # 1. A file: compute the projection and export it.
    if FILE.fullmatch(file.suffix):
        check_export_path(file, options.overwrite)
        drawn = _draw_projection(spec, options.progress)
        export_projection(drawn, file, options.overwrite)
        numbers = summarize_projection(drawn)
        place = {"out": options.out, "seconds": time.perf_counter() - start}
    # 2. A folder: write the artifact of a step.
    else:
        artifact = write_artifact(spec, options)
        numbers, place = dict(artifact.manifest.numbers), dict(describe_place(artifact))
    facts = {name: value for name, value in numbers.items() if not isinstance(value, dict)}
    answer = {**place, "settings": spec.settings, **numbers}
    return Answer(cast(ProjectAnswer, answer), format_facts({**facts, **place}))


def _build_projection_spec(options: Options, step: ProjectionStep) -> Spec:
    """Return the spec of a projection that is computed, or imported from a layout file."""
    space = options.model or options.vectors
    if not options.layout:
        return Spec(step, {"space": space, "other": options.other}, options.offline)
    inputs = {"space": space, "layout": str(check_file(options.layout))}
    settings = ImportLayoutStep(step.projection.metric)
    if step != ProjectionStep(projection=ProjectionSettings(metric=settings.metric)):
        raise InputError(
            "A layout file has its own tokens and coordinates: of the projection settings, only"
            " --metric applies.",
            "Leave out the other settings.",
        )
    return Spec(settings, inputs, options.offline)


def _draw_projection(spec: Spec, progress: Progress) -> ProjectionArtifact:
    """Compute or import a projection, without an artifact."""
    offline = spec.offline or None
    opened = open_space(spec.inputs["space"][0], offline)
    layout, other = spec.one("layout"), spec.one("other")
    if layout:
        return build_imported_projection(opened, Path(layout), spec.settings, progress)
    second = open_space(other, offline) if other else None
    return compute_projection(opened, second, spec.settings, progress)


PROJECT = Command(
    _project,
    (
        *model_options(required=False, help="hub name or model folder whose wordpieces are shown"),
        option("--vectors", metavar="DIR", help="word vectors to show"),
        option("--other", metavar="M|DIR", help="second space; only shared words are shown"),
        option(LAYOUT.flag, metavar="FILE", help=LAYOUT.help),
        setting_options(ProjectionStep),
        *destination_options(),
    ),
)
