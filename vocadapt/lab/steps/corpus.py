"""The step that imports text: by reference to its files, or as copies."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from vocadapt.lab.artifacts.corpora import load_or_count_words, write_corpus
from vocadapt.lab.steps.step import MODEL, TEXT, Numbers, Spec, Step, StepContext
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.settings import setting
from vocadapt.text.corpus import CorpusSettings

BYTES_PER_SECOND = 5e6  # counted


@dataclass(frozen=True)
class CorpusStep:
    """How text is imported: by reference to its files, or as copies (`copy`)."""

    copy: bool = setting(False, "copy the files into the workspace", flag="")
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


def import_corpus(context: StepContext, settings: CorpusStep) -> Numbers:
    """Import text files as a corpus, and count its words if a model is given."""
    text = context.text
    write_corpus(text, context.draft, settings.copy)
    numbers: Numbers = {"files": len(text.files), "bytes": text.bytes}
    if text.left_out:
        numbers["files_left_out"] = text.left_out
    if "model" in context.spec.inputs:
        counts = load_or_count_words(context.root, text, context.model.splitter, context.progress)
        numbers |= {
            "words": counts.words,
            "distinct": counts.distinct,
            "lines": counts.lines,
            **counts.article_counts(),
        }
    return numbers


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


def estimate_counting(artifact: Artifact) -> float:
    """Estimate the seconds in which a text is counted, from its size on the disk."""
    return float(artifact.manifest.numbers.get("bytes", 0)) / BYTES_PER_SECOND


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
    part="text",
    selected_by="text_corpus",
    out="",
    express=express_as_count,
    start_up=2.0,
    estimate=estimate_counting,
)
