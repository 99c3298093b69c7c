"""predict: what fine-tuned runs say."""

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from vocadapt.cli.parser import Parser
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.tables import facts
from vocadapt.errors import InputError
from vocadapt.progress import Progress
from vocadapt.training.mixture import POOLED, TOKENIZATIONS
from vocadapt.training.outputs import Said
from vocadapt.training.run_files import SavedRun, chosen_cut, load_run
from vocadapt.training.tasks.base import Example, Question, Sentence, Split, Text
from vocadapt.training.tasks.own import read_split

CUTS = (*TOKENIZATIONS, POOLED)


def _predict_options(parser: Parser) -> None:
    parser.add_argument("--model", metavar="RUN", required=True, help="a folder that finetune wrote, of one seed")
    parser.add_argument("file", metavar="FILE", help="examples of the run's kind of task, with or without labels")
    parser.add_argument("--plain", action="store_true", help="FILE is text, a sentence or example on each line")
    parser.add_argument("--out", metavar="FILE", required=True, help="write here: a word and its tag a line, else JSON lines")
    parser.add_argument("--tokenization", choices=CUTS, default="", help="under this cut; mixed and both mean pooled (pooled)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file where it is there")


def _predict(options: Namespace, progress: Progress) -> Answer:
    run, out = load_run(Path(options.model)), Path(options.out)
    if out.exists() and not options.overwrite:
        raise InputError(f"{out} already exists.", "Choose another place, or ask to overwrite it (--overwrite).")
    split = _plain(Path(options.file), run) if options.plain else read_split(run.kind, Path(options.file))
    logits = run.logits(split.examples, progress)
    cut = chosen_cut(list(logits), options.tokenization)
    said = list(map(run.outputs.said, logits[cut], split.examples))
    try:
        out.write_text("".join(_lines(run.kind, split.examples, said, out)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}.", "Choose another place.") from error
    answer = {"out": str(out), "examples": len(split), "cut": cut, "kind": run.kind}
    return Answer(answer, facts(answer))


def _plain(path: Path, run: SavedRun) -> Split:
    """The lines of a text as examples; a line's words are those that the model's own splitter sees, as they are written."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}).", "Give a text file in UTF-8.") from None
    if run.kind == "qa":
        raise InputError("Questions and contexts are no plain text.", "Give them in SQuAD's form.")
    if run.kind == "ner":
        splitter = run.model.splitter
        words = [tuple(line[start:end] for _, start, end in splitter.spans(line)) for line in lines]
        found: tuple[Example, ...] = tuple(Sentence(own, None) for own in words if own)
    else:
        found = tuple(Text(str(place), line, None) for place, line in enumerate(lines))
    if not found:
        raise InputError(f"{path}: holds no text.", "Put a sentence on each line.")
    return Split(found, path=path)


def _lines(kind: str, examples: Sequence[Example], said: Sequence[Said], out: Path) -> Iterator[str]:
    """What score reads: columns for tagged words (JSON lines in a .jsonl file), JSON lines for texts, answers by question id."""
    if kind == "qa" and out.suffix != ".jsonl":
        answers = {example.id: own for example, own in zip(examples, said, strict=True) if isinstance(example, Question)}
        yield json.dumps(answers, ensure_ascii=False) + "\n"
        return
    for example, labels in zip(examples, said, strict=True):
        if isinstance(example, Sentence):
            if out.suffix == ".jsonl":
                yield json.dumps({"words": example.words, "tags": labels}, ensure_ascii=False) + "\n"
            else:
                yield "".join(f"{word}\t{tag}\n" for word, tag in zip(example.words, labels, strict=True)) + "\n"
        elif isinstance(example, Question):
            yield json.dumps({"id": example.id, "answer": labels}, ensure_ascii=False) + "\n"
        elif isinstance(example, Text):
            label = list(labels) if kind == "multilabel" else labels[0]
            yield json.dumps({"id": example.id, "label": label}, ensure_ascii=False) + "\n"


PREDICT = Command(_predict_options, _predict)
