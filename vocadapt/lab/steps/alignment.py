"""The step that fits an alignment of word vectors to a model, cross-validates it, and saves and
reads its evaluation: held-out scores of each method, and each anchor of the chosen one.
"""

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.alignments import TABLE, load_table
from vocadapt.lab.steps.step import MODEL, VECTORS, PlannedStep, Spec, Step, StepContext
from vocadapt.lab.workspace import strict_json
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.anchors import find_anchors
from vocadapt.spaces.alignment.choose import FOLDS, choose_alignment, list_fast_alignments
from vocadapt.spaces.alignment.cross_validation import (
    HeldOutQuality,
    compare_alignments,
    list_feasible_alignments,
    select_best_alignment,
    tabulate_alignments,
)
from vocadapt.spaces.alignment.evaluation import EvaluatedAlignment, StackedScores
from vocadapt.spaces.alignment.methods import METHODS, AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.system.files import read_document
from vocadapt.system.forecasts import Work
from vocadapt.system.json_values import json_name
from vocadapt.text.spreadsheet import escape_cell, unescape_cell
from vocadapt.training.joined_states import PieceJoiner
from vocadapt.vocabulary.initializers.stacked import StackedSettings
from vocadapt.vocabulary.initializers.stacked_quality import cross_validate_stacked
from vocadapt.vocabulary.plan.planning import split_addable_words

SECONDS_PER_PRODUCT = 3.4e-11  # of two numbers (two cores, 2.5 GHz)
ALIGNMENTS_DONE = 0.6  # fraction of the time for several methods; stacked embeddings follow
ANCHORS = "anchors.tsv"
# Column of a rank in the file of anchors → ranking of the evaluation.
RANKS = {
    "rank": "anchors",
    "csls_rank": "csls anchors",
    "all_rank": "pieces",
    "csls_all_rank": "csls pieces",
}
ANCHOR_COLUMNS = ("word", "fold", "cosine", "random_cosine", *RANKS)


@dataclass(frozen=True)
class AlignmentStep(CheckedSettings):
    """Which alignment is saved, the number of folds, and whether all methods are compared.

    choose: choose the best of the fast methods; the chosen one replaces `alignment`, of which only
    the anchors are read.
    """

    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    folds: int = setting(FOLDS, "number of cross-validation folds", low=2, high=1_000)
    choose: bool = setting(False, "choose the method by held-out words", flag="")
    compare: bool = setting(
        False,
        "evaluate all alignment methods that are not iterative, not only the chosen one",
        flag="--all",
        label="All methods",
    )
    iterative: bool = setting(
        False,
        "also evaluate the iterative methods, which take minutes",
        flag="--iterative",
        label="Iterative methods",
    )


@dataclass(frozen=True)
class AnchorScore:
    """One anchor: its fold, cosine to its own and to another wordpiece, and its ranks.

    A rank is the number of candidates that are nearer than the own wordpiece. Candidates are the
    anchors' wordpieces, or all wordpieces (`all`), by cosine or by CSLS.
    """

    word: str
    fold: int
    cosine: float
    random_cosine: float
    rank: int
    csls_rank: int
    all_rank: int
    csls_all_rank: int


@dataclass(frozen=True)
class AlignmentEvaluation:
    """A saved evaluation: the alignments, the chosen one first, and the anchors of the chosen one."""

    alignments: tuple[EvaluatedAlignment, ...]
    anchors: tuple[AnchorScore, ...]


@dataclass(frozen=True)
class AlignmentNumbers:
    """The saved alignment on held-out words; `best` of all methods, if they were compared."""

    method: str
    anchors: int
    verdict: str
    cosine: float
    p1: float = field(metadata=json_name("p@1"))
    p5: float = field(metadata=json_name("p@5"))
    p10: float = field(metadata=json_name("p@10"))
    chance5: float = field(metadata=json_name("chance@5"))
    best: AlignmentSettings | None = None


def evaluate_alignment(context: StepContext, settings: AlignmentStep) -> AlignmentNumbers:
    """Fit an alignment of word vectors to a model, and evaluate it on held-out words: the named
    one, all methods, or the best fast one.
    """
    space, model = context.inputs.space, context.inputs.model
    with_stacked = settings.choose or settings.compare
    share = ALIGNMENTS_DONE if with_stacked else 1.0
    judged = judge_alignments(settings, space, model, part(context.progress, 0.0, share))
    chosen = judged[0].settings
    fit_alignment(space, model.word_space, chosen).save(context.draft)
    if settings.choose:
        context.used.append(replace(settings, alignment=chosen))
    stacked = None
    if with_stacked:
        stacked = judge_stacked(space, model, part(context.progress, share, 1.0))
    save_evaluation(judged, context.draft, stacked)
    held = judged[0].scores
    return AlignmentNumbers(
        chosen.method,
        judged[0].candidates["anchors"],
        held.verdict,
        held.cosine,
        held.p1,
        held.p5,
        held.p10,
        held.chance5,
        select_best_alignment(judged).settings if settings.compare else None,
    )


