"""The step that counts the words of a text for another model; the counts are saved in the
workspace.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.lab.steps.corpus import CorpusStep, measure_counting, summarize_counts
from vocadapt.lab.steps.step import MODEL, TEXT, Numbers, Spec, Step, StepContext, TextStep


@dataclass(frozen=True)
class WordCountsStep(TextStep):
    """Settings that select the lines of the text to count."""


def count(context: StepContext, settings: WordCountsStep) -> Numbers:
    """Count the words of a text as a model splits them."""
    text = context.inputs.text
    counts = load_or_count_words(
        context.root, text, context.inputs.model.splitter, context.progress
    )
    return summarize_counts(text, counts)


def express_as_command(spec: Spec, folder: Path) -> Spec:
    """Return the spec of the command that counts the words."""
    return Spec(CorpusStep(corpus=spec.settings.corpus), spec.inputs)


STEP = Step(
    "word-counts",
    "Count words",
    WordCountsStep,
    count,
    makes="word-counts",
    needs=(replace(TEXT, flag=""), replace(MODEL, bare=True)),
    command=("words", "count"),
    out="",
    express=express_as_command,
    start_up=1.0,
    work=measure_counting,
)
