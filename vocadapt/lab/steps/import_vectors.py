"""The step that imports word vectors of another program."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.lab.steps.step import (
    MODEL,
    TEXT,
    WORDS,
    Role,
    SpaceNumbers,
    Step,
    StepContext,
    summarize_space,
)
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.progress import part
from vocadapt.settings import CheckedSettings, setting
from vocadapt.spaces.io.case_folding import COLLISIONS, describe_capitals, fold_case
from vocadapt.spaces.io.import_formats import read_space
from vocadapt.spaces.io.storage import save_space
from vocadapt.spaces.space import EmbeddingSpace, check_magnitudes
from vocadapt.text.corpus import CorpusSettings

FILE = Role(
    "file",
    "",
    "File of word vectors",
    help="vectors as word2vec text or binary (.gz), fastText .vec, GloVe, .npy, safetensors",
)
MATRIX_WORDS = replace(WORDS, help="file with the words of a .npy matrix, one per line")
ONLY = replace(
    TEXT, flag="--only-words-of", help="keep only the words of this text (needs a model)"
)


@dataclass(frozen=True)
class ImportVectorsStep(CheckedSettings):
    """How imported vectors are read; `corpus`: how the text is read if only its words are imported."""

    limit: int = setting(0, "maximum number of words to read", label="Max vectors", empty="all")
    fold: bool = setting(
        False, "lowercase the words for an uncased model", flag="--fold-case", label="Fold case"
    )
    collisions: str = setting(
        "first",
        "rule for merging spellings that become equal",
        choices=tuple(COLLISIONS),
        label="Rule",
    )
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


@dataclass(frozen=True, kw_only=True)
class ImportNumbers(SpaceNumbers):
    """Figures of imported word vectors, and what was left out or changed."""

    notes: tuple[str, ...]


def import_vectors(context: StepContext, settings: ImportVectorsStep) -> ImportNumbers:
    """Import word vectors of another program."""
    words = context.spec.one("words")
    text = context.spec.one("text")
    if (settings.fold or text) and "model" not in context.spec.inputs:
        raise InputError(
            "Folding case, and keeping only the words of a text, need a model.",
            "Give a model.",
            code="no-model",
        )

    # 1. The words of the text, if only these are wanted.
    only, reading = None, context.progress
    if text:
        counting = part(context.progress, 0.0, 0.5)
        reading = part(context.progress, 0.5, 1.0)
        splitter = context.inputs.model.splitter
        only = load_or_count_words(context.root, context.inputs.text, splitter, counting).counts

    # 2. Read the file; if its words are folded, they are compared with those of the text after it.
    found = read_space(
        Path(context.spec.inputs["file"][0]),
        words=Path(words) if words else None,
        limit=settings.limit or None,
        only=None if settings.fold else only,
        progress=reading,
    )
    space = found.space
    notes = [*found.notes]
    check_magnitudes(space)

    # 3. Fold case, or report the words that an uncased model could not use.
    if not settings.fold:
        known = context.inputs.model.splitter if "model" in context.spec.inputs else None
        notes += describe_capitals(space, known)
    else:
        folded = fold_case(space, context.inputs.model.splitter, settings.collisions)
        space = folded.space
        notes = [*notes, *folded.notes]
        if only is not None:
            space, note = _keep_words_of_text(space, only)
            notes.append(note)
    save_space(space, context.draft)
    return ImportNumbers(**vars(summarize_space(space)), notes=tuple(notes))


def _keep_words_of_text(
    space: EmbeddingSpace, only: Mapping[str, int]
) -> tuple[EmbeddingSpace, str]:
    """Keep the words that occur in a text, and note how many; raises InputError if there are none."""
    rows = [row for row, word in enumerate(space.words) if word in only]
    if not rows:
        raise InputError(
            f"None of the {len(space):,} words of {space.name} occurs in the text.",
            "Give another text, or none.",
            code="no-word-of-text",
        )
    note = f"{len(rows):,} of {len(space):,} words occur in the text: the others are left out"
    return space.take(rows), note


STEP = Step(
    "import-vectors",
    "Import word vectors",
    ImportVectorsStep,
    import_vectors,
    makes="vectors",
    needs=(FILE,),
    takes=(MATRIX_WORDS, replace(MODEL, bare=True), ONLY),
    writes=lambda spec: measure_files(spec.inputs["file"]),
    keeps_inputs=lambda settings: True,
    command=("vectors", "import"),
)
