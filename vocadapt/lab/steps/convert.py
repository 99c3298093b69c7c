"""The step that converts a model's .bin weights to safetensors."""

from dataclasses import dataclass, replace

from vocadapt.lab.steps.step import MODEL, Step, StepContext, measure_model
from vocadapt.models.convert import convert


@dataclass(frozen=True)
class ConvertStep:
    """Converting .bin weights to safetensors has no settings."""


@dataclass(frozen=True)
class ConvertNumbers:
    """Number of converted tensors."""

    tensors: int


def convert_model(context: StepContext, settings: ConvertStep) -> ConvertNumbers:
    """Convert a model's .bin weights to safetensors."""
    model = context.spec.inputs["model"][0]
    offline = context.spec.offline or None
    return ConvertNumbers(convert(model, context.draft, offline))


STEP = Step(
    "convert",
    "Convert a model",
    ConvertStep,
    convert_model,
    makes="models",
    needs=(replace(MODEL, flag="", help="model folder (or hub name) with pytorch_model.bin"),),
    command=("convert",),
    writes=measure_model,
    libraries=("torch", "safetensors"),
)
