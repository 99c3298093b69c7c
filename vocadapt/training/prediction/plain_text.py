"""Plain text to examples for prediction, and predictions to lines that `score` reads."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import read_document
from vocadapt.training.finetune.outputs import Prediction
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.examples import Example, Question, Sentence, Text


def lines_of_text(text: str) -> list[str]:
    """Return the non-empty lines of a text."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_lines(path: Path) -> list[str]:
    """Read the non-empty lines of a text file; raises InputError for a file that is not text or is
    empty.
    """
    lines = lines_of_text(read_document(path))
    if not lines:
        raise InputError(f"{path}: holds no text.", "Put a sentence on each line.")
    return lines


def plain_examples(run: SavedRun, lines: Sequence[str]) -> tuple[Example, ...]:
    """Make examples of a run's kind from lines; the words of a line are those of the model's own
    splitter, unchanged.

    Lines without a word are left out. Raises InputError for runs that read two texts at once, and
    if no line has a word.
    """
    if run.kind == "qa":
        raise InputError(
            "Plain text cannot be read as questions and contexts.",
            "Give them as SQuAD's JSON, or ask single questions.",
        )
    if run.kind == "nli":
        raise InputError(
            "Plain text cannot be read as pairs of sentences.",
            "Give them as in the task's files: sentence1, sentence2.",
        )
    if run.kind != "ner":
        return tuple(Text(str(place), line, None) for place, line in enumerate(lines))
    words = [
        tuple(line[start:end] for _, start, end in run.model.splitter.spans(line)) for line in lines
    ]
    if not any(words):
        raise InputError("The text has no words.", "Give a sentence on each line.")
    return tuple(Sentence(own, None) for own in words if own)


def prediction_lines(
    kind: str, examples: Sequence[Example], predictions: Sequence[Prediction], jsonl: bool = False
) -> Iterator[str]:
    """Yield predictions in a form that `score` reads: columns for tagged words and one object for
    questions (JSON lines if `jsonl`), otherwise JSON lines.
    """
    if kind == "qa" and not jsonl:
        answers = {
            example.id: own
            for example, own in zip(examples, predictions, strict=True)
            if isinstance(example, Question)
        }
        yield json.dumps(answers, ensure_ascii=False) + "\n"
        return
    for example, labels in zip(examples, predictions, strict=True):
        if isinstance(example, Sentence):
            if jsonl:
                yield (
                    json.dumps({"words": example.words, "tags": labels}, ensure_ascii=False) + "\n"
                )
            else:
                yield (
                    "".join(
                        f"{word}\t{tag}\n" for word, tag in zip(example.words, labels, strict=True)
                    )
                    + "\n"
                )
        elif isinstance(example, Question):
            yield json.dumps({"id": example.id, "answer": labels}, ensure_ascii=False) + "\n"
        elif isinstance(example, Text):
            label = list(labels) if kind == "multilabel" else labels[0]
            yield json.dumps({"id": example.id, "label": label}, ensure_ascii=False) + "\n"
