"""The step that makes contextual word vectors: text and model in, static vectors out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.files import temporary_folder
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.steps.context import StepContext, summarize_space
from vocadapt.lab.steps.step import MODEL, TEXT, WORDS, Numbers, Step
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.contextual.occurrences import ContextualSettings, find_targets
from vocadapt.models.contextual.word_vectors import (
    check_layer,
    compute_contextual_vectors,
    estimate_contextual_seconds,
)
from vocadapt.models.language_model import open_model
from vocadapt.progress import part
from vocadapt.settings import settings_from
from vocadapt.spaces.io.storage import save_space
from vocadapt.spaces.io.word_files import read_word_lines
from vocadapt.text.corpus import CorpusSettings
from vocadapt.text.words import write_sentences


@dataclass(frozen=True)
class ContextualStep:
    """Which lines are read, and which contextual vectors are made of them."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    contextual: ContextualSettings = field(default_factory=ContextualSettings)


def make_contextual_vectors(context: StepContext, settings: ContextualStep) -> Numbers:
    """Average a layer's output over the occurrences of each word: text and model → word vectors."""
    chosen = settings.contextual
    check_layer(context.model, chosen)  # before anything long begins
    text, wanted = (
        read_corpus(context.spec.inputs["text"], settings.corpus),
        _read_wanted_words(context, chosen.unit),
    )
    with temporary_folder() as folder:
        sentences = Path(folder) / "sentences.txt"
        counts = write_sentences(
            text, context.model.splitter, sentences, part(context.progress, 0.0, 0.05)
        )
        targets = find_targets(counts.counts, context.model.vocabulary, chosen, wanted)
        made = compute_contextual_vectors(
            sentences, targets, context.model, chosen, part(context.progress, 0.05, 1.0)
        )
    save_space(made.space, context.draft)
    return {
        **summarize_space(made.space),
        "layer": made.layer,
        "layers": made.layers,
        "unit": chosen.unit,
        "averaged": made.occurrences,
        "wordpieces_read": made.tokens,
        "wordpieces_a_second": round(made.tokens / made.seconds) if made.seconds else None,
        "left_out": dict(targets.left_out),
    }


def _read_wanted_words(context: StepContext, unit: str) -> Sequence[str] | None:
    """Read the requested words, normalized by the model's splitter; tokens are taken literally."""
    file = context.spec.one("words")
    if file is None:
        return None
    lines = [line for line in read_word_lines(Path(file)) if line]
    return lines if unit == "tokens" else [_normalize_word(line, context) for line in lines]


def _normalize_word(word: str, context: StepContext) -> str:
    """Normalize a word: Heart → heart for an uncased model. Anything but one word is left as it is."""
    words = context.model.splitter.words(word)
    return words[0] if len(words) == 1 else word


def estimate_reading(artifact: Artifact) -> float:
    """Estimate the seconds of the forward passes behind contextual vectors."""
    manifest = artifact.manifest
    settings = settings_from(ContextualStep, manifest.settings, artifact.name)
    model = open_model(artifact.folder.parents[1] / manifest.inputs["model"].paths[0], True)
    return estimate_contextual_seconds(
        manifest.numbers["wordpieces_read"], model, settings.contextual
    )


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
    page="pages/words/vectors.py",
    selected_by="vectors_vectors",
    start_up=11.0,
    estimate=estimate_reading,
    seed="contextual.seed",
    steady=True,
)
