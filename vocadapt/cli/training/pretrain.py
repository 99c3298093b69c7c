"""pretrain: continued pretraining of a model, or pretraining from scratch."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import (
    add_checkpoints,
    add_offline,
    add_out,
    add_text,
    write,
)
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_setting, add_settings, read_given, read_settings
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.steps.continue_pretraining import ContinuedPretrainingStep
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.progress import Progress
from vocadapt.settings import settings_of
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.held_out_loss import LEVEL, describe_change
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.stages import PRETRAINING_PRESETS, STAGES, pretraining_preset
from vocadapt.training.rounding import describe_rounding

BUDGET = ("epochs", "tokens", "hours")
REPORTED = (
    "tokens",
    "steps",
    "seconds",
    "tokens_per_second",
    "trainable",
    "frozen",
    "loss_per_character",
    "loss_interval",
    "loss_change",
    "held_out_words",
    "held_out_windows",
)
ROUNDED = ("stored_as", "updates_lost_to_rounding")
NESTED = (
    "loss_per_character",
    "loss_interval",
    "loss_change",
)  # rendered as sentences in the text output
PAIRS = ("pairs", "of_documents", "true_next", "padding")  # of --nsp
FEW_STEPS = 50  # steps below which a training has hardly begun
SHORT = "Few steps: the model has hardly moved. Give a larger budget, or a smaller --batch-size."


def _add_options(parser: Parser) -> None:
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="train a new, small model with a vocabulary of its own …",
    )
    parser.add_argument(
        "--model",
        metavar="M",
        help="… or continue pretraining of a model with its head: hub name or folder",
    )
    add_setting(parser, ContinuedSettings(stage=""), "stage")
    parser.add_argument(
        "--corpus", nargs="+", metavar="TEXT", required=True, help="files and folders of text"
    )
    _add_training_options(parser)
    continued = parser.add_argument_group("with --model")
    add_settings(continued, ContinuedSettings, "train_heads", "nsp", "keep_minutes")
    scratch = parser.add_argument_group("with --from-scratch")
    add_settings(scratch, ScratchSettings, except_=("training",))
    add_settings(scratch, PretrainStep, "half")
    add_offline(parser)
    add_text(parser, own_seed=False)
    add_checkpoints(parser)
    add_out(parser)


def _add_training_options(parser: Parser) -> None:
    presets = "; ".join(
        f"{name}: {preset.about}" for name, preset in PRETRAINING_PRESETS.items()
    ).replace("%", "%%")
    parser.add_argument(
        "--settings",
        choices=PRETRAINING_PRESETS,
        metavar="NAME",
        help=f"named settings for --model (default quick). {presets}",
    )
    budget = parser.add_mutually_exclusive_group()
    add_settings(budget, MaskedSettings, *BUDGET, default="the settings'")
    add_settings(parser, MaskedSettings, except_=(*BUDGET, "lr"))
    lr, continued = MaskedSettings().lr, PRETRAINING_PRESETS["quick"].settings.lr
    rates = f"peak learning rate (default {lr}; with --model {continued})"
    add_setting(parser, MaskedSettings, "lr", help=rates)


def _pretrain(options: Namespace, progress: Progress) -> Answer:
    if options.from_scratch == bool(options.model):
        raise InputError(
            "Nothing to train was named.",
            "For a new model give --from-scratch, for an existing one --model M --stage S.",
        )
    spec = _build_scratch_spec(options) if options.from_scratch else _build_continued_spec(options)
    return _build_answer(write(spec, options, progress))


def _build_scratch_spec(options: Namespace) -> Spec:
    """Build the step of a pretraining from scratch."""
    _refuse(options, ContinuedSettings, "It belongs to --model.")
    if options.settings is not None:
        raise InputError("--settings does not apply here.", "It belongs to --model.")
    check_budget(options)
    settings = read_settings(options, PretrainStep)
    return Spec("pretrain", settings, {"text": options.corpus}, options.offline)


def _build_continued_spec(options: Namespace) -> Spec:
    """Build the step of a continued pretraining."""
    _refuse(options, ScratchSettings, "It belongs to --from-scratch.")
    _refuse(options, PretrainStep, "It belongs to --from-scratch.")
    if options.stage is None:
        raise InputError(
            "A model needs a stage of continued pretraining: --stage.",
            f"One of: {', '.join(STAGES)}.",
        )
    check_budget(options)
    training = pretraining_preset(options.settings or "quick")
    base = ContinuedPretrainingStep(further=ContinuedSettings(training=training))
    settings = read_settings(options, ContinuedPretrainingStep, base)
    inputs = {"model": options.model, "text": options.corpus}
    return Spec("continued", settings, inputs, options.offline)


def check_budget(options: Namespace) -> None:
    """Raise InputError for a budget that is not above 0."""
    for name, value in read_given(options, MaskedSettings, BUDGET).items():
        if not value > 0:
            raise InputError(
                f"A budget must be above 0, got {value}.",
                "Leave it out for the default, or give a budget.",
                name,
            )


def _refuse(options: Namespace, settings: type, remedy: str) -> None:
    """Raise InputError if one of these settings is given."""
    for name in read_given(options, settings):
        raise InputError(f"{settings_of(settings)[name].flag} does not apply here.", remedy)


def _build_answer(made: Artifact) -> Answer:
    numbers: Mapping[str, Any] = made.manifest.numbers
    place = {"out": str(made.folder), "manifest": str(made.folder / "manifest.json")}
    shown = {
        f"loss a character, {name}": _format_loss(numbers, name)
        for name in ("unigram", "before", "after")
    }
    shown["change"] = describe_change(numbers["loss_change"], numbers["held_out_words"])
    optional = [name for name in (*PAIRS, *ROUNDED) if name in numbers]
    reported = {name: numbers[name] for name in (*REPORTED, *optional)}
    if "held_out_too_long" in numbers:
        reported["held_out_too_long"] = numbers["held_out_too_long"]
    if curve := numbers.get("next_curve"):
        reported["next_sentence_loss"] = curve[-1][1]
    plain = {name: value for name, value in reported.items() if name not in NESTED}
    if rounding := describe_rounding(numbers):
        shown["rounding"] = rounding
    kept = [str(made.folder / folder) for folder in numbers.get("checkpoints", ())]
    listed = {"checkpoints": "; ".join(kept)} if kept else {}
    answer = {"stage": numbers["stage"], **reported, "checkpoints": kept, **place}
    few = "" if numbers["steps"] >= FEW_STEPS else f"\n\n{SHORT}"
    return Answer(answer, f"{format_facts({**plain, **shown, **listed, **place})}{few}")


def _format_loss(numbers: Mapping[str, Any], name: str) -> str:
    """Format a loss per character, with its interval if there is one."""
    value, interval = numbers["loss_per_character"][name], numbers["loss_interval"].get(name)
    spread = f" ({LEVEL:.0%} interval {interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
    return f"{value:.3f}{spread}"


PRETRAIN = Command(_add_options, _pretrain)
