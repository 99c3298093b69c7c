"""The step that continues the pretraining of a model on a text."""

from dataclasses import dataclass, field
from functools import partial

from vocadapt.lab.inputs.corpora import estimate_text_bytes
from vocadapt.lab.steps.pretraining_guards import list_pretraining_guards
from vocadapt.lab.steps.step import (
    MODEL,
    TEXT,
    PlannedStep,
    Step,
    StepContext,
    TextStep,
    measure_model,
)
from vocadapt.system.forecasts import Work
from vocadapt.training.estimates import measure_pretraining
from vocadapt.training.masked.continued import ContinuedSettings, continue_and_save
from vocadapt.training.masked.report import TrainingReport


@dataclass(frozen=True)
class ContinuePretrainingStep(TextStep):
    """Which lines are read, and how pretraining is continued on them."""

    pretraining: ContinuedSettings = field(default_factory=ContinuedSettings)


def continue_pretraining(context: StepContext, settings: ContinuePretrainingStep) -> TrainingReport:
    """Continue pretraining a model on a text, by stage."""
    return continue_and_save(
        context.inputs.model,
        context.inputs.text,
        settings.pretraining,
        context.draft,
        context.checkpoint,
        context.progress,
    ).report


def measure_pretraining_work(planned: PlannedStep) -> Work:
    """Return the work of continued pretraining."""
    pretraining = planned.spec.settings.pretraining
    return measure_pretraining(
        estimate_text_bytes(planned.inputs.text),
        pretraining.training,
        planned.inputs.model.config,
        pretraining.cost_stage,
        planned.threads,
    )


STEP = Step(
    "continue-pretraining",
    "Continue pretraining",
    ContinuePretrainingStep,
    continue_pretraining,
    makes="models",
    needs=(MODEL, TEXT),
    writes=measure_model,
    libraries=("numpy", "tokenizers", "safetensors", "torch", "transformers"),
    command=("pretrain",),
    resumes=True,
    start_up=6.0,
    seed="pretraining.training.seed",
    guards=partial(list_pretraining_guards, group="pretraining.training"),
    work=measure_pretraining_work,
)
