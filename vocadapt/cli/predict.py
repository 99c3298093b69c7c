"""predict, compare: what fine-tuned runs say, and where two of them differ."""

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from vocadapt.analysis.fates import Fates, fates
from vocadapt.cli.parser import Parser, whole
from vocadapt.cli.run import Answer, Command
from vocadapt.cli.tables import facts, number, table
from vocadapt.errors import InputError
from vocadapt.progress import Progress
from vocadapt.training.mixture import POOLED, TOKENIZATIONS
from vocadapt.training.outputs import Said
from vocadapt.training.run_files import Kept, SavedRun, chosen_cut, load_run
from vocadapt.training.scoring.certainty import Comparison, Draws, aligned, compare_tallies
from vocadapt.training.tasks.base import Example, Question, Sentence, Split, Text
from vocadapt.training.tasks.own import read_split
from vocadapt.training.tasks.predictions import tally_of

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


def _compare_options(parser: Parser) -> None:
    parser.add_argument("runs", nargs=2, metavar="RUN", help="folders that finetune wrote, of one seed each")
    cut = "of both runs, or of A and of B (pooled)"
    parser.add_argument("--tokenization", nargs="+", choices=CUTS, default=[""], metavar="CUT", help=cut)
    parser.add_argument("--scorer", default="", metavar="S", help="another score than the task's")
    parser.add_argument("--rounds", type=whole, default=Draws().rounds, help="draws of the paired test (1000)")
    parser.add_argument("--seed", type=whole, default=Draws().seed, help="of the draws (0)")


def _compare(options: Namespace, progress: Progress) -> Answer:
    a, b = (load_run(Path(folder)) for folder in options.runs)
    cuts = options.tokenization * 2 if len(options.tokenization) == 1 else options.tokenization
    if len(cuts) != 2 or options.rounds < 1:
        raise InputError("Expected one or two cuts, and at least one draw.", "Such as --tokenization base pooled --rounds 1000.")
    first, second = a.kept, b.kept
    _check_same(a, b, first, second)
    cuts = [chosen_cut(list(kept.said), cut) for kept, cut in zip((first, second), cuts, strict=True)]
    ours, theirs = first.said[cuts[0]], second.said[cuts[1]]
    scorer, split = a.scorer(options.scorer), first.split
    tallies = aligned(*(tally_of(split, said, scorer, a.rules) for said in (ours, theirs)))
    found = compare_tallies(scorer, *tallies, a.rules, Draws(options.rounds, seed=options.seed))
    counted = fates(a.kind, split.gold, ours, theirs)
    answer = {"a": options.runs[0], "b": options.runs[1], "cuts": cuts, "test": asdict(found)}
    return Answer({**answer, "fates": [each.to_dict() for each in counted]}, _shown(found, counted, cuts))


def _check_same(a: SavedRun, b: SavedRun, first: Kept, second: Kept) -> None:
    if a.kind != b.kind or [e for e in first.split.examples] != [e for e in second.split.examples]:
        problem = f"{a.folder} and {b.folder} were not tested on the same examples."
        raise InputError(problem, "Fine-tune both with the same task, test file and --limit.")


def _shown(found: Comparison, counted: Sequence[Fates], cuts: Sequence[str]) -> str:
    low, high = found.interval.low, found.interval.high
    mcnemar = "" if found.p_mcnemar is None else f", exact McNemar p = {number(found.p_mcnemar)}"
    lines = [
        f"{found.scorer}: {number(found.a)} ({cuts[0]}) → {number(found.b)} ({cuts[1]}), difference {found.difference:+.4f} "
        f"({found.interval.level:.0%} interval {low:+.4f} to {high:+.4f})",
        f"approximate randomisation over {found.units:,} units, {found.rounds:,} draws: p = "
        f"{number(found.p_randomisation)}{mcnemar}",
    ]
    rows = [(each.unit, *each.counts.values()) for each in counted]
    return "\n".join([*lines, "", table(("unit", *counted[0].counts), rows)])


PREDICT = Command(_predict_options, _predict)
COMPARE = Command(_compare_options, _compare)