def judge_alignments(
    settings: AlignmentStep,
    space: EmbeddingSpace,
    model: LanguageModel,
    progress: Progress = silent,
) -> tuple[HeldOutQuality, ...]:
    """Evaluate alignments on held-out words, the one to save first: the named one, or all methods,
    by cross-validation; or the best fast method, and the published one beside it.
    """
    if settings.choose:
        found = choose_alignment(
            space, model.word_space, settings.alignment.anchors, settings.folds, progress
        )
        return tuple(dict.fromkeys(filter(None, (found.quality, found.published))))
    return compare_alignments(
        space,
        model.word_space,
        list_alignments(settings, space, model),
        settings.folds,
        progress=progress,
    )


def judge_stacked(
    space: EmbeddingSpace,
    model: LanguageModel,
    progress: Progress = silent,
    settings: StackedSettings | None = None,
    tokens: Sequence[str] | None = None,
) -> StackedScores | None:
    """Return how precisely stacked embeddings place words; None if too few words are known.

    tokens: the words that will be added; None: all that can be.
    """
    if tokens is None:
        addable, _ = split_addable_words(model.vocabulary, model.splitter, space.words)
        tokens = [model.vocabulary.spell(word) for word in addable]
    domain = model.vocabulary.spell_words(space)
    with suppress(InputError):
        found = cross_validate_stacked(
            model.vocabulary, model.space, domain, tokens, settings, progress, PieceJoiner(model)
        )
        return found.scores
    return None


def list_alignments(
    settings: AlignmentStep, space: EmbeddingSpace, model: LanguageModel
) -> list[AlignmentSettings]:
    """Return the chosen alignment, followed by all other methods if requested.

    If the chosen one cannot be cross-validated, the first that can comes first.
    """
    chosen = settings.alignment
    if not settings.compare:
        return [chosen]
    able = list_feasible_alignments(
        space, model.word_space, settings.folds, chosen.anchors, settings.iterative
    )
    first = [chosen] if chosen.method in {other.method for other in able} else []
    return [*first, *(other for other in able if other != chosen)]


def save_evaluation(
    judged: Sequence[HeldOutQuality], draft: Path, stacked: StackedScores | None = None
) -> None:
    """Write the table of all alignments, the chosen one first, and the anchors of the chosen one."""
    strict_json.write(draft / TABLE, {"alignments": tabulate_alignments(judged, stacked)})
    chosen = judged[0]
    with (draft / ANCHORS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(ANCHOR_COLUMNS)
        ranks = [chosen.ranks[ranking].tolist() for ranking in RANKS.values()]
        cosines = chosen.cosine.tolist(), chosen.random_cosine.tolist()
        words = map(escape_cell, chosen.anchors.words)
        writer.writerows(zip(words, chosen.fold.tolist(), *cosines, *ranks, strict=True))


def load_evaluation(folder: Path) -> AlignmentEvaluation:
    """Read a saved evaluation; raises InputError if the folder has none."""
    alignments = load_table(folder)
    try:
        _, *lines = csv.reader(StringIO(read_document(folder / ANCHORS)), delimiter="\t")
        anchors = [
            AnchorScore(
                unescape_cell(word), int(fold), float(cosine), float(random), *map(int, ranks)
            )
            for word, fold, cosine, random, *ranks in lines
        ]
    except (InputError, ValueError, TypeError) as error:
        raise InputError(
            f"{folder}: expected an evaluated alignment, {ANCHORS} is missing, damaged, or of an"
            " earlier version.",
            "Fit it again.",
            code="no-evaluation",
        ) from error
    return AlignmentEvaluation(alignments, tuple(anchors))


def measure_evaluation(planned: PlannedStep) -> Work:
    """Return the work of evaluating the alignments of a step on held-out words."""
    settings, model = planned.spec.settings, planned.inputs.model
    space, pieces = planned.inputs.space, model.word_space
    anchors = len(find_anchors(space, pieces, settings.alignment.anchors))
    evaluated: Sequence[AlignmentSettings] = list_alignments(settings, space, model)
    if settings.choose:
        evaluated = list_fast_alignments(settings.alignment.anchors)
    cost = sum(METHODS[one.method].cost for one in evaluated)
    products = cost * settings.folds * anchors * len(pieces) * pieces.dim
    return Work(settings.folds * anchors, "words", SECONDS_PER_PRODUCT * products)


def express_choice(spec: Spec, folder: Path) -> Spec:
    """Return the spec with only those settings of the alignment that a choice reads."""
    settings: AlignmentStep = spec.settings
    if not settings.choose:
        return spec
    read = AlignmentSettings(anchors=settings.alignment.anchors)
    return replace(spec, settings=replace(settings, alignment=read))


def name_default_method(settings: AlignmentStep, folder: Path) -> list[str]:
    """Return the argument that names the default method: without a method, one is chosen."""
    method = settings.alignment.method
    if settings.choose or settings.compare or method != AlignmentSettings().method:
        return []
    return ["--method", method]


STEP = Step(
    "alignment",
    "Fit and evaluate an alignment",
    AlignmentStep,
    evaluate_alignment,
    makes="alignments",
    needs=(VECTORS, MODEL),
    libraries=("numpy", "scipy", "tokenizers", "safetensors"),
    command=("align",),
    out="--save",
    express=express_choice,
    own_arguments=name_default_method,
    seed="alignment.seed",
    work=measure_evaluation,
)
