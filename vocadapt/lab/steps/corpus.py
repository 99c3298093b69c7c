"""The step that imports text: by reference to its files, or as copies."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.lab.inputs.corpora import estimate_text_bytes, load_or_count_words, write_corpus
from vocadapt.lab.steps.step import MODEL, TEXT, Numbers, PlannedStep, Spec, Step, StepContext
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.settings import setting
from vocadapt.system.forecasts import Work
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.text.words import WordCounts

BYTES_PER_SECOND = 17e6  # counted (one 2.5 GHz core)


@dataclass(frozen=True)
class CorpusStep:
    """How text is imported: by reference to its files, or as copies (`copy`)."""

    copy: bool = setting(False, "copy the files into the workspace", flag="")
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


def import_corpus(context: StepContext, settings: CorpusStep) -> Numbers:
    """Import text files as a corpus, and count its words if a model is given."""
    text = context.inputs.text
    write_corpus(text, context.draft, settings.copy)
    numbers: Numbers = {"files": len(text.files), "bytes": text.bytes}
    if text.left_out:
        numbers["files_left_out"] = text.left_out
    if "model" in context.spec.inputs:
        counts = load_or_count_words(
            context.root, text, context.inputs.model.splitter, context.progress
        )
        numbers |= summarize_counts(text, counts)
    return numbers


def summarize_counts(text: Corpus, counts: WordCounts) -> Numbers:
    """Return the bytes of a text, and the numbers of its words, distinct words and lines."""
    return {
        "bytes": text.bytes,
        "words": counts.words,
        "distinct": counts.distinct,
        "lines": counts.lines,
        "identical_lines": counts.identical.copies,
        **counts.notes.counts(),
    }


def express_as_count(spec: Spec, folder: Path) -> Spec | None:
    """Return the spec of the command that counts the words; None without a model.

    Of copies, the command reads the copies: they hold only what was kept of the text.
    """
    if "model" not in spec.inputs:
        return None
    if not spec.settings.copy:
        return spec
    return replace(spec, settings=CorpusStep(), inputs={**spec.inputs, "text": (str(folder),)})


def measure_copies(spec: Spec) -> int:
    """Return the bytes of the copied files."""
    return measure_files(spec.inputs["text"]) if spec.settings.copy else 0


def measure_counting(planned: PlannedStep) -> Work | None:
    """Return the work of counting the words of a text; None if they are not counted."""
    if "model" not in planned.spec.inputs:
        return None
    n_bytes = estimate_text_bytes(planned.inputs.text)
    return Work(n_bytes, "bytes", n_bytes / BYTES_PER_SECOND)


STEP = Step(
    "corpus",
    "Import text",
    CorpusStep,
    import_corpus,
    makes="corpora",
    needs=(replace(TEXT, flag=""),),
    takes=(replace(MODEL, bare=True),),
    writes=measure_copies,
    keeps_inputs=lambda settings: settings.copy,
    command=("words", "count"),
    out="",
    express=express_as_count,
    start_up=2.0,
    work=measure_counting,
)
