"""The step that imports text: by reference to its files, or as copies."""

from dataclasses import dataclass, field, replace

from vocadapt.lab.artifacts.corpora import load_or_count_words, read_corpus, write_corpus
from vocadapt.lab.steps.context import Task
from vocadapt.lab.steps.step import MODEL, TEXT, Numbers, Step
from vocadapt.text.corpus import CorpusSettings


@dataclass(frozen=True)
class CorpusStep:
    """How text is imported: by reference to its files, or as copies (`copy`)."""

    copy: bool = False
    corpus: CorpusSettings = field(default_factory=CorpusSettings)


def import_corpus(task: Task, settings: CorpusStep) -> Numbers:
    """Import text files as a corpus, and count its words if a model is given."""
    text = read_corpus(task.spec.inputs["text"], settings.corpus)
    write_corpus(text, task.draft, settings.copy)
    numbers: Numbers = {"files": len(text.files), "bytes": text.bytes}
    if text.left_out:
        numbers["files_left_out"] = text.left_out
    if "model" in task.spec.inputs:
        counts = load_or_count_words(task.root, text, task.model.splitter, task.progress)
        numbers |= {
            "words": counts.words,
            "distinct": counts.distinct,
            "lines": counts.lines,
            **counts.left_out(),
        }
    return numbers


STEP = Step(
    "corpus",
    "Take text into the workspace",
    CorpusStep,
    import_corpus,
    makes="corpora",
    needs=(replace(TEXT, flag=""),),
    takes=(MODEL,),
    steady=True,
)
