"""align, neighbors, project."""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

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
    load_table,
)
from vocadapt.lab.reports.recommendation import find_best_alignment
from vocadapt.lab.results.projection_files import check_export_path, export_projection
from vocadapt.lab.steps.alignment import STEP as ALIGNMENT_STEP
from vocadapt.lab.steps.alignment import (
    AlignmentStep,
    judge_alignments,
    judge_stacked,
)
from vocadapt.lab.steps.command_lines import PROGRAM, setting_arguments
from vocadapt.lab.steps.import_layout import (
    LAYOUT,
    ImportLayoutStep,
    build_imported_projection,
)
from vocadapt.lab.steps.projection import (
    ProjectionArtifact,
    ProjectionNumbers,
    ProjectionStep,
    compute_projection,
    summarize_projection,
)
from vocadapt.lab.steps.step import Spec, read_numbers
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import open_artifact
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, count
from vocadapt.report.formats import format_chance, format_fraction
from vocadapt.report.table import Finding
from vocadapt.report.terminal import write_terminal
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
from vocadapt.spaces.alignment.cross_validation import find_infeasible_methods, tabulate_alignments
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.evaluation import EvaluatedAlignment, build_table, list_findings
from vocadapt.spaces.alignment.methods import METHODS
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.search import NeighborList
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import check_file

TITLES = {
    "within_words": "within words",
    "within_pieces": "within wordpieces",
    "to_pieces": "to wordpieces",
    "to_words": "to words",
}


@dataclass(frozen=True)
class AlignAnswer(EvaluatedAlignment):
    """The chosen alignment on held-out anchors, and what its evaluation shows. With --all, every
    alignment, and the methods that were left out, with the reason; without --method the published
    least squares.
    """

    alignments: tuple[EvaluatedAlignment, ...] | None = None
    published: EvaluatedAlignment | None = None
    left_out: Mapping[str, str] | None = None
    findings: tuple[Finding, ...] = ()
    out: str | None = None
    manifest: str | None = None


@dataclass(frozen=True)
class ProjectAnswer(ProjectionNumbers):
    """The projection that was written, and its quality."""

    settings: ProjectionStep | ImportLayoutStep = field(kw_only=True)
    out: str = ""
    seconds: float = 0.0
    manifest: str | None = None


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
        inputs = {"vectors": options.vectors, "model": options.model}
        artifact = write_artifact(Spec(step, inputs, options.offline), options)
        alignments = load_table(artifact.folder)
        place = {"out": str(artifact.folder), "manifest": str(artifact.folder / MANIFEST)}

    # 2. The answer describes the chosen method; --all adds the others, and those left out.
    published, left_out = None, None
    if step.choose:
        least_squares = AlignmentSettings(anchors=step.alignment.anchors)
        published = next((one for one in alignments if one.settings == least_squares), None)
    if options.all:
        left_out = _explain_left_out(alignments, step.folds, options)
    findings = list_findings(alignments)
    answer = AlignAnswer(
        **{**vars(alignments[0]), "seconds": time.perf_counter() - start},
        alignments=alignments if options.all else None,
        published=published,
        left_out=left_out,
        findings=findings,
        **place,
    )
    table = write_terminal(build_table(alignments, left_out))
    lines = [table, *map(str, findings), *(f"{key}: {value}" for key, value in place.items())]
    return Answer(answer, "\n".join(lines))


def _explain_left_out(
    alignments: Sequence[EvaluatedAlignment], folds: int, options: Options
) -> dict[str, str]:
    """Return the methods that were not evaluated, with the reason."""
    space, target = _open_spaces(options)
    skipped = find_infeasible_methods(space, target.word_space, alignments[0].anchors, folds)
    evaluated = {found.method for found in alignments}
    for name, method in METHODS.items():
        if method.iterative and name not in evaluated:
            skipped.setdefault(name, "takes minutes: add --iterative")
    return skipped


def _open_spaces(options: Options) -> tuple[EmbeddingSpace, LanguageModel]:
    opened = open_named_model(options)
    return load_space(Path(options.vectors)), opened


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
        f"Alignment: {describe_method(chosen)}. Scores: {settings.measure}. *: in more than one"
        " list."
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
    scores = Ranking(settings.csls, settings.among == ALL_PIECES).choose_scores(saved.held_out)
    by = " by CSLS" if settings.csls else ""
    line = (
        f"Lists across the spaces: on held-out words, P@5{by} is {format_fraction(scores.p5)}"
        f" (chance {format_chance(scores.chance5)}, {count(saved.anchors)} words)"
    )
    if saved.at_chance:
        return f"{line}. This alignment is no better than chance: do not rely on these lists."
    if scores.p5 < 0.5:
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
        "Fit an alignment of word vectors to a model's wordpieces and evaluate it on held-out"
        " words."
        " Without an option of the alignment, the best of five fast methods is chosen on held-out"
        " words."
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
    # 1. A file: compute the projection and export it.
    if FILE.fullmatch(file.suffix):
        check_export_path(file, options.overwrite)
        drawn = _draw_projection(spec, options.progress)
        export_projection(drawn, file, options.overwrite)
        numbers = summarize_projection(drawn)
        place: dict[str, Any] = {"out": options.out, "seconds": time.perf_counter() - start}
    # 2. A folder: write the artifact of a step.
    else:
        artifact = write_artifact(spec, options)
        numbers = read_numbers(artifact)
        place = dict(describe_place(artifact))
    answer = ProjectAnswer(**vars(numbers), settings=spec.settings, **place)
    return Answer(answer, format_facts({**vars(numbers), **place}))


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
    inputs = spec.open_inputs()
    layout = spec.one("layout")
    first = inputs.open_space("space")
    if layout:
        return build_imported_projection(first, Path(layout), spec.settings, progress)
    second = inputs.open_space("other") if "other" in inputs.paths else None
    return compute_projection(first, second, spec.settings, progress)


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
