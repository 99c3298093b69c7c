"""The error ledger: two sets of predictions for the same examples, compared unit by unit.

ledger = build_ledger(split, Side("base", a), Side("green-bert", b), TASK_KINDS["ner"])
ledger.counts                    # {"fixed": 47, "broken": 31, …}
ledger.with_outcome("fixed")     # its entries
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

from vocadapt.analysis.errors.votes import Vote, find_vote
from vocadapt.errors import InputError
from vocadapt.training.encoding.model_tokenizers import ADAPTED, BASE
from vocadapt.training.examples.examples import Example, Prediction, Split
from vocadapt.training.finetune.outputs import Outputs
from vocadapt.training.finetune.tokenizations import ALL_TOKENIZATIONS
from vocadapt.training.labels import Logits
from vocadapt.training.scoring.counts import Rules, Scorer, check_lengths
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.training.tasks.kinds.judgment import RIGHT as NO_ERROR
from vocadapt.training.tasks.kinds.judgment import SPURIOUS, Claim, Judgment, Unit

FIXED, BROKEN, WRONG, RIGHT = "fixed", "broken", "both wrong", "both right"
OUTCOMES = {
    FIXED: "only the second is right",
    BROKEN: "only the first is right",
    WRONG: "both are wrong",
    RIGHT: "both are right",
}
# Keys: whether the first and whether the second prediction is right.
OUTCOME_OF = {
    (False, True): FIXED,
    (True, False): BROKEN,
    (False, False): WRONG,
    (True, True): RIGHT,
}
REMOVED = "false alarm removed"
ADDED = "false alarm added"
KEPT = "false alarm in both"
ALARMS = {
    REMOVED: "predicted only by the first, without a gold label",
    ADDED: "predicted only by the second, without a gold label",
    KEPT: "predicted by both, without a gold label",
}
# Keys: whether the first and whether the second side rightly predicts nothing.
ALARM_OF = {(False, True): REMOVED, (True, False): ADDED, (False, False): KEPT}
ALL_CLASSES = Rules(negative=())  # no class is negative
BETTER = (FIXED, REMOVED)
WORSE = (BROKEN, ADDED)
ID_BYTES = 8  # length of the digest in an entry's id


@dataclass(frozen=True, eq=False)
class Side:
    """One of two sets of predictions: its name and its prediction for each example.

    A run also has predictions and logits by tokenization, and its `outputs`. `word_rule`: how a
    question's context was split into words; each word has a pair of logits.
    """

    name: str
    predictions: Sequence[Prediction]
    by_tokenization: Mapping[str, Sequence[Prediction]] = field(default_factory=dict)
    logits: Mapping[str, Sequence[Logits]] = field(default_factory=dict)
    outputs: Outputs | None = None
    word_rule: str = "code"


@dataclass(frozen=True)
class Entry:
    """One unit of one example: its outcome and the claims of both sides.

    `place` is the index of the example in the split. `by_tokenization`: the claims of each
    tokenization of the ledger's pooled side. `id` depends only on the example and the unit, so a
    note on an entry appears in every comparison that contains it.
    """

    id: str
    place: int
    outcome: str
    unit: Unit
    first: Claim
    second: Claim
    by_tokenization: Mapping[str, Claim] = field(default_factory=dict)

    @property
    def alarm(self) -> bool:
        """Whether it is a false alarm, a prediction without a gold unit."""
        return self.outcome in ALARMS

    @property
    def event(self) -> str:
        """The change of the error: "boundary → right", "right → missed", "missed → boundary"."""
        before, after = self.first.error, self.second.error
        if self.alarm or not (before or after):
            return self.outcome
        if before == after:
            return f"{before} in both"
        if not after:
            return f"{before} → right"
        if not before:
            return f"right → {after}"
        return f"{before} → {after}"


@dataclass(frozen=True)
class ErrorsOfKind:
    """Numbers of errors of a kind on both sides."""

    kind: str
    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Ledger:
    """All entries of two sets of predictions for one split, in the split's order.

    `rules`: the rules of the judgment, see `choose_judging_rules`. `pooled_side`: the side with
    predictions under several tokenizations, if any.
    """

    split: Split
    first: Side
    second: Side
    kind: TaskKind
    rules: Rules
    entries: tuple[Entry, ...]
    pooled_side: Side | None = None

    @cached_property
    def gold(self) -> tuple[Prediction, ...]:
        """Gold labels of each example: one object, because caches identify sequences by id()."""
        return self.split.gold

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of gold units with each outcome, and of each kind of false alarm."""
        return count_by_outcome(self.entries)

    @cached_property
    def by_label(self) -> dict[str, dict[str, int]]:
        """The counts of each type or class."""
        entries = defaultdict(list)
        for entry in self.entries:
            entries[entry.unit.label].append(entry)
        return {label: count_by_outcome(entries[label]) for label in sorted(entries)}

    @cached_property
    def kinds(self) -> tuple[ErrorsOfKind, ...]:
        """Errors of each kind on both sides, most frequent first."""
        before = Counter(entry.first.error for entry in self.entries if entry.first.error)
        after = Counter(entry.second.error for entry in self.entries if entry.second.error)
        # Ties are ordered by name, which makes the output deterministic.
        ordered = sorted({*before, *after}, key=lambda kind: (-before[kind] - after[kind], kind))
        return tuple(ErrorsOfKind(kind, before[kind], after[kind]) for kind in ordered)

    def with_outcome(self, *outcomes: str) -> tuple[Entry, ...]:
        """Return the entries with one of these outcomes."""
        return tuple(entry for entry in self.entries if entry.outcome in outcomes)

    def vote(self, entry: Entry) -> Vote | None:
        """Return which tokenization was outvoted on an entry.

        None if the tokenizations agree, or if there are not two of them with logits.
        """
        side, place = self.pooled_side, entry.place
        if side is None or side.outputs is None or not side.logits:
            return None
        if side.by_tokenization[BASE][place] == side.by_tokenization[ADAPTED][place]:
            return None
        # Ignore votes on words that belong to neither a gold unit nor a predicted one.
        logits = {name: own[place] for name, own in side.logits.items()}
        claims = (entry.first, entry.second, *entry.by_tokenization.values())
        units = {entry.unit, *(unit for claim in claims for unit in claim.predicted)}
        (example,) = self.kind.set_word_rule([self.split.examples[place]], side.word_rule)
        return find_vote(side.outputs, logits, example, units)

    def title_of(self, entry: Entry) -> str:
        """Return the document of an example and its number in it: "10369876 · sentence 4"."""
        document, number = self._numbers[entry.place]
        example = self.split.examples[entry.place]
        # A purely numeric id could be taken for the example's number, so it is not shown.
        own_id = getattr(example, "id", "")
        title = f"{example.noun} {number:,}"
        if own_id and not own_id.isdigit():
            title = f"{example.noun} {own_id}"
        if not document or document == own_id:
            return title
        return f"{document} · {title}"

    def search(self, entries: Iterable[Entry], query: str) -> tuple[Entry, ...]:
        """Return the entries whose example, document, label or predictions contain a text.

        Case is ignored.
        """
        wanted = query.strip().lower()
        return tuple(entry for entry in entries if wanted in self._searchable_text(entry))

    @cached_property
    def _numbers(self) -> list[tuple[str, int]]:
        """Document of each example, and the example's number in it, from 1."""
        seen: Counter[str] = Counter()
        numbers = []
        for document in self.split.documents:
            seen[document] += 1
            numbers.append((document, seen[document]))
        return numbers

    def _searchable_text(self, entry: Entry) -> str:
        predicted = [*entry.first.predicted, *entry.second.predicted]
        parts = [
            self.title_of(entry),
            self.split.examples[entry.place].full_text,
            entry.unit.label,
            *(unit.text or unit.label for unit in predicted),
        ]
        return "\n".join(parts).lower()


