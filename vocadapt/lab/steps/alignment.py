"""The step that fits an alignment of word vectors to a model, cross-validates it, and saves and reads
its evaluation: held-out scores of each method, and each anchor of the chosen one.
"""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import read_document
from vocadapt.lab.steps.step import MODEL, VECTORS, Numbers, Step, StepContext
from vocadapt.lab.workspace import strict_json
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.cross_validation import (
    HeldOutQuality,
    compare_alignments,
    compare_fold_by_fold,
    list_feasible_alignments,
    select_best_alignment,
)
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.spreadsheet import escape_cell, unescape_cell

TABLE = "heldout.json"
ANCHORS = "anchors.tsv"
# Column of a rank in the file of anchors → ranking of the evaluation.
RANKS = {
    "rank": "anchors",
    "csls_rank": "csls anchors",
    "all_rank": "pieces",
    "csls_all_rank": "csls pieces",
}
COLUMNS = ("word", "fold", "cosine", "random_cosine", *RANKS)


@dataclass(frozen=True)
class AlignmentStep(CheckedSettings):
    """Which alignment is saved, the number of folds, and whether all methods are compared."""

    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    folds: int = setting(10, "number of cross-validation folds", low=2, high=1_000)
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
    anchors' wordpieces, or all wordpieces (`all`), by cosine or by CSLS. Alignments that were
    evaluated by earlier versions have only the first rank.
    """

    word: str
    fold: int
    cosine: float
    random_cosine: float
    rank: int
    csls_rank: int | None = None
    all_rank: int | None = None
    csls_all_rank: int | None = None


@dataclass(frozen=True)
class AlignmentEvaluation:
    """A saved evaluation: one row per alignment, the chosen one first, and the anchors of the
    chosen one.
    """

    maps: tuple[dict[str, Any], ...]
    anchors: tuple[AnchorScore, ...]


def evaluate_alignment(context: StepContext, settings: AlignmentStep) -> Numbers:
    """Fit an alignment of word vectors to a model, and cross-validate it; all other methods if
    requested.
    """
    chosen = list_alignments(settings, context.space, context.model)[0]
    fit_alignment(context.space, context.model.word_space, chosen).save(context.draft)
    judged = cross_validate_alignments(settings, context.space, context.model, context.progress)
    save_evaluation(judged, context.draft)
    held = judged[0].as_json()["held_out"]
    assert isinstance(held, dict)
    return {
        "method": chosen.method,
        "anchors": len(judged[0].anchors),
        "verdict": judged[0].verdict,
        **{key: held[key] for key in ("cosine", "p@1", "p@5", "p@10", "chance@5")},
        **({"best": asdict(select_best_alignment(judged).settings)} if settings.compare else {}),
    }


def cross_validate_alignments(
    settings: AlignmentStep,
    space: EmbeddingSpace,
    model: LanguageModel,
    progress: Progress = silent,
) -> tuple[HeldOutQuality, ...]:
    """Cross-validate the chosen alignment, and all other methods if requested."""
    return compare_alignments(
        space,
        model.word_space,
        list_alignments(settings, space, model),
        settings.folds,
        progress=progress,
    )


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


def save_evaluation(judged: Sequence[HeldOutQuality], draft: Path) -> None:
    """Write the table of all alignments, the chosen one first, and the anchors of the chosen one."""
    strict_json.write(draft / TABLE, {"maps": tabulate_alignments(judged)})
    chosen = judged[0]
    with (draft / ANCHORS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        ranks = [chosen.ranks[ranking].tolist() for ranking in RANKS.values()]
        cosines = chosen.cosine.tolist(), chosen.random_cosine.tolist()
        words = map(escape_cell, chosen.anchors.words)
        writer.writerows(zip(words, chosen.fold.tolist(), *cosines, *ranks, strict=True))


def tabulate_alignments(judged: Sequence[HeldOutQuality]) -> list[dict[str, Any]]:
    """Return one row per alignment: settings, scores, whether it is the best, paired difference to
    the first.
    """
    winner = select_best_alignment(judged)
    return [
        {
            **result.as_json(),
            "settings": asdict(result.settings),
            "best": result is winner,
            "against_first": None
            if result is judged[0]
            else asdict(compare_fold_by_fold(result, judged[0])),
        }
        for result in judged
    ]


def load_evaluation(folder: Path) -> AlignmentEvaluation:
    """Read a saved evaluation; raises InputError if the folder has none."""
    missing = next((name for name in (TABLE, ANCHORS) if not (folder / name).is_file()), None)
    if missing:
        raise InputError(
            f"{folder}: expected an evaluated alignment, {missing} is missing.", "Fit it again."
        )
    table = strict_json.read(folder / TABLE)
    _, *lines = csv.reader(StringIO(read_document(folder / ANCHORS)), delimiter="\t")
    anchors = (
        AnchorScore(
            unescape_cell(line[0]),
            int(line[1]),
            float(line[2]),
            float(line[3]),
            *map(int, line[4:]),
        )
        for line in lines
    )
    return AlignmentEvaluation(tuple(table["maps"]), tuple(anchors))


STEP = Step(
    "alignment",
    "Fit and evaluate an alignment",
    AlignmentStep,
    evaluate_alignment,
    makes="alignments",
    needs=(VECTORS, MODEL),
    libraries=("numpy", "scipy", "tokenizers", "safetensors"),
    command=("align",),
    part="alignment",
    out="--save",
    seed="alignment.seed",
)
