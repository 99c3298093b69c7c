"""Gates of an exBERT on a sample of lines of a text."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vocadapt.analysis.gates import GateStatistics, measure_gates
from vocadapt.models.language_model import LanguageModel
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import MAX_SEED, check_settings, setting
from vocadapt.text.corpus import Corpus

LINES = 40


@dataclass(frozen=True)
class GateSettings:
    """Which lines of a text the gates are measured on."""

    lines: int = setting(
        LINES, "number of lines to read, drawn at random", high=10_000_000, empty="all"
    )
    seed: int = setting(1, "random seed of the sampled lines", high=MAX_SEED)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class GateReport:
    """Gate statistics on `lines` sampled of the `of` lines of a text; `start`: the initial
    fraction.
    """

    shares: GateStatistics
    lines: int
    of: int
    start: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self.shares.to_dict(), "lines": self.lines, "of": self.of, "start": self.start}


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
    shares = measure_gates(model, lines, part(progress, 0.2, 1.0))
    return GateReport(
        shares, len(lines), of, 1 - ExBertConfig.from_pretrained(model.path).gate_start
    )


def sample_lines(
    corpus: Corpus, settings: GateSettings, progress: Progress = silent
) -> tuple[list[str], int]:
    """Sample non-empty lines uniformly, in their order; also return how many there are.

    Reservoir sampling: the text is read once, and only the sample is kept in memory.
    """
    rng, kept, of = np.random.default_rng(settings.seed), dict[int, tuple[int, str]](), 0
    for passage in corpus.passages():
        for line in filter(None, map(str.strip, passage.text.splitlines())):
            place = of if not settings.lines or of < settings.lines else int(rng.integers(of + 1))
            if not settings.lines or place < settings.lines:
                kept[place] = (of, line)
            of += 1
        progress(passage.fraction, f"{of:,} lines")
    return [line for _, line in sorted(kept.values())], of
