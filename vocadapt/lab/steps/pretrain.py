"""The step that pretrains a small encoder from scratch."""

from dataclasses import dataclass, field
from functools import partial

from vocadapt.lab.inputs.corpora import estimate_text_bytes
from vocadapt.lab.steps.pretraining_guards import list_pretraining_guards
from vocadapt.lab.steps.step import TEXT, PlannedStep, Step, StepContext, TextStep
from vocadapt.settings import setting
from vocadapt.system.forecasts import Work
from vocadapt.training.estimates import measure_pretraining
from vocadapt.training.masked.from_scratch import ScratchSettings, pretrain_from_scratch
from vocadapt.training.masked.report import TrainingReport


@dataclass(frozen=True)
class PretrainStep(TextStep):
    """Which lines are read, and how a model is pretrained from scratch."""

    scratch: ScratchSettings = field(default_factory=ScratchSettings)
    half: bool = setting(False, "save the model in float16", label="Save in float16")


def pretrain_model(context: StepContext, settings: PretrainStep) -> TrainingReport:
    """Pretrain a small encoder from scratch on a text."""
    made = pretrain_from_scratch(
        context.inputs.text, settings.scratch, context.progress, context.checkpoint, settings.half
    )
    made.save(context.draft, settings.half)
    return made.report


def measure_scratch_work(planned: PlannedStep) -> Work:
    """Return the work of pretraining from scratch; the config is that of its network."""
    scratch = planned.spec.settings.scratch
    config = {
        "num_hidden_layers": scratch.layers,
        "hidden_size": scratch.hidden,
        "vocab_size": scratch.vocabulary,
    }
    n_bytes = estimate_text_bytes(planned.inputs.text)
    return measure_pretraining(n_bytes, scratch.training, config, "continued", planned.threads)


STEP = Step(
    "pretrain",
    "Pretrain a model from scratch",
    PretrainStep,
    pretrain_model,
    makes="models",
    needs=(TEXT,),
    libraries=("numpy", "tokenizers", "gensim", "safetensors", "torch", "transformers"),
    command=("pretrain",),
    own_arguments=lambda settings, folder: ["--from-scratch"],
    resumes=True,
    seed="scratch.training.seed",
    guards=partial(list_pretraining_guards, group="scratch.training"),
    work=measure_scratch_work,
)
