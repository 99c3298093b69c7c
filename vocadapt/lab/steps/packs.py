"""The steps that make, apply and remove vocabulary packs."""

from dataclasses import dataclass, replace

from vocadapt.lab.steps.step import MODEL, Role, Step, StepContext, measure_model
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.adapted_model import add_to_record
from vocadapt.models.language_model import open_model
from vocadapt.models.packs.apply import apply_pack, remove_pack
from vocadapt.models.packs.make import make_pack
from vocadapt.models.packs.pack import PACK_FILE, PackFacts, hash_pack_file, load_pack
from vocadapt.progress import part
from vocadapt.settings import CheckedSettings, setting

BASE = replace(MODEL, help="base model: hub name or model folder", label="Base model")


def only_adds_tokens(model: Artifact) -> bool:
    """Return whether tokens were appended to the base of a model, and nothing else changed."""
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
PACKED = replace(MODEL, help="model folder to which a pack was applied")


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
        True, "skip the certificate of the result", flag="--no-certificate", label="Certificate"
    )


@dataclass(frozen=True)
class RemovePackStep(CheckedSettings):
    """Removing a pack has no settings."""


@dataclass(frozen=True)
class MakeNumbers(PackFacts):
    """A pack and the size and SHA-256 of its file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class ApplyNumbers:
    """The pack of a model, the tokens before and after, and whether the model was certified."""

    pack: str
    tokens_before: int
    added: int
    tokens_after: int
    rows_after: int
    certificate: bool | None


@dataclass(frozen=True)
class RemoveNumbers:
    """The base model without its pack: tokens before and after."""

    tokens_before: int
    removed: int
    tokens_after: int
    rows_after: int


def make(context: StepContext, settings: MakePackStep) -> MakeNumbers:
    """Make a pack from an adapted model."""
    context.progress(0.0, "comparing the adapted model with its base")
    adapted = open_model(context.spec.inputs["adapted"][0], context.spec.offline or None)
    file = context.draft / PACK_FILE
    make_pack(context.inputs.model, adapted, settings.called or adapted.name).save(file)
    facts = load_pack(file).summary()
    return MakeNumbers(**vars(facts), bytes=file.stat().st_size, sha256=hash_pack_file(file))


def apply(context: StepContext, settings: ApplyPackStep) -> ApplyNumbers:
    """Apply a pack to its base, and certify the result against it."""
    from vocadapt.models.certificate.certificate import certify

    context.progress(0.0, "applying the pack")
    model = context.inputs.model
    pack = load_pack(context.spec.inputs["pack"][0])
    rows = apply_pack(model, pack, context.draft)
    passed = None
    if settings.certify:
        progress = part(context.progress, 0.5, 1.0)
        certificate = certify(model, open_model(context.draft), progress=progress)
        add_to_record(context.draft, certificate=certificate.to_dict())
        passed = certificate.passed
    return ApplyNumbers(
        pack.name,
        rows.tokens,
        rows.new_tokens - rows.tokens,
        rows.new_tokens,
        rows.new_rows,
        passed,
    )


def remove(context: StepContext, settings: RemovePackStep) -> RemoveNumbers:
    """Remove the pack of a model: the result is the base model."""
    context.progress(0.0, "restoring the base model")
    rows = remove_pack(context.inputs.model, context.draft)
    return RemoveNumbers(rows.tokens, rows.tokens - rows.new_tokens, rows.new_tokens, rows.new_rows)


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
    needs=(replace(MODEL, help="base model of the pack"), PACK),
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
