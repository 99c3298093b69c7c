"""The steps that make, apply and remove vocabulary packs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from vocadapt.lab.steps.step import MODEL, Role, Step, StepContext, measure_model
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.adapted_model import add_to_record
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.apply import apply_pack, remove_pack
from vocadapt.models.packs.base import open_base, read_applied_packs
from vocadapt.models.packs.make import make_pack
from vocadapt.models.packs.pack import PACK_FILE, PackFacts, load_pack
from vocadapt.models.packs.packed_record import PackedNumbers
from vocadapt.models.packs.stored_weights import hash_file
from vocadapt.progress import part
from vocadapt.settings import CheckedSettings, setting

BASE = replace(MODEL, help="base model: hub name or model folder", label="Base model")


def only_adds_tokens(model: Artifact) -> bool:
    """Return whether the record of a model states that tokens were appended to its base, and that
    nothing else changed.
    """
    numbers = model.manifest.numbers
    return numbers.get("kind") == "append" and numbers.keys().isdisjoint({"module", "pretraining"})


ADAPTED = Role(
    "adapted",
    "--adapted",
    "Adapted model",
    "models",
    help="folder of a model that only adds tokens to the base",
    source_role="model",
    is_suitable=only_adds_tokens,
)
PACK = Role("pack", "--pack", "Pack", "packs", help="file of a pack, or its folder")
WITH_OTHERS = replace(MODEL, help="base model of the pack, or a model with other packs on it")
PACKED = replace(MODEL, help="model folder to which packs were applied")
CERTIFICATE = "Certificate"


@dataclass(frozen=True)
class MakePackStep(CheckedSettings):
    """Settings of making a pack."""

    called: str = setting(
        "",
        "name of the pack in models that it is applied to",
        label="Name of the pack",
        empty="the adapted model's",
    )


@dataclass(frozen=True)
class ApplyPackStep(CheckedSettings):
    """Settings of applying a pack."""

    certify: bool = setting(
        True, "skip the certificate of the result", flag="--no-certificate", label=CERTIFICATE
    )


@dataclass(frozen=True)
class RemovePackStep(CheckedSettings):
    """Settings of removing a pack; only a model that still has other packs is certified."""

    pack: str = setting(
        "", "name or file of the pack to remove", label="Pack", empty="the only one"
    )
    certify: bool = setting(
        True, "skip the certificate of the result", flag="--no-certificate", label=CERTIFICATE
    )


class MakeNumbers(PackFacts):
    """A pack and the size and SHA-256 of its file."""

    bytes: int
    sha256: str


class ApplyNumbers(PackedNumbers):
    """The model with its packs, and whether it was certified."""

    certificate: NotRequired[bool]


class RestoredNumbers(TypedDict):
    """The base model without packs, and the SHA-256 of each of its files."""

    packs: list[str]
    restored: dict[str, str]


def make(context: StepContext, settings: MakePackStep) -> MakeNumbers:
    """Make a pack from an adapted model."""
    context.progress(0.0, "comparing the adapted model with its base")
    adapted = open_model(context.spec.inputs["adapted"][0], context.spec.offline or None)
    file = context.draft / PACK_FILE
    make_pack(context.inputs.model, adapted, settings.called or adapted.name).save(file)
    return {**load_pack(file).summary(), "bytes": file.stat().st_size, "sha256": hash_file(file)}


def apply(context: StepContext, settings: ApplyPackStep) -> ApplyNumbers:
    """Apply a pack to its base, or to a model with other packs."""
    context.progress(0.0, "applying the pack")
    pack = load_pack(context.spec.inputs["pack"][0])
    numbers = cast(ApplyNumbers, apply_pack(context.inputs.model, pack, context.draft).to_dict())
    if settings.certify:
        numbers["certificate"] = _certify(context)
    return numbers


def remove(context: StepContext, settings: RemovePackStep) -> ApplyNumbers | RestoredNumbers:
    """Remove a pack; removing the last pack restores the base model byte by byte."""
    context.progress(0.0, "restoring the base model")
    result = remove_pack(context.inputs.model, settings.pack, context.draft)
    if result is None:
        return {"packs": [], "restored": _list_restored(context)}
    numbers = cast(ApplyNumbers, result.to_dict())
    if settings.certify:
        numbers["certificate"] = _certify(context)
    return numbers


def _certify(context: StepContext) -> bool:
    """Certify the result against its base, add the certificate to its record, and return whether it
    passes.
    """
    from vocadapt.models.certificate.certificate import certify

    result = open_model(context.draft)
    with open_base(result) as (base, _):
        certificate = certify(base, result, progress=part(context.progress, 0.5, 1.0))
    add_to_record(context.draft, certificate=certificate.to_dict())
    return certificate.passed


def _list_restored(context: StepContext) -> dict[str, str]:
    """Return the SHA-256 of each restored file of the base."""
    applied = read_applied_packs(context.inputs.model)
    if applied is None:
        raise AssertionError("a model without packs cannot lose one")
    return {name: hash_file(Path(context.draft / name)) for name in applied.files}


LIBRARIES = ("tokenizers", "safetensors", "torch", "transformers")
MAKE = Step(
    "make-pack",
    "Make a vocabulary pack",
    MakePackStep,
    make,
    makes="packs",
    needs=(BASE, ADAPTED),
    command=("pack", "make"),
    libraries=LIBRARIES,
)
APPLY = Step(
    "apply-pack",
    "Apply a vocabulary pack",
    ApplyPackStep,
    apply,
    makes="models",
    needs=(WITH_OTHERS, PACK),
    command=("pack", "apply"),
    writes=measure_model,
    libraries=LIBRARIES,
)
REMOVE = Step(
    "remove-pack",
    "Remove a vocabulary pack",
    RemovePackStep,
    remove,
    makes="models",
    needs=(PACKED,),
    command=("pack", "remove"),
    writes=measure_model,
    libraries=LIBRARIES,
)
