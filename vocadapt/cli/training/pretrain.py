"""pretrain: continued pretraining of a model, or pretraining from scratch; gates: weights of the
extension modules of an exBERT.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.analysis.gates import GateKind
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
    describe_place,
    destination_options,
    model_options,
    open_named_model,
    read_texts,
    write_artifact,
)
from vocadapt.cli.tables import format_facts
from vocadapt.cli.workspace_options import OVERWRITE_FILE, output_option
from vocadapt.errors import InputError
from vocadapt.lab.reports.pretraining import GateSettings, measure_gates_on_text
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.guards import Guard
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.step import Spec, read_numbers
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.lab.workspace.strict_json import dumps
from vocadapt.recipe_changes import BUDGET, check_budget
from vocadapt.report.table import Column, Finding, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import get_settings
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.from_scratch import ScratchSettings
from vocadapt.training.masked.report import TrainingReport
from vocadapt.training.masked.settings import (
    PRETRAINING_PRESETS,
    STAGES,
    MaskedSettings,
    pretraining_preset,
)
from vocadapt.training.masked.validation import LEVEL

FEW_STEPS = 50  # with fewer steps, a warning is shown
SHORT = "Few steps: the model has hardly changed. Give a larger budget, or a smaller --batch-size."


@dataclass(frozen=True, kw_only=True)
class PretrainAnswer(TrainingReport):
    """The trained model, the figures of its training, and what they show; the seconds are those of
    the training.
    """

    next_sentence_loss: float | None
    findings: tuple[Finding, ...]
    out: str
    manifest: str
    training_seconds: float | None = None
    guards: list[Guard]


@dataclass(frozen=True)
class GatesAnswer:
    """Weight of the extension module in the output of each layer, by kind of token."""

    layers: int
    kinds: Mapping[str, GateKind]
    windows: int
    too_long: int
    lines: int
    of: int
    start: float
    out: Path | None
    seconds: float

    def build_table(self) -> Table:
        """Return one column per kind of token, one row per layer."""
        columns = [Column("layer", "Layer", format="number")]
        for name, kind in self.kinds.items():
            label = f"{name.capitalize()} ({kind.tokens:,})"
            columns.append(Column(name, label, format="fraction"))
        rows = [
            {"layer": i + 1, **{name: kind.share[i] for name, kind in self.kinds.items()}}
            for i in range(self.layers)
        ]
        return Table("", tuple(columns), rows, (MEANING,))


def _pretrain(options: Options) -> Answer[PretrainAnswer]:
    # Exactly one of the two is required.
    if options.from_scratch == bool(options.model):
        raise InputError(
            "Nothing to train was named.",
            "For a new model give --from-scratch, for an existing one --model M --stage S.",
            code="nothing-to-train",
        )
    check_budget(options)
    if options.from_scratch:
        spec = _build_scratch_spec(options)
    else:
        spec = _build_continued_spec(options)
    artifact = write_artifact(spec, options)
    report: TrainingReport = read_numbers(artifact)
    place: dict[str, Any] = {**describe_place(artifact), "seconds": report.seconds}
    checkpoints = tuple(str(artifact.folder / folder) for folder in report.checkpoints)
    findings = report.list_findings()
    # The losses of each step are in the manifest.
    left_out = {"curve": None, "next_curve": None, "held_out_curve": None}
    answer = PretrainAnswer(
        **{**vars(report), **place, **left_out, "checkpoints": checkpoints},
        next_sentence_loss=report.next_curve[-1][1] if report.next_curve else None,
        findings=findings,
    )
    shown = {**vars(answer), **_describe_losses(report), "checkpoints": "; ".join(checkpoints)}
    del shown["loss_change"]  # a finding describes it
    facts = {name: value for name, value in shown.items() if value != ""}
    lines = [format_facts(facts), *map(str, findings)]
    if report.steps < FEW_STEPS:
        lines.append(SHORT)
    return Answer(answer, "\n".join(lines))


def _describe_losses(report: TrainingReport) -> dict[str, str]:
    described = {}
    for name in ("unigram", "before", "after"):
        loss = f"{report.loss_per_character[name]:.3f}"
        if interval := (report.loss_interval or {}).get(name):
            loss += f" ({LEVEL:.0%} interval {interval[0]:.3f} to {interval[1]:.3f})"
        if report.loss_per_byte:
            loss += f"; {report.loss_per_byte[name]:.3f} per byte"
        described[f"loss per character, {name}"] = loss
    return described


def _build_scratch_spec(options: Options) -> Spec:
    _refuse_settings(options, "--model", ContinuedSettings)
    if options.settings is not None:
        raise InputError("--settings does not apply here.", "Use it with --model.")
    return Spec(
        read_settings(options, PretrainStep),
        {"text": options.corpus},
        options.offline,
    )


def _build_continued_spec(options: Options) -> Spec:
    _refuse_settings(options, "--from-scratch", ScratchSettings, PretrainStep)
    if options.stage is None:
        raise InputError(
            "Continued pretraining needs --stage.",
            f"Choose one of: {', '.join(STAGES)}.",
        )
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
    "Each value is the weight of the extension module in the output of a layer: 0 means BERT's"
    " layer alone, 1 the extension module alone."
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
    # 2. The file, in which the figures are those of the answer.
    weights = found.shares
    answer = GatesAnswer(
        weights.layers,
        weights.by_kind,
        weights.windows,
        weights.too_long,
        found.lines,
        found.of,
        found.start,
        out,
        time.perf_counter() - start,
    )
    if out is not None:
        content = dumps(answer) if out.suffix == ".json" else _render_tsv(answer)
        with open_file_draft(out) as draft:
            draft.write_text(content, encoding="utf-8")
    # 3. The table, and what was read.
    facts = {
        "lines": f"{found.lines:,} of {found.of:,}",
        "windows": answer.windows,
        "windows too long": answer.too_long,
        "before training": f"about {found.start:.2g} on average",
        "out": out,
    }
    return Answer(answer, f"{write_terminal(answer.build_table())}\n\n{format_facts(facts)}")


def _render_tsv(answer: GatesAnswer) -> str:
    """Format one line per layer and kind: layer, kind, tokens, mean gate, standard deviation."""
    lines = ["layer\tkind\ttokens\tshare\tsd\n"]
    for layer in range(answer.layers):
        for name, kind in answer.kinds.items():
            figures = f"{kind.tokens}\t{kind.share[layer]:.6f}\t{kind.sd[layer]:.6f}"
            lines.append(f"{layer + 1}\t{name}\t{figures}\n")
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
