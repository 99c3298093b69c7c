"""pretrain: continued pretraining of a model, or pretraining from scratch."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from vocadapt.cli.options import (
    add_checkpoints,
    add_offline,
    add_out,
    add_text,
    corpus_settings,
    write,
)
from vocadapt.cli.parser import Parser, setting
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.tables import format_facts
from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import flag_of
from vocadapt.lab.steps.continue_pretraining import ContinuedPretrainingStep
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.progress import Progress
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.held_out_loss import LEVEL, describe_change
from vocadapt.training.masked.stages import PRETRAINING_PRESETS, STAGES, pretraining_preset
from vocadapt.training.masked.trainer import MaskedSettings
from vocadapt.training.rounding import describe_rounding
from vocadapt.training.schedules import SCHEDULES
from vocadapt.vocabulary.families import list_trainers

SIZES = {
    "vocabulary": "maximum number of wordpieces",
    "layers": "number of layers",
    "hidden": "hidden size (a multiple of 64)",
}
TRAINING = {
    "length": "wordpieces per block",
    "batch": "blocks per step",
    "parts": "number of gradient accumulation steps per batch, to save memory",
    "lr": "peak learning rate",
    "warm_up": "fraction of the steps with a rising learning rate",
    "share": "fraction of tokens to mask",
    "dropout": "dropout probability during training",
    "save_minutes": "minutes between checkpoints, of --checkpoints or of a job",
    "seed": "random seed",
}
BUDGET = {
    "epochs": "passes over the text",
    "tokens": "wordpieces to train on",
    "hours": "time budget, converted to steps by the speed of the first ones",
}
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
FEW = 50  # steps below which a training has hardly begun
SHORT = "Few steps: the model has hardly moved. Give a larger budget, or a smaller --batch-size."
NEW = ("trainer", "cased", "random_rows", *SIZES)  # settings of a new model only


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
    stages = "; ".join(f"{name}: {about}" for name, about in STAGES.items())
    parser.add_argument(
        "--stage", choices=STAGES, metavar="STAGE", help=f"what to train of --model. {stages}"
    )
    parser.add_argument(
        "--corpus", nargs="+", metavar="TEXT", required=True, help="files and folders of text"
    )
    _add_training_options(parser)
    heads, kept = (
        "also train the heads in the stage extension",
        "minutes between models saved during training of --model",
    )
    parser.add_argument("--train-heads", action="store_true", default=None, help=heads)
    pairs = (
        "add next-sentence prediction for --model (documents are separated by empty lines, or are"
        " single lines)"
    )
    parser.add_argument("--nsp", action="store_true", default=None, help=pairs)
    parser.add_argument(
        "--keep-minutes",
        type=setting(ContinuedSettings, "keep_minutes"),
        metavar="X",
        help=f"{kept} (default none)",
    )
    _add_scratch_options(parser)
    add_offline(parser)
    add_text(parser, own_seed=False)
    add_checkpoints(parser)
    add_out(parser)


def _add_training_options(parser: Parser) -> None:
    new, further = MaskedSettings(), PRETRAINING_PRESETS["quick"].settings
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
    for name, meaning in BUDGET.items():
        budget.add_argument(
            flag_of(name),
            dest=name,
            type=setting(MaskedSettings, name),
            metavar="X",
            help=meaning,
        )
    for name, meaning in TRAINING.items():
        first, then = getattr(new, name), getattr(further, name)
        default = f"{first}" if first == then else f"{first}; with --model {then}"
        parser.add_argument(
            flag_of(name),
            dest=name,
            type=setting(MaskedSettings, name),
            metavar="X",
            help=f"{meaning} (default {default})",
        )
    schedules = "; ".join(f"{name}: {schedule.about}" for name, schedule in SCHEDULES.items())
    parser.add_argument(
        "--lr-scheduler",
        dest="schedule",
        choices=SCHEDULES,
        help=f"learning-rate schedule (default {new.schedule}). {schedules}",
    )


def _add_scratch_options(parser: Parser) -> None:
    sizes = ScratchSettings()
    for name, meaning in SIZES.items():
        help = f"{meaning} of a new model (default {getattr(sizes, name)})"
        parser.add_argument(f"--{name}", type=setting(sizes, name), metavar="N", help=help)
    trainers = "; ".join(f"{name}: {trainer.about}" for name, trainer in list_trainers().items())
    help = f"WordPiece trainer of a new model. {trainers} (default {sizes.trainer})"
    parser.add_argument("--trainer", choices=list_trainers(), help=help)
    parser.add_argument(
        "--cased",
        action="store_true",
        default=None,
        help="keep capitals and accents in a new model",
    )
    parser.add_argument(
        "--random-rows",
        action="store_true",
        default=None,
        help="initialize embeddings of a new model randomly",
    )
    parser.add_argument("--half", action="store_true", help="save a new model in float16")


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
    _refuse(
        options, "It belongs to --model.", "stage", "train_heads", "nsp", "keep_minutes", "settings"
    )
    scratch = ScratchSettings(
        **_read_given(options, *NEW), training=MaskedSettings(**_read_training(options))
    )
    settings = PretrainStep(corpus_settings(options), scratch, options.half)
    return Spec("pretrain", settings, {"text": options.corpus}, options.offline)


def _build_continued_spec(options: Namespace) -> Spec:
    """Build the step of a continued pretraining."""
    _refuse(options, "It belongs to --from-scratch.", *NEW, "half")
    if options.stage is None:
        raise InputError(
            "A model needs a stage of continued pretraining: --stage.",
            f"One of: {', '.join(STAGES)}.",
        )
    training = pretraining_preset(options.settings or "quick", **_read_training(options))
    further = ContinuedSettings(
        options.stage,
        **_read_given(options, "train_heads", "nsp", "keep_minutes"),
        training=training,
    )
    inputs = {"model": options.model, "text": options.corpus}
    return Spec(
        "continued",
        ContinuedPretrainingStep(corpus_settings(options), further),
        inputs,
        options.offline,
    )


def _read_training(options: Namespace) -> dict[str, Any]:
    """Collect the training settings that were given; raise InputError for a budget of 0."""
    check_budget(options)
    return _read_given(options, *TRAINING, *BUDGET, "schedule")


def check_budget(options: Namespace) -> None:
    """Raise InputError for a budget that is not above 0."""
    for name in BUDGET:
        if (value := getattr(options, name)) is not None and not value > 0:
            raise InputError(
                f"{flag_of(name)} must be above 0, got {value}.",
                "Leave it out for the default, or give a budget.",
            )


def _read_given(options: Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _refuse(options: Namespace, remedy: str, *names: str) -> None:
    """Raise InputError if one of these options is given."""
    for name in names:
        if getattr(options, name) not in (None, False):
            raise InputError(f"{flag_of(name)} does not apply here.", remedy)


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
    few = "" if numbers["steps"] >= FEW else f"\n\n{SHORT}"
    return Answer(answer, f"{format_facts({**plain, **shown, **listed, **place})}{few}")


def _format_loss(numbers: Mapping[str, Any], name: str) -> str:
    """Format a loss per character, with its interval if there is one."""
    value, interval = numbers["loss_per_character"][name], numbers["loss_interval"].get(name)
    spread = f" ({LEVEL:.0%} interval {interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
    return f"{value:.3f}{spread}"


PRETRAIN = Command(_add_options, _pretrain)