def build_ledger(
    split: Split, first: Side, second: Side, kind: TaskKind, rules: Rules = ALL_CLASSES
) -> Ledger:
    """Judge two sets of predictions for the same examples.

    Raises InputError if their numbers differ, or if the split has no labels.
    """
    gold = split.gold
    if not len(gold) == len(first.predictions) == len(second.predictions):
        raise InputError(
            "Only predictions for the same examples can be compared:"
            f" {len(gold):,} gold examples; {first.name}: {len(first.predictions):,},"
            f" {second.name}: {len(second.predictions):,}.",
            code="other-length",
        )
    # 1. Find the side with predictions under two tokenizations; prefer the second side.
    pooled_side: Side | None = None
    predictions: dict[str, Sequence[Prediction]] = {}
    for side in (first, second):
        if len(side.by_tokenization) == len(ALL_TOKENIZATIONS):
            pooled_side = side
            predictions = {name: side.by_tokenization[name] for name in ALL_TOKENIZATIONS}

    # 2. Judge each example: both sides, and each tokenization.
    entries: list[Entry] = []
    for place, (example, labels) in enumerate(zip(split.examples, gold, strict=True)):
        before = kind.judge(example, labels, first.predictions[place], rules)
        after = kind.judge(example, labels, second.predictions[place], rules)
        by_tokenization = {
            name: kind.judge(example, labels, own[place], rules)
            for name, own in predictions.items()
        }
        entries += _build_entries(place, example, before, after, by_tokenization)
    return Ledger(split, first, second, kind, rules, tuple(entries), pooled_side)


