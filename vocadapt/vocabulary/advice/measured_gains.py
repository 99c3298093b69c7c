"""Changes on tasks that were measured once, for the advice: nothing is forecast from them.

A forecast of the gain from the P@1 of the alignment was checked on a task that it was not fitted
on: its mean error, .0136, is not below that of always forecasting the mean gain, .0134
(docs/evidence.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vocadapt.report.table import Column, Table

SOURCE = (
    "Measured with all-MiniLM-L6-v2 on NCBI-disease, BC5CDR-chem and GAD, 1,000 training examples,"
    " three seeds, both tokenizations pooled (docs/evidence.md). Other models, tasks and texts may"
    " differ, so no gain is forecast for yours."
)


COLUMNS = (
    Column("words", "Million words of text", "Size of the domain text.", "number"),
    Column("embeddings", "Embeddings", "How the embeddings of new words were initialized."),
    Column("p1", "P@1", "P@1 of the alignment with CSLS on held-out anchors.", "fraction"),
    Column("gain", "Mean change in F1", "Over the model as it is; mean of three tasks.", "signed"),
    Column("low", "95 % interval", "Of the change.", "signed", beside="high", between=" to "),
)


@dataclass(frozen=True)
class MeasuredGain:
    """The mean gain in F1 over the model as it is, over three tasks, with its 95 % interval.

    words: of the domain text, in millions. p1: P@1 of the alignment with CSLS on held-out anchors.
    """

    words: int
    embeddings: str
    p1: float
    gain: float
    low: float
    high: float


MEASURED_GAINS = (
    MeasuredGain(1, "random", 0.0, -0.023, -0.044, -0.006),
    MeasuredGain(1, "least-squares", 0.045, -0.017, -0.042, -0.002),
    MeasuredGain(1, "ensemble", 0.108, -0.015, -0.030, -0.004),
    MeasuredGain(15, "random", 0.0, -0.016, -0.031, 0.002),
    MeasuredGain(15, "least-squares", 0.218, -0.013, -0.028, 0.000),
    MeasuredGain(15, "ensemble", 0.290, -0.003, -0.019, 0.010),
)

MEASURED_TABLE = Table("Measured changes of task scores", COLUMNS, MEASURED_GAINS, (SOURCE,))
FULL_TASK = (  # experiments/full_task.json
    "On NCBI-disease with all training sentences and the default embeddings, mean F1 rose by .018"
    " (95 % interval .007 to .030)."
)


def summarize_gains(gains: Sequence[MeasuredGain] = MEASURED_GAINS) -> str:
    """Return a sentence that states in how many settings the mean and the interval are above zero,
    and in how many the interval is below.
    """
    above = sum(one.gain > 0 for one in gains)
    intervals_above = sum(one.low > 0 for one in gains)
    intervals_below = sum(one.high < 0 for one in gains)
    return (
        f"Mean F1 rose in {above} of {len(gains)} settings; the 95 % interval is above zero in"
        f" {intervals_above}, below zero in {intervals_below}."
    )
