"""Zero-shot question answering (Poerner et al. 2020): a model is fine-tuned on general questions,
its vocabulary is adapted to a domain, and it answers the domain's questions without training on
them.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.evaluation import EvaluateNumbers, EvaluateSettings, evaluate_runs
from vocadapt.lab.steps.adapt import AdaptStep, check_model_step
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import check_free
from vocadapt.progress import Progress, part, silent
from vocadapt.recipe import Recipe
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.formats.squad import read_questions
from vocadapt.training.tasks.kinds.qa import QuestionAnswering
from vocadapt.training.tasks.seen_examples import count_seen, fingerprint_examples
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET

GENERAL, ADAPTED, SCORES = "general", "adapted", "scores.json"


@dataclass(frozen=True)
class ZeroShotSettings(CheckedSettings):
    """Inputs and settings of the three steps; `limit`: number of test questions (0: all)."""

    model: str
    train: Path
    test: Path
    recipe: Recipe
    vectors: str = ""
    text: tuple[str, ...] = ()
    finetune: FinetuneSettings = field(default_factory=FinetuneSettings)
    seed: int = setting(1, "random seed of the fine-tuning", high=MAX_SEED)
    limit: int = setting(
        0, "maximum number of the domain's questions, drawn at random", empty="all"
    )
    offline: bool = False


def run_zero_shot(
    settings: ZeroShotSettings, folder: Path, progress: Progress = silent
) -> EvaluateNumbers:
    """Run the three steps into a folder; raises InputError before anything is trained."""
    # 1. Check everything before the first training.
    _check_questions(settings)
    _check_adapting(settings)
    check_free(folder)

    # 2. Fine-tune on general questions, and adapt the vocabulary of the result to the domain.
    learn = Spec(
        FinetuneStep(settings.finetune, seeds=(settings.seed,), kind=QuestionAnswering.name),
        {"model": (settings.model,), "train": (str(settings.train),)},
        settings.offline,
    )
    run_step(learn.absolute(), folder / GENERAL, part(progress, 0.0, 0.4, "general questions"))
    teach = _build_adapt_spec(settings, str(folder / GENERAL))
    run_step(teach.absolute(), folder / ADAPTED, part(progress, 0.4, 0.5, "words of the domain"))

    # 3. Answer the questions of the domain. An adapted model has no record of the seed.
    how = EvaluateSettings(
        settings.test, settings.limit, unseen=True, word_rule=settings.finetune.word_rule
    )
    numbers = evaluate_runs(
        folder / ADAPTED, how, part(progress, 0.5, 1.0, "questions of the domain")
    )
    seeds = tuple(replace(one, seed=settings.seed) for one in numbers.seeds)
    numbers = replace(numbers, seeds=seeds)
    strict_json.write(folder / SCORES, numbers)
    return numbers


def _build_adapt_spec(settings: ZeroShotSettings, model: str) -> Spec:
    """Build the spec of the step that adapts the model to the domain."""
    sources = {"text": settings.text, "vectors": (settings.vectors,) if settings.vectors else ()}
    given = {"model": (model,), **{role: paths for role, paths in sources.items() if paths}}
    return Spec(AdaptStep(settings.recipe), given, settings.offline)


def _check_questions(settings: ZeroShotSettings) -> None:
    train = read_questions(settings.train)
    test = read_questions(settings.test)
    if shared := count_seen(test.examples, fingerprint_examples(train.examples)):
        raise InputError(
            f"{settings.test}: {shared:,} of {len(test):,} questions, or their contexts, are in"
            f" {settings.train}, too.",
            "Zero-shot means that no test question is trained on: remove them.",
        )
    if not test.labeled:
        raise InputError(
            f"{settings.test}: holds no answers, so nothing can be scored.",
            "Give questions with their answers.",
        )


def _check_adapting(settings: ZeroShotSettings) -> None:
    """Raise InputError for anything that the second step would refuse.

    Recipes with continued pretraining are refused: the first step's model has no
    masked-language-model head.
    """
    if settings.recipe.pretraining.stage:
        raise InputError(
            f"The recipe {settings.recipe.name} continues pretraining: question-answering models"
            " have no head for it.",
            f"Choose a recipe without it: the preset {DEFAULT_PRESET}, for example.",
        )
    spec = _build_adapt_spec(settings, settings.model).absolute()
    inputs = spec.open_inputs()
    check_model_step(inputs, AdaptStep(settings.recipe))
    if settings.vectors:
        _ = inputs.space  # read, so that it is known to be there
    if settings.text:
        read_corpus(spec.inputs["text"])