def choose_judging_rules(kind: TaskKind, split: Split, rules: Rules, scorer: Scorer) -> Rules:
    """Return judging rules that agree with a scorer: the negative classes, and whether entity types
    are ignored.

    For a scorer of one class (binary-f1) all other classes are negative.
    """
    negative = kind.negative_classes(rules)
    if "positive" in scorer.uses:
        labels = {label for labels in split.gold for label in labels}
        negative = tuple(sorted(labels - {rules.positive}))
    return replace(rules, negative=negative)


def count_by_outcome(entries: Iterable[Entry]) -> dict[str, int]:
    """Return the number of entries with each outcome, false alarms last."""
    counts = Counter(entry.outcome for entry in entries)
    return {outcome: counts[outcome] for outcome in (*OUTCOMES, *ALARMS)}


def _claim_on(judgment: Judgment, unit: Unit) -> Claim:
    """Return the claim on a gold unit or on a possible false alarm."""
    if unit in judgment.units:
        return judgment.units[unit]
    if unit in judgment.alarms:
        return Claim(SPURIOUS, (unit,))
    return Claim(NO_ERROR)


def _build_entries(
    place: int,
    example: Example,
    first: Judgment,
    second: Judgment,
    by_tokenization: Mapping[str, Judgment],
) -> Iterator[Entry]:
    """Yield the entries of one example: its gold units, then its false alarms."""
    # Only the text is hashed, so an example has the same id in every comparison.
    key = f"{type(example).__name__}\0{example.full_text}".encode("utf-8", "replace")
    digest = blake2b(key, digest_size=ID_BYTES).hexdigest()
    for unit in (*first.units, *sorted({*first.alarms, *second.alarms})):
        before = _claim_on(first, unit)
        after = _claim_on(second, unit)
        right = (not before.error, not after.error)
        if unit in first.units:
            outcome = OUTCOME_OF[right]
        else:
            outcome = ALARM_OF[right]
        claims = {name: _claim_on(judgment, unit) for name, judgment in by_tokenization.items()}
        yield Entry(f"{digest}:{unit.name}", place, outcome, unit, before, after, claims)


@dataclass(frozen=True)
class OutcomeCounts:
    """Number of units with each outcome, and the name of the unit."""

    unit: str
    counts: dict[str, int]


def count_outcomes(
    kind: TaskKind,
    gold: Sequence[Any],
    first: Sequence[Any],
    second: Sequence[Any],
    untyped: bool = False,
) -> tuple[OutcomeCounts, ...]:
    """Count the outcomes of examples, preceded by those of gold entities if the task has entities.

    An example is right if its whole prediction is, a gold entity if its words and its type are
    predicted. `untyped`: ignore types. Raises InputError if the three sequences differ in length.
    """
    check_lengths(gold, first)
    check_lengths(gold, second)
    # One Counter per unit, in display order.
    counts = {"gold entity": Counter[str](), "example": Counter[str]()}
    for labels, a, b in zip(gold, first, second, strict=True):
        right = (kind.is_right(labels, a, untyped), kind.is_right(labels, b, untyped))
        counts["example"][OUTCOME_OF[right]] += 1
        if kind.finds_entities:
            in_a = kind.label_items(a, untyped)
            in_b = kind.label_items(b, untyped)
            for item in kind.label_items(labels, untyped):
                counts["gold entity"][OUTCOME_OF[item in in_a, item in in_b]] += 1
    if not kind.finds_entities:
        del counts["gold entity"]
    units = []
    for unit, own in counts.items():
        units.append(OutcomeCounts(unit, {outcome: own[outcome] for outcome in OUTCOMES}))
    return tuple(units)
