"""The step that makes contextual word vectors: text and model in, static vectors out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.lab.inputs.corpora import read_or_sample_counts
from vocadapt.lab.steps.step import (
    MODEL,
    TEXT,
    WORDS,
    PlannedStep,
    SpaceNumbers,
    Step,
    StepContext,
    TextStep,
    summarize_space,
)
from vocadapt.models.contextual.occurrences import ContextualSettings, find_targets
from vocadapt.models.contextual.word_vectors import (
    check_layer,
    compute_contextual_vectors,
    count_max_tokens,
    measure_contextual,
)
from vocadapt.progress import part
from vocadapt.spaces.io.storage import save_space
from vocadapt.spaces.io.word_files import read_word_lines
from vocadapt.system.files import temporary_folder
from vocadapt.system.forecasts import Work
from vocadapt.text.words import write_sentences


@dataclass(frozen=True)
class ContextualStep(TextStep):
    """Which lines are read, and which contextual vectors are made of them."""

    contextual: ContextualSettings = field(default_factory=ContextualSettings)


@dataclass(frozen=True, kw_only=True)
class ContextualNumbers(SpaceNumbers):
    """Figures of contextual vectors; `averaged`: outputs; `left_out`: words, by reason."""

    layer: int
    layers: int
    unit: str
    averaged: int
    wordpieces_read: int
    wordpieces_a_second: int | None
    left_out: Mapping[str, int]


def make_contextual_vectors(context: StepContext, settings: ContextualStep) -> ContextualNumbers:
    """Average a layer's output over the occurrences of each word: text and model → word vectors."""
    # 1. Read the text once: its words are counted, and its sentences written one per line.
    chosen = settings.contextual
    check_layer(context.inputs.model, chosen)  # before anything long begins
    text = context.inputs.text
    wanted = _read_wanted_words(context, chosen.unit)
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(
            text,
            context.inputs.model.splitter,
            sentences,
            part(context.progress, 0.0, 0.05),
            pretokens=True,
        )
        targets = find_targets(
            counts.counts,
            context.inputs.model.vocabulary,
            chosen,
            wanted,
            context.inputs.model.splitter,
        )

        # 2. Average the layer's output over the occurrences of each word.
        made = compute_contextual_vectors(
            sentences, targets, context.inputs.model, chosen, part(context.progress, 0.05, 1.0)
        )
    save_space(made.space, context.draft)
    return ContextualNumbers(
        **vars(summarize_space(made.space)),
        layer=made.layer,
        layers=made.layers,
        unit=chosen.unit,
        averaged=made.occurrences,
        wordpieces_read=made.tokens,
        wordpieces_a_second=round(made.tokens / made.seconds) if made.seconds else None,
        left_out=targets.left_out,
    )


def _read_wanted_words(context: StepContext, unit: str) -> Sequence[str] | None:
    """Read the requested words, normalized by the model's splitter; tokens are taken literally."""
    file = context.spec.one("words")
    if file is None:
        return None
    lines = [line for line in read_word_lines(Path(file)) if line]
    if unit == "tokens":
        return lines
    # Heart → heart for an uncased model. Anything but one word is left as it is.
    normalized = []
    for line in lines:
        words = context.inputs.model.splitter.words(line)
        normalized.append(words[0] if len(words) == 1 else line)
    return normalized


def measure_reading(planned: PlannedStep) -> Work:
    """Return the most work that the forward passes can be, from the words of the text."""
    model, settings = planned.inputs.model, planned.spec.settings.contextual
    text = planned.inputs.text
    counts = read_or_sample_counts(planned.root, text, model.splitter).counts
    targets = find_targets(counts, model.vocabulary, settings, splitter=model.splitter)
    return measure_contextual(count_max_tokens(counts, targets, model, settings), model, settings)


STEP = Step(
    "contextual",
    "Compute contextual vectors",
    ContextualStep,
    make_contextual_vectors,
    makes="vectors",
    needs=(TEXT, MODEL),
    takes=(replace(WORDS, help="file of the words to include, one per line, however rare"),),
    libraries=("numpy", "tokenizers", "safetensors", "torch", "transformers"),
    description=(
        "Compute contextual vectors: the output of a layer for each word, averaged over its"
        " occurrences in a text. The result is used like any other word vectors. Do not confuse"
        " them with a model's input embeddings (called contextual embeddings by Fast 2023), which"
        " every command that takes vectors or a model reads from the model, without a text."
    ),
    command=("vectors", "contextual"),
    start_up=11.0,
    work=measure_reading,
    seed="contextual.seed",
)
