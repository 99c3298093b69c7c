"""The step that fits an alignment of word vectors to a model, and cross-validates it."""

from dataclasses import asdict, dataclass, field

from vocadapt.lab.artifacts.alignments import save_evaluation
from vocadapt.lab.steps.context import StepContext
from vocadapt.lab.steps.step import MODEL, VECTORS, Numbers, Step
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, silent
from vocadapt.settings import check_settings, setting
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.cross_validation import (
    HeldOutQuality,
    compare_alignments,
    list_feasible_alignments,
    select_best_alignment,
)
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.space import EmbeddingSpace


@dataclass(frozen=True)
class AlignmentStep:
    """Which alignment is saved, the number of folds, and whether all methods are compared."""

    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)
    folds: int = setting(10, "number of cross-validation folds", low=2, high=1_000)
    compare: bool = setting(
        False,
        "evaluate all alignment methods, not only the chosen one",
        flag="--all",
        label="All methods",
    )

    def __post_init__(self) -> None:
        check_settings(self)


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
    maps = list_alignments(settings, space, model)
    return compare_alignments(
        space,
        model.word_space,
        maps,
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
    able = list_feasible_alignments(space, model.word_space, settings.folds, chosen.anchors)
    first = [chosen] if chosen.method in {other.method for other in able} else []
    return [*first, *(other for other in able if other != chosen)]


STEP = Step(
    "alignment",
    "Fit and evaluate an alignment",
    AlignmentStep,
    evaluate_alignment,
    makes="alignments",
    needs=(VECTORS, MODEL),
    libraries=("numpy", "scipy", "tokenizers", "safetensors"),
    command=("align",),
    page="pages/words/alignment.py",
    out="--save",
    seed="alignment.seed",
)
