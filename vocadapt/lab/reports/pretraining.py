"""Further pretraining as a page sees it: the models that came of it, their curves, and which stages
fit a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel, name_of
from vocadapt.training.masked.stages import STAGES, check_stage
from vocadapt.training.masked.validation import HeldOutCurve

FAMILIES = (
    "Bert",
    "ExBert",
    "MegatronBert",
    "MobileBert",
)  # whose masked-word head is where pretraining looks for it
HEADS = tuple(f"{family}For{head}" for family in FAMILIES for head in ("MaskedLM", "PreTraining"))


@dataclass(frozen=True, eq=False)
class PretrainedModel:
    """A model that was pretrained further, as its manifest tells of it."""

    artifact: Artifact

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.artifact.name

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The report of its training; of a model that was adapted and trained at once, what is told
        of the training.
        """
        return read_training_report(self.artifact)

    @property
    def model(self) -> str:
        """The model it was before, by its name on the hub or as its folder is called; "" where that
        was not kept (the demo's).
        """
        given = self.artifact.manifest.inputs.get("model")
        if given is None:
            return ""
        path = Path(given.paths[0])
        return LanguageModel(path, "").hub_name or name_of(path)

    @cached_property
    def curve(self) -> HeldOutCurve:
        """How its held-out loss fell; empty where that was not kept."""
        try:
            return HeldOutCurve.of_dict(self.numbers["held_out_curve"])
        except (KeyError, TypeError, ValueError):
            return HeldOutCurve()

    @property
    def asked(self) -> tuple[str, ...]:
        """What the words it was asked depend on: levels of loss compare only where that is the
        same.
        """
        manifest = self.artifact.manifest
        settings = manifest.settings
        training = (
            settings["further"] if "further" in settings else settings["recipe"]["further"]
        )["training"]
        given = manifest.inputs.get("text")
        text = given.stamp if given else self.artifact.stamp
        return text, *(
            str(value) for value in (settings["corpus"], training["seed"], training["length"])
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """The folders of the models that were saved on the way, for fine-tuning to begin from."""
        return tuple(
            str(self.artifact.folder / folder) for folder in self.numbers.get("checkpoints", ())
        )


def list_pretrained_models(workspace: Workspace) -> list[PretrainedModel]:
    """The models of a workspace that were pretrained further, newest first."""
    found = (
        model
        for model in workspace.artifacts("models")
        if read_training_report(model).get("stage") in STAGES
    )
    return [
        PretrainedModel(model)
        for model in found
        if "loss_per_character" in read_training_report(model)
    ]


def have_same_masked_tokens(models: Sequence[PretrainedModel]) -> bool:
    """Whether these were asked the same held-out words, without which the levels of their losses do
    not compare.
    """
    digests = {str(one.numbers.get("held_out_asked", "")) for one in models}
    return len(digests if "" not in digests else {one.asked for one in models}) <= 1


def read_training_report(model: Artifact) -> dict[str, Any]:
    """What is told of a model's training: all of its figures, or of one that was adapted at once a
    part of them.
    """
    numbers = model.manifest.numbers
    return dict(numbers.get("further", numbers))


def list_stages(model: LanguageModel) -> dict[str, str]:
    """The stages that fit a model, and what each trains; of a model without modules, whole is
    continued by another name.
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
    """Whether a model's config.json names a class with a masked-word head, without which it cannot
    be pretrained.
    """
    return model.architecture in HEADS
