"""pretrain: continued pretraining of a model, or pretraining from scratch; gates: weights of the
extension modules of an exBERT.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from vocadapt.cli.command import (
    Answer,
    Command,
    Options,
    exclusive,
    group,
    option,
    read_given,
    read_settings,
    setting_options,
)
from vocadapt.cli.options import (
    CHECKPOINTS,
    CORPUS,
    CORPUS_SETTINGS_WITHOUT_SEED,
    OFFLINE,
    Place,
    describe_place,
    destination_options,
    model_options,
    open_named_model,
    read_texts,
    write_artifact,
)
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.cli.workspace_options import OVERWRITE_FILE, output_option
from vocadapt.errors import InputError
from vocadapt.lab.reports.pretraining import GateReport, GateSettings, measure_gates_on_text
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.finetune import OldEmbeddings
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.recipe_changes import BUDGET, check_budget
from vocadapt.settings import get_settings
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.settings import (
    PRETRAINING_PRESETS,
    STAGES,
    MaskedSettings,
    pretraining_preset,
)
from vocadapt.training.masked.validation import LEVEL, describe_change
from vocadapt.training.rounding import describe_rounding
from vocadapt.training.trained_parameters import describe_old_embeddings

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
# Rendered as sentences in the text output.
NESTED = ("loss_per_character", "loss_per_byte", "loss_interval", "loss_change")
OPTIONAL = (
    "loss_per_byte",
    *("trained", "optimizer_bytes", "old_embeddings"),
    *("pairs", "of_documents", "true_next", "padding"),  # of --nsp
    *("stored_as", "updates_lost_to_rounding"),
    "held_out_too_long",
)
FEW_STEPS = 50  # with fewer steps, a warning is shown
SHORT = "Few steps: the model has hardly changed. Give a larger budget, or a smaller --batch-size."


class Losses(TypedDict):
    """Held-out loss in nats, and that of a unigram model."""

    before: float
    after: float
    unigram: float


class LossIntervals(TypedDict):
    """95 % intervals of the losses; null if there is too little text."""

    before: list[float] | None
    after: list[float] | None


class LossChange(TypedDict):
    """Change of the loss per character, its 95 % interval, and the verdict."""

    value: float
    interval: list[float] | None
    verdict: str


class PretrainAnswer(Place):
    """The training, and the masked-language-model loss on held-out text before and after it."""

    stage: str
    tokens: int
    steps: int
    tokens_per_second: float
    trainable: int
    frozen: int
    loss_per_character: Losses
    loss_interval: LossIntervals
    loss_change: LossChange
    held_out_words: int
    held_out_windows: int
    held_out_too_long: NotRequired[int]
    loss_per_byte: NotRequired[Losses]
    trained: NotRequired[str]
    optimizer_bytes: NotRequired[int]
    old_embeddings: NotRequired[OldEmbeddings]
    pairs: NotRequired[int]
    of_documents: NotRequired[int]
    true_next: NotRequired[float]
    padding: NotRequired[float]
    next_sentence_loss: NotRequired[float]
    stored_as: NotRequired[str]
    updates_lost_to_rounding: NotRequired[float]
    checkpoints: list[str]


class GateKind(TypedDict):
    """A kind of token: how many, and mean and sd of the weight in each layer."""

    tokens: int
    share: list[float | None]
    sd: list[float | None]


class GatesAnswer(TypedDict):
    """Weight of the extension module in the output of each layer, by kind of token."""

    layers: int
    kinds: dict[str, GateKind]
    windows: int
    too_long: int
    lines: int
    of: int
    start: float
    out: NotRequired[str]
    seconds: float


def _pretrain(options: Options) -> Answer[PretrainAnswer]:
    # Exactly one of the two is required.
    if options.from_scratch == bool(options.model):
        raise InputError(
            "Nothing to train was named.",
            "For a new model give --from-scratch, for an existing one --model M --stage S.",
        )
    if options.from_scratch:
        spec = _build_scratch_spec(options)
    else:
        spec = _build_continued_spec(options)
    artifact = write_artifact(spec, options)
    numbers: Mapping[str, Any] = artifact.manifest.numbers
    place = describe_place(artifact)

    # 1. The figures for JSON.
    names = (*REPORTED, *(name for name in OPTIONAL if name in numbers))
    reported = {name: numbers[name] for name in names}
    if curve := numbers.get("next_curve"):
        reported["next_sentence_loss"] = curve[-1][1]
    checkpoints = [str(artifact.folder / folder) for folder in numbers.get("checkpoints", ())]
    # The seconds are those of the training.
    answer = {"stage": numbers["stage"], **place, **reported, "checkpoints": checkpoints}

    # 2. The text: losses and rounding as sentences.
    shown = {name: value for name, value in reported.items() if name not in NESTED}
    shown |= _describe_losses(numbers)
    if old := describe_old_embeddings(numbers):
        shown["old_embeddings"] = old
    shown["change"] = describe_change(numbers["loss_change"], numbers["held_out_words"])
    if rounding := describe_rounding(numbers):
        shown["rounding"] = rounding
    if checkpoints:
        shown["checkpoints"] = "; ".join(checkpoints)
    text = format_facts({**shown, "out": place["out"], "manifest": place["manifest"]})
    if numbers["steps"] < FEW_STEPS:
        text += f"\n\n{SHORT}"
    return Answer(cast(PretrainAnswer, answer), text)


def _describe_losses(numbers: Mapping[str, Any]) -> dict[str, str]:
    """Describe the held-out losses per character, with their intervals, and per byte."""
    described = {}
    for name in ("unigram", "before", "after"):
        loss = f"{numbers['loss_per_character'][name]:.3f}"
        if interval := numbers["loss_interval"].get(name):
            loss += f" ({LEVEL:.0%} interval {interval[0]:.3f} to {interval[1]:.3f})"
        if per_byte := numbers.get("loss_per_byte"):
            loss += f"; {per_byte[name]:.3f} per byte"
        described[f"loss per character, {name}"] = loss
    return described


def _build_scratch_spec(options: Options) -> Spec:
    """Build the step of a pretraining from scratch."""
    _refuse_settings(options, "--model", ContinuedSettings)
    if options.settings is not None:
        raise InputError("--settings does not apply here.", "Use it with --model.")
    check_budget(vars(options))
    return Spec(
        read_settings(options, PretrainStep),
        {"text": options.corpus},
        options.offline,
    )


def _build_continued_spec(options: Options) -> Spec:
    """Build the step of a continued pretraining."""
    _refuse_settings(options, "--from-scratch", ScratchSettings, PretrainStep)
    if options.stage is None:
        raise InputError(
            "Continued pretraining needs --stage.",
            f"Choose one of: {', '.join(STAGES)}.",
        )
    check_budget(vars(options))
    training = pretraining_preset(options.settings or "quick")
    base = ContinuePretrainingStep(pretraining=ContinuedSettings(training=training))
    settings = read_settings(options, ContinuePretrainingStep, base)
    return Spec(
        settings,
        {"model": options.model, "text": options.corpus},
        options.offline,
    )


def _refuse_settings(options: Options, owner: str, *kinds: type) -> None:
    """Raise InputError if a setting of these classes was given; they apply only with `owner`."""
    # Otherwise the setting would be ignored silently.
    for settings in kinds:
        for name in read_given(options, settings):
            raise InputError(
                f"{get_settings(settings)[name].flag} does not apply here.",
                f"Use it with {owner}.",
            )


EXPLAINED_PRESETS = "; ".join(
    f"{name}: {preset.about}" for name, preset in PRETRAINING_PRESETS.items()
).replace("%", "%%")
PRETRAIN = Command(
    _pretrain,
    (
        option(
            "--from-scratch",
            action="store_true",
            help="train a new, small model with a vocabulary of its own …",
        ),
        option(
            "--model",
            metavar="M",
            help="… or continue pretraining of a model with its masked-language-model head: hub name"
            " or folder",
        ),
        setting_options(ContinuedSettings(stage=""), "stage"),
        option(
            "--corpus", nargs="+", metavar="TEXT", required=True, help="files and folders of text"
        ),
        option(
            "--settings",
            choices=PRETRAINING_PRESETS,
            metavar="NAME",
            help=f"named settings for --model (default quick). {EXPLAINED_PRESETS}",
        ),
        exclusive(setting_options(MaskedSettings, *BUDGET, shown_default="the settings'")),
        setting_options(MaskedSettings, except_=(*BUDGET, "lr")),
        setting_options(
            MaskedSettings,
            "lr",
            help=f"peak learning rate (default {MaskedSettings().lr}; with --model"
            f" {PRETRAINING_PRESETS['quick'].settings.lr})",
        ),
        group(
            "with --model",
            setting_options(ContinuedSettings, "trained", "train_heads", "nsp", "keep_minutes"),
        ),
        group(
            "with --from-scratch",
            setting_options(ScratchSettings, except_=("training",)),
            setting_options(PretrainStep, "half"),
        ),
        OFFLINE,
        CORPUS_SETTINGS_WITHOUT_SEED,
        CHECKPOINTS,
        *destination_options(),
    ),
)


MEANING = (
    "Each value is the weight of the extension module in the output of a layer: 0 means BERT's layer"
    " alone, 1 the extension module alone."
)


def _report_gates(options: Options) -> Answer[GatesAnswer]:
    start = time.perf_counter()
    out = None
    if options.out:
        out = Path(options.out)
        check_free_file(out, options.overwrite)
    # 1. Measure.
    settings = read_settings(options, GateSettings)
    corpus = read_texts(options, options.corpus)
    found = measure_gates_on_text(open_named_model(options), corpus, settings, options.progress)
    # 2. The figures, which are also written to the file.
    answer = found.to_dict()
    weights = found.shares
    facts = {
        "lines": f"{found.lines:,} of {found.of:,}",
        "windows": weights.windows,
        "windows too long": weights.too_long,
        "before training": f"about {found.start:.2g} on average",
    }
    if out is not None:
        answer["out"] = facts["out"] = str(out)
    answer["seconds"] = time.perf_counter() - start
    # The file contains the whole answer, so it is written last.
    if out is not None:
        content = json.dumps(answer)
        if out.suffix != ".json":
            content = _render_tsv(found)
        with open_file_draft(out) as draft:
            draft.write_text(content, encoding="utf-8")
    # 3. The table: one column per kind of token, one row per layer.
    layers = enumerate(weights.means.tolist(), start=1)
    rows = [("tokens", *weights.counts), *((f"layer {i}", *means) for i, means in layers)]
    table = format_table(("", *weights.kinds), rows)
    text = f"{table}\n\n{format_facts(facts)}\n\n{MEANING}"
    return Answer(cast(GatesAnswer, answer), text)


def _render_tsv(found: GateReport) -> str:
    """Format one line per layer and kind: layer, kind, tokens, mean gate, standard deviation."""
    weights = found.shares
    lines = ["layer\tkind\ttokens\tshare\tsd\n"]
    for layer in range(weights.layers):
        for i, kind in enumerate(weights.kinds):
            mean, deviation = weights.means[layer, i], weights.deviations[layer, i]
            lines.append(f"{layer + 1}\t{kind}\t{weights.counts[i]}\t{mean:.6f}\t{deviation:.6f}\n")
    return "".join(lines)


GATES = Command(
    _report_gates,
    (
        *model_options(help="exBERT folder written by adapt --preset exbert-… or by pretrain"),
        CORPUS,
        setting_options(GateSettings),
        output_option(
            "--out",
            metavar="FILE",
            help="output file: .json as with --json, else tab-separated columns",
        ),
        OVERWRITE_FILE,
        CORPUS_SETTINGS_WITHOUT_SEED,
    ),
    description="Report the weight of the extension module in each layer of an exBERT, by kind of"
    " token: 1 minus the gate, which weights BERT's own layer. Before training, the weight is close"
    " to its initial value, .5 as published, with deviations of up to .1.",
)
