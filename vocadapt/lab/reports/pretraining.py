"""Reports on continued pretraining: the trained models, their loss curves, and the stages of a
model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_folder import name_of
from vocadapt.training.masked.stages import STAGES, check_stage
from vocadapt.training.masked.validation import HeldOutCurve

# Architectures whose masked-language-model head is where pretraining looks for it.
FAMILIES = ("Bert", "ExBert", "MegatronBert", "MobileBert")
HEADS = tuple(f"{family}For{head}" for family in FAMILIES for head in ("MaskedLM", "PreTraining"))


@dataclass(frozen=True, eq=False)
class PretrainedModel:
    """A model with continued pretraining, described by its manifest."""

    artifact: Artifact

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.artifact.name

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The training report, also if the model was adapted and trained in one step."""
        return read_training_report(self.artifact)

    @property
    def model(self) -> str:
        """Name of the model it was trained from, on the hub or of its folder; "" if not known
        (demo).
        """
        given = self.artifact.manifest.inputs.get("model")
        if given is None:
            return ""
        path = Path(given.paths[0])
        return LanguageModel(path, "").hub_name or name_of(path)

    @cached_property
    def curve(self) -> HeldOutCurve:
        """The held-out loss during training; empty if it was not kept."""
        try:
            return HeldOutCurve.of_dict(self.numbers["held_out_curve"])
        except (KeyError, TypeError, ValueError):
            return HeldOutCurve()

    @property
    def asked(self) -> tuple[str, ...]:
        """What determines the masked tokens; losses are comparable only if it is equal."""
        manifest = self.artifact.manifest
        settings = manifest.settings
        training = (
            settings["further"] if "further" in settings else settings["recipe"]["further"]
        )["training"]
        text = self.artifact.stamp
        if "text" in manifest.inputs:
            text = manifest.inputs["text"].stamp
        return text, *(
            str(value) for value in (settings["corpus"], training["seed"], training["length"])
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """Folders of the intermediate models, which can be fine-tuned."""
        return tuple(
            str(self.artifact.folder / folder) for folder in self.numbers.get("checkpoints", ())
        )


def list_pretrained_models(workspace: Workspace) -> list[PretrainedModel]:
    """List the models of a workspace with continued pretraining, newest first."""
    found = []
    for model in workspace.artifacts("models"):
        report = read_training_report(model)
        if report.get("stage") in STAGES and "loss_per_character" in report:
            found.append(PretrainedModel(model))
    return found


def have_same_masked_tokens(models: Sequence[PretrainedModel]) -> bool:
    """Whether the held-out losses of models are comparable: the same tokens were masked."""
    digests = {str(one.numbers.get("held_out_asked", "")) for one in models}
    if "" in digests:
        return len({one.asked for one in models}) <= 1
    return len(digests) <= 1


def read_training_report(model: Artifact) -> dict[str, Any]:
    """Return the training report of a model, also if it was adapted and trained in one step."""
    numbers = model.manifest.numbers
    return dict(numbers.get("further", numbers))


def list_stages(model: LanguageModel) -> dict[str, str]:
    """Return the stages that fit a model, and what each trains.

    "whole" equals "continued" if the model has no extension modules; then only "continued" is
    listed.
    """
    found = {}
    for stage, about in STAGES.items():
        try:
            check_stage(model, stage)
        except InputError:
            continue
        found[stage] = about
    if "continued" in found:
        found.pop("whole", None)
    return found


def has_mlm_head(model: LanguageModel) -> bool:
    """Return whether a model's config.json names a class with a masked-language-model head."""
    return model.architecture in HEADS
