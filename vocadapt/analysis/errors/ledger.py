"""The error ledger: two predictions for the same examples, unit by unit: fixed, broken, both wrong,
both right, and why.

book = ledger(split, Side("base", said_a), Side("green-bert", said_b), Judging("ner"))
book.counts            # {"fixed": 47, "broken": 31, …}
book.of("fixed")       # its entries
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from vocadapt.analysis.errors.kinds import RIGHT, SPURIOUS, Claim, Judge, Judgment, Unit
from vocadapt.analysis.errors.outcomes import BROKEN, FIXED, OUTCOMES, classify_outcome
from vocadapt.analysis.errors.votes import Vote, find_vote
from vocadapt.errors import InputError
from vocadapt.training.finetune.encoding import ADAPTED, BASE
from vocadapt.training.finetune.mixture import CUTS
from vocadapt.training.finetune.outputs import Logits, Outputs, Prediction
from vocadapt.training.scoring.counts import Rules, Scorer
from vocadapt.training.tasks.base import Example, Question, Sentence, Split, Text
from vocadapt.training.tasks.kinds.qa import apply_word_rule

REMOVED, ADDED, KEPT = "false alarm removed", "false alarm added", "false alarm in both"
ALARMS = {
    REMOVED: "only the first says it, where gold has nothing",
    ADDED: "only the second says it, where gold has nothing",
    KEPT: "both say it, where gold has nothing",
}
BETTER, WORSE = (FIXED, REMOVED), (BROKEN, ADDED)
ID = 8  # bytes of an entry's id


@dataclass(frozen=True, eq=False)
class Side:
    """One of two predictions: its name and its prediction of each example; of a run, also
    predictions and logits by tokenization.

    `word_rule`: how a question's context was split into words, each of which has one pair of
    logits.
    """

    name: str
    said: Sequence[Prediction]
    cuts: Mapping[str, Sequence[Prediction]] = field(default_factory=dict)
    logits: Mapping[str, Sequence[Logits]] = field(default_factory=dict)
    outputs: Outputs | None = None
    word_rule: str = "code"


@dataclass(frozen=True)
class Entry:
    """One unit of one example (its place in the split, from 0): its fate, and what either side says
    of it.

    `cuts`: what the cuts of the second side's run say of it (of the first's, where the second has
    one cut only). `id` depends on the example and the unit alone, so a note on it holds in every
    comparison.
    """

    id: str
    place: int
    fate: str
    unit: Unit
    first: Claim
    second: Claim
    cuts: Mapping[str, Claim] = field(default_factory=dict)

    @property
    def alarm(self) -> bool:
        """Whether it is a false alarm: no gold unit."""
        return self.fate in ALARMS

    @property
    def event(self) -> str:
        """What happened, in words: "boundary mended", "missed now", "boundary, before missed"."""
        before, after = self.first.error, self.second.error
        if self.alarm:
            return self.fate
        if before == after:
            return f"{before} in both" if before else self.fate
        return (
            f"{before} mended"
            if not after
            else f"{after} now"
            if not before
            else f"{after}, before {before}"
        )


@dataclass(frozen=True, eq=False)
class Ledger:
    """All entries of two predictions for one split, in its order; `twofold` is the side whose cuts
    are looked at, if any.
    """

    split: Split
    first: Side
    second: Side
    judging: Judge
    entries: tuple[Entry, ...]
    twofold: Side | None = None

    @property
    def kind(self) -> str:
        """The kind of task."""
        return self.judging.kind

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many gold units had which fate, and false alarms apart from them."""
        return count_by_outcome(self.entries)

    @cached_property
    def by_label(self) -> dict[str, dict[str, int]]:
        """The same for each type or class."""
        labels = sorted({entry.unit.label for entry in self.entries})
        return {
            label: count_by_outcome(entry for entry in self.entries if entry.unit.label == label)
            for label in labels
        }

    @cached_property
    def kinds(self) -> dict[str, dict[str, int]]:
        """How many errors of which kind either side makes: kind → {"first": n, "second": n}, the
        commonest first.
        """
        before = Counter(entry.first.error for entry in self.entries if entry.first.error)
        after = Counter(entry.second.error for entry in self.entries if entry.second.error)
        ordered = sorted({*before, *after}, key=lambda kind: (-before[kind] - after[kind], kind))
        return {kind: {"first": before[kind], "second": after[kind]} for kind in ordered}

    def of(self, *fates: str) -> tuple[Entry, ...]:
        """The entries of some fates."""
        return tuple(entry for entry in self.entries if entry.fate in fates)

    def vote(self, entry: Entry) -> Vote | None:
        """Who was outvoted on an entry; None where the cuts agree, or there are not two of them
        with their logits.
        """
        side, place = self.twofold, entry.place
        if (
            side is None
            or side.outputs is None
            or not side.logits
            or side.cuts[BASE][place] == side.cuts[ADAPTED][place]
        ):
            return None
        touched = (
            entry.unit,
            *(
                said
                for claim in (entry.first, entry.second, *entry.cuts.values())
                for said in claim.said
            ),
        )
        places = (
            {word for one in touched for word in range(one.start, one.end)}
            if self.kind == "ner"
            else set()
        )
        logits = {cut: own[place] for cut, own in side.logits.items()}
        (example,) = apply_word_rule([self.split.examples[place]], side.word_rule)
        return find_vote(side.outputs, logits, example, places, entry.unit.label)

    def titled(self, entry: Entry) -> str:
        """Where an example stands: its document and its number there, "10369876 · sentence 4", or
        in the split.
        """
        document, number = self._numbers[entry.place]
        example = self.split.examples[entry.place]
        what = {Sentence: "sentence", Question: "question"}.get(type(example), "example")
        own = getattr(example, "id", "")
        named = f"{what} {own}" if own and not own.isdigit() else f"{what} {number:,}"
        return f"{document} · {named}" if document and document != own else named

    def found(self, entries: Iterable[Entry], query: str) -> tuple[Entry, ...]:
        """The entries whose example, document, label or answers hold a text, whatever its case."""
        wanted = query.strip().lower()
        return tuple(entry for entry in entries if wanted in self._searched(entry))

    @cached_property
    def _numbers(self) -> list[tuple[str, int]]:
        seen: Counter[str] = Counter()
        numbers = []
        for document in self.split.documents:
            seen[document] += 1
            numbers.append((document, seen[document]))
        return numbers

    def _searched(self, entry: Entry) -> str:
        said = [
            unit.text or unit.label for claim in (entry.first, entry.second) for unit in claim.said
        ]
        return "\n".join(
            [
                self.titled(entry),
                example_text(self.split.examples[entry.place]),
                entry.unit.label,
                *said,
            ]
        ).lower()


