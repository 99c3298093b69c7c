"""Open two sets of predictions (folders of runs, or prediction files) for error analysis.

A run provides its test examples, its predictions and logits by tokenization, its tokenizers and, by
its manifest, its training examples. A prediction file provides predictions only; its gold labels
are those of the run it is compared with, or of a gold file.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path

from vocadapt.analysis.errors.confusion import ConfusionMatrix, build_confusion_matrix
from vocadapt.analysis.errors.ledger import Ledger, Side, build_ledger, choose_judging_rules
from vocadapt.analysis.errors.slicing import OwnSlice, SliceSettings, Slicing
from vocadapt.analysis.errors.word_tokenizations import (
    WordIndex,
    build_word_index,
    describe_neighbors,
)
from vocadapt.errors import InputError
from vocadapt.lab.results.runs import find_trained_model, load_training_examples
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.training.encoding.model_tokenizers import BASE
from vocadapt.training.examples.examples import UNITS, Example, Split
from vocadapt.training.finetune.run_files import LOGITS, SavedRun, load_logits, load_run
from vocadapt.training.finetune.tokenizations import select_tokenization
from vocadapt.training.scoring.counts import DEFAULT_RULES, Rules, Scorer
from vocadapt.training.scoring.uncertainty import DEFAULT_DRAWS, Comparison, Draws, compare_tallies
from vocadapt.training.tasks.kinds import TaskKind, find_kind
from vocadapt.training.tasks.predictions import build_tally
from vocadapt.training.tasks.word_endings import SuffixSlice, count_suffix

WEIGHTS = "model.safetensors"
MAX_CACHED_SLICINGS = 8  # slicings by different settings, for each pair of runs
MAX_CACHED_WORDS = 1024  # words with their suffix counts or neighbors, for each pair of runs


@dataclass(frozen=True)
class PairSpec:
    """Which two sets of predictions to compare: runs or files, their tokenizations, the gold
    labels.

    Tokenization "" is pooled, or the only one. Without `second`, `first` is a run whose
    tokenizations are compared: base with pooled. `kind` is required if both are files. `negative`
    (classes of "no relation") and `positive` (the class of binary F1) replace those of the run.
    """

    first: str
    second: str = ""
    tokenizations: tuple[str, str] = ("", "")
    gold: str = ""
    kind: str = ""
    scorer: str = ""
    draws: Draws = DEFAULT_DRAWS
    negative: tuple[str, ...] = ()
    positive: str = ""


@dataclass(frozen=True, eq=False)
class RunPair:
    """Two sets of predictions for one split, and the runs they come from (None for a file)."""

    spec: PairSpec
    kind: TaskKind
    split: Split
    sides: tuple[Side, Side]
    tokenizations: tuple[str, str]
    runs: tuple[SavedRun | None, SavedRun | None]
    scorer: Scorer
    rules: Rules

    @cached_property
    def test(self) -> Comparison:
        """Paired test of the second side against the first."""
        first, second = (
            build_tally(self.split, side.predictions, self.scorer, self.rules)
            for side in self.sides
        )
        return compare_tallies(self.scorer, first, second, self.rules, self.spec.draws)

    @cached_property
    def ledger(self) -> Ledger:
        """The error ledger of the two sides."""
        return build_ledger(
            self.split,
            *self.sides,
            self.kind,
            choose_judging_rules(self.kind, self.split, self.rules, self.scorer),
        )

    @cached_property
    def train(self) -> tuple[Example, ...] | None:
        """Training examples of the second run, or of the first if the second is a file.

        None if they are not available any more.
        """
        run = self.runs[1] or self.runs[0]
        return load_training_examples(run) if run else None

    @cached_property
    def words(self) -> WordIndex:
        """Tokenizations of words, origin of new tokens, and training counts."""
        first, second = map(_find_tokenizer, self.runs)
        return build_word_index(first, second, self.train)

    @cached_property
    def confusion(self) -> ConfusionMatrix:
        """Confusion matrix of the second side; raises InputError if the task has no classes."""
        return build_confusion_matrix(
            self.kind, self.split.gold, self.sides[1].predictions, self.ledger.rules.untyped
        )

    def slicing(
        self, settings: SliceSettings | None = None, own: tuple[OwnSlice, ...] = ()
    ) -> Slicing:
        """Return the ledger ready to be sliced (the last MAX_CACHED_SLICINGS are cached)."""
        return self._slice_cached(settings or SliceSettings(), own)

    @cached_property
    def _slice_cached(self) -> Callable[[SliceSettings, tuple[OwnSlice, ...]], Slicing]:
        first = Slicing(self.ledger, self.words, self.scorer, self.rules)
        return lru_cache(MAX_CACHED_SLICINGS)(first.with_settings)

    @cached_property
    def ending(self) -> Callable[[str], SuffixSlice | None]:
        """Count the training words with an ending inside entities (cached); None without tags."""
        return lru_cache(MAX_CACHED_WORDS)(self._count_ending)

    def _count_ending(self, suffix: str) -> SuffixSlice | None:
        if self.train is None or not all(one.tagged_words for one in self.train):
            return None
        return count_suffix(self.train, suffix)

    @cached_property
    def near(self) -> Callable[[str], str]:
        """Describe the neighbors of a token in the model (cached); "" without weights."""
        return lru_cache(MAX_CACHED_WORDS)(self._describe_neighbors)

    def _describe_neighbors(self, token: str) -> str:
        for run in filter(None, reversed(self.runs)):
            if (run.folder / WEIGHTS).is_file() and token in run.model.vocabulary:
                return describe_neighbors(run.model.space, token)
        return ""


def open_pair(spec: PairSpec) -> RunPair:
    """Open two sets of predictions; raises InputError if their examples differ."""
    # 1. A single run is compared with itself, under its base tokenization.
    alone = not spec.second
    if alone:
        tokenizations = spec.tokenizations[0] or BASE, spec.tokenizations[1]
        spec = replace(spec, second=spec.first, tokenizations=tokenizations)

    # 2. Gold labels, scoring rules and scorer: those of the first run, if there is one.
    runs = _load_run(spec.first), _load_run(spec.second)
    kind, split = _load_gold(spec, runs)
    first = runs[0] or runs[1]
    if first:
        rules = first.rules
        scorer = first.scorer(spec.scorer)
    else:
        rules = DEFAULT_RULES
        scorer = kind.scorer(spec.scorer)
    rules = _choose_rules(spec, rules, split)

    # 3. The predictions.
    names = (spec.first, spec.second)
    found = []
    for run, name, tokenization in zip(runs, names, spec.tokenizations, strict=True):
        if run is None:
            found.append(_load_file_side(name, kind, split))
        else:
            found.append(_load_run_side(run, name, tokenization))
    if alone and found[0][1] == found[1][1]:
        raise InputError(
            f"{spec.first}: the two tokenizations are the same ({found[0][1] or 'none'}).",
            "Give two runs, or one run of an adapted model with different tokenizations.",
        )
    sides = (found[0][0], found[1][0])
    tokenizations = (found[0][1], found[1][1])
    return RunPair(spec, kind, split, sides, tokenizations, runs, scorer, rules)


def _load_run(name: str) -> SavedRun | None:
    """Load a run; None for a file of predictions."""
    return load_run(Path(name)) if os.path.isdir(name) else None


def _choose_rules(spec: PairSpec, rules: Rules, split: Split) -> Rules:
    """Return the scoring rules of the run, overridden by those of the spec.

    Raises InputError for a class without examples.
    """
    given = [label for label in (*spec.negative, spec.positive) if label]
    there: list[str] = []
    if given:
        there = sorted(set(chain.from_iterable(split.gold)))
    if odd := [label for label in given if label not in there]:
        raise InputError(
            f"No gold example has the class {odd[0]!r:.60}.",
            f"Classes with examples: {', '.join(there)[:200]}.",
        )
    negative = spec.negative or rules.negative
    positive = spec.positive or rules.positive
    return replace(rules, negative=negative, positive=positive)


def _find_tokenizer(run: SavedRun | None) -> LanguageModel | None:
    """Return the model of a run, or else the one it was trained from; None without a tokenizer."""
    if run is None:
        return None
    if (run.folder / "tokenizer.json").is_file():
        return run.model
    trained = find_trained_model(run.folder)
    return open_model(trained) if trained else None


def _load_gold(spec: PairSpec, runs: Sequence[SavedRun | None]) -> tuple[TaskKind, Split]:
    """Return the kind of task and the gold examples; raises InputError if those of two runs differ."""
    named_runs = zip(runs, (spec.first, spec.second), strict=True)
    given = [(run, name) for run, name in named_runs if run is not None]
    kind = _find_kind(spec, given)
    # The examples of the gold file come first, and those of every run must equal them.
    splits = [(run.test_predictions.split, name) for run, name in given]
    if spec.gold:
        unit, *_ = *(run.unit for run, _ in given), UNITS[0]
        splits.insert(0, (kind.read_split(Path(spec.gold), unit=unit), spec.gold))
    if not splits:
        raise InputError(
            "Two prediction files need gold labels.", "Give the gold file.", code="no-gold"
        )
    for split, name in splits[1:]:
        _check_same_examples(splits[0], (split, name))
    if not splits[0][0].labeled:
        raise InputError(
            f"{splits[0][1]}: holds no labels, so nothing can be compared.",
            "Give examples with their labels.",
            code="no-labels",
        )
    return kind, splits[0][0]


def _find_kind(spec: PairSpec, given: Sequence[tuple[SavedRun, str]]) -> TaskKind:
    """Return the kind of task, which all runs share; given: the runs with their names."""
    kinds = {run.kind for run, _ in given}
    if spec.kind:
        kinds.add(find_kind(spec.kind))
    if len(kinds) > 1:
        named = ", ".join(f"{name}: {run.kind}" for run, name in given)
        if spec.kind:
            named += f", expected: {spec.kind}"
        raise InputError(
            f"Runs of different tasks were not tested on the same examples ({named}).",
            "Compare runs of one task.",
            code="different-tasks",
        )
    if not kinds:
        raise InputError(
            "Two prediction files need the kind of their task.",
            "Give it, such as ner.",
            code="no-kind",
        )
    return kinds.pop()


def _check_same_examples(first: tuple[Split, str], second: tuple[Split, str]) -> None:
    """Raise InputError, with the first example that differs, if two splits are not the same."""
    # The first difference says more than the lengths: a sorted file differs in its first example.
    (ours, a), (theirs, b) = first, second
    problem = f"{a} and {b} were not tested on the same examples"
    remedy = "Fine-tune both with the same task, test file and limit of examples."
    pairs = zip(ours.examples, theirs.examples, strict=False)
    for number, (one, other) in enumerate(pairs, start=1):
        if one == other:
            continue
        difference = "is another one"
        if _unlabeled_fields(one) == _unlabeled_fields(other):
            difference = "has other labels"
        raise InputError(
            f"{problem}: example {number:,} {difference} ({_quote_example(one)} against"
            f" {_quote_example(other)}).",
            remedy,
            code="different-examples",
        )
    if len(ours) != len(theirs):
        raise InputError(
            f"{problem}: {len(ours):,} and {len(theirs):,} of them.",
            remedy,
            code="different-examples",
        )


def _unlabeled_fields(example: Example) -> tuple[object, ...]:
    """Return the fields of an example without its labels and its document."""
    labels = ("tags", "labels", "answers", "document")
    return tuple(value for name, value in vars(example).items() if name not in labels)


def _quote_example(example: Example) -> str:
    words = example.full_text
    if len(words) > 60:
        words = f"{words[:60]}…"
    return repr(words)


def _load_run_side(run: SavedRun, name: str, tokenization: str) -> tuple[Side, str]:
    """Load the predictions of a run under a tokenization, with everything that the run kept."""
    predictions = run.test_predictions.predicted
    chosen = select_tokenization(predictions, tokenization)
    side = Side(
        f"{name} ({chosen})",
        predictions[chosen],
        predictions,
        outputs=run.outputs,
        word_rule=run.word_rule,
    )
    if (run.folder / LOGITS).is_file():
        side = replace(side, logits=load_logits(run.folder))
    return side, chosen


def _load_file_side(name: str, kind: TaskKind, split: Split) -> tuple[Side, str]:
    """Load the predictions of a file."""
    path = Path(name)
    if not os.path.isfile(path):
        raise InputError(
            f"{name}: no such run or file.",
            "Give the folder of a fine-tuned model, or a file of predictions.",
            code="no-run",
        )
    read = kind.read_predictions(path, replace(split, path=split.path or path))
    return Side(path.name, read.predicted), ""
