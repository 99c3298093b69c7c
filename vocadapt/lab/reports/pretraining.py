"""Reports on continued pretraining: the trained models, their loss curves, the stages of a model,
and the gates of an exBERT on a sample of lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vocadapt.analysis.gates import GateStatistics, measure_gates
from vocadapt.errors import InputError
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_folder import name_of
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import MAX_SEED, CheckedSettings, setting
from vocadapt.system.json_values import build_value
from vocadapt.text.corpus import Corpus
from vocadapt.text.formats.text_file import split_lines
from vocadapt.training.masked.report import TrainingReport
from vocadapt.training.masked.settings import STAGES, check_stage
from vocadapt.training.masked.validation import HeldOutCurve

LINES = 40  # lines that gates are measured on, by default


@dataclass(frozen=True, eq=False)
class PretrainedModel:
    """A model with continued pretraining, described by its manifest."""

    artifact: Artifact

    @property
    def name(self) -> str:
        """Name of its folder."""
        return self.artifact.name

    @cached_property
    def report(self) -> TrainingReport:
        """The training report, also if the model was adapted and trained in one step."""
        try:
            report: TrainingReport = build_value(
                TrainingReport, read_training_report(self.artifact)
            )
        except (TypeError, AttributeError) as error:
            raise InputError(
                f"The figures of the training of {self.name} cannot be read: {error}.",
                f"Delete {self.name}, and create it again.",
            ) from error
        return report

    @property
    def model(self) -> str:
        """Name of the model it was trained from, on the hub or of its folder; "" if unknown."""
        given = self.artifact.manifest.inputs.get("model")
        if given is None:
            return ""
        path = Path(given.paths[0])
        return LanguageModel(path, "").hub_name or name_of(path)

    @cached_property
    def curve(self) -> HeldOutCurve:
        """The held-out loss during training; empty if it was not kept."""
        try:
            return HeldOutCurve.from_dict(self.report.held_out_curve or {})
        except (KeyError, TypeError, ValueError):
            return HeldOutCurve()

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """Folders of the intermediate models, which can be fine-tuned."""
        return tuple(str(self.artifact.folder / folder) for folder in self.report.checkpoints)


def list_pretrained_models(workspace: Workspace) -> list[PretrainedModel]:
    """List the models of a workspace with continued pretraining, newest first."""
    found = []
    for model in workspace.artifacts("models"):
        report = read_training_report(model)
        if report.get("stage") in STAGES and "loss_per_character" in report:
            found.append(PretrainedModel(model))
    return found


def have_same_masked_tokens(models: Sequence[PretrainedModel]) -> bool:
    """Return whether the held-out losses of models are comparable: the same tokens were masked."""
    # A model whose masked tokens are unknown is comparable only with itself.
    return len({one.report.held_out_asked or one.name for one in models}) <= 1


def read_training_report(model: Artifact) -> Mapping[str, Any]:
    """Return the training report of a model, also if it was adapted and trained in one step."""
    numbers = model.manifest.numbers
    report: Mapping[str, Any] = numbers.get("pretraining", numbers)
    return report


def list_stages(model: LanguageModel) -> dict[str, str]:
    """Return the stages that fit a model, and what each trains; of equal ones, the first."""
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


@dataclass(frozen=True)
class GateSettings(CheckedSettings):
    """Which lines of a text the gates are measured on."""

    lines: int = setting(
        LINES, "number of lines to read, drawn at random", high=10_000_000, empty="all"
    )
    seed: int = setting(1, "random seed of the sampled lines", high=MAX_SEED)


@dataclass(frozen=True, eq=False)
class GateReport:
    """Gate statistics on `lines` of the `of` lines of a text; start: the initial fraction."""

    shares: GateStatistics
    lines: int
    of: int
    start: float


def measure_gates_on_text(
    model: LanguageModel,
    corpus: Corpus,
    settings: GateSettings | None = None,
    progress: Progress = silent,
) -> GateReport:
    """Sample lines of a text and measure the gates on them.

    Raises InputError if the model has no gates, or if there is no text.
    """
    from vocadapt.models.exbert.config import ExBertConfig

    lines, of = sample_lines(corpus, settings or GateSettings(), part(progress, 0.0, 0.2))
    return GateReport(
        measure_gates(model, lines, part(progress, 0.2, 1.0)),
        len(lines),
        of,
        1 - ExBertConfig.from_pretrained(model.path).gate_start,
    )


def sample_lines(
    corpus: Corpus, settings: GateSettings, progress: Progress = silent
) -> tuple[list[str], int]:
    """Sample non-empty lines uniformly, in their order; also return how many there are.

    Reservoir sampling: the text is read once, and only the sample is kept in memory.
    """
    rng = np.random.default_rng(settings.seed)
    kept = dict[int, tuple[int, str]]()
    of = 0
    for passage in corpus.passages():
        for line in filter(None, map(str.strip, split_lines(passage.text))):
            # The first lines fill the sample; line n then takes a random place among n, and is kept
            # if that is in the sample. So each line is kept with the same probability.
            place = of if not settings.lines or of < settings.lines else int(rng.integers(of + 1))
            if not settings.lines or place < settings.lines:
                kept[place] = (of, line)
            of += 1
        progress(passage.fraction, f"{of:,} lines")
    return [line for _, line in sorted(kept.values())], of
