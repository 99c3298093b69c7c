"""Models of exBERT, built by a preset."""

from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.presets import get_preset


def made(name, out, model, text=None, **options):
    recipe = get_preset(name)
    inputs = {"model": str(model), **({"text": str(text)} if "counts" in recipe.needs else {})}
    return run_step(Spec(AdaptStep(recipe, **{"certify": False, **options}), inputs), out).folder