def build_ledger(split: Split, first: Side, second: Side, judging: Judge) -> Ledger:
    """Judge two predictions for the same examples; raises InputError where their numbers differ, or
    nothing is labeled.
    """
    gold = split.gold
    if not len(gold) == len(first.said) == len(second.said):
        problem = (
            f"{len(gold):,} gold examples; {first.name}: {len(first.said):,}, {second.name}:"
            f" {len(second.said):,}."
        )
        raise InputError(f"Only predictions for the same examples can be compared: {problem}")
    twofold = next((side for side in (second, first) if len(side.cuts) == len(CUTS)), None)
    cuts = {cut: twofold.cuts[cut] for cut in CUTS} if twofold else {}
    entries: list[Entry] = []
    for place, (example, right) in enumerate(zip(split.examples, gold, strict=True)):
        judged = [judging.judge(example, right, side.said[place]) for side in (first, second)]
        by_cut = {cut: judging.judge(example, right, said[place]) for cut, said in cuts.items()}
        entries += _build_entries(place, example, judged[0], judged[1], by_cut)
    return Ledger(split, first, second, judging, tuple(entries), twofold)


def build_judge(kind: str, split: Split, rules: Rules, scorer: Scorer) -> Judge:
    """How predictions are judged, in keeping with their score: which classes say "no relation",
    whether all types are one.

    A score about one class (binary-f1) makes every other class none.
    """
    negative = frozenset(rules.negative) if kind == "relations" else frozenset[str]()
    if "positive" in scorer.uses:
        negative = frozenset(label for labels in split.gold for label in labels) - {rules.positive}
    return Judge(kind, negative, rules.untyped)


def count_by_outcome(entries: Iterable[Entry]) -> dict[str, int]:
    """How many entries have which fate."""
    counts = Counter(entry.fate for entry in entries)
    return {fate: counts[fate] for fate in (*OUTCOMES, *ALARMS)}


def example_text(example: Example) -> str:
    """The text of an example: words between blanks, a text with its pair, a question with its
    context.
    """
    if isinstance(example, Sentence):
        return " ".join(example.words)
    if isinstance(example, Question):
        return f"{example.question}\n{example.context}"
    assert isinstance(example, Text)
    return f"{example.text}\n{example.pair}" if example.pair else example.text


def _claim_on(judged: Judgment, unit: Unit) -> Claim:
    """A claim on a gold unit; where gold has none, whether the alarm is given."""
    return judged.units.get(unit) or (
        Claim(SPURIOUS, (unit,)) if unit in judged.alarms else Claim(RIGHT)
    )


def _build_entries(
    place: int, example: Example, first: Judgment, second: Judgment, cuts: Mapping[str, Judgment]
) -> Iterator[Entry]:
    stem = blake2b(
        f"{type(example).__name__}\0{example_text(example)}".encode("utf-8", "replace"),
        digest_size=ID,
    ).hexdigest()
    for unit in (*first.units, *sorted({*first.alarms, *second.alarms})):
        pair = (_claim_on(first, unit), _claim_on(second, unit))
        fate = (
            classify_outcome(not pair[0].error, not pair[1].error)
            if unit in first.units
            else _classify_alarm(*pair)
        )
        claims = {cut: _claim_on(judged, unit) for cut, judged in cuts.items()}
        yield Entry(f"{stem}:{unit.name}", place, fate, unit, *pair, claims)


def _classify_alarm(first: Claim, second: Claim) -> str:
    return KEPT if first.error and second.error else REMOVED if first.error else ADDED
