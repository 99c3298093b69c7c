"""Slices of an error ledger: groups of units with a property, and the score on each group.

A slice is a condition on the words of a unit, registered in SLICES; page, command line, report and
tests read it from there.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from vocadapt.analysis.errors.ledger import BROKEN, FIXED, OUTCOMES, Entry, Ledger
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, WordIndex
from vocadapt.errors import InputError, check_choice
from vocadapt.report.formats import format_metric_name
from vocadapt.report.table import Column
from vocadapt.settings import check_settings, setting
from vocadapt.training.examples.examples import Prediction
from vocadapt.training.scoring.counts import Items, Rules, Score, Scorer, Tally, count_items
from vocadapt.training.scoring.scorers import BARE
from vocadapt.training.tasks.kinds.judgment import Unit

ALL, REST = "all", "rest"
MIN_UNITS = 30  # units of a slice; the difference of a smaller one is not to be relied on

COLUMNS = (
    Column("title", "Slice", "Gold units with this property."),
    Column("n", "Units", "Number of gold units.", "number"),
    Column("difference", "Δ points", "Score of the compared side minus baseline.", "points"),
    Column("fixed", "Fixed : broken", "Gold units.", "number", beside="broken", between=" : "),
    Column("remark", "Remark"),
)


@dataclass(frozen=True)
class SliceSettings:
    """Settings of the slices; a word seen fewer than `seldom` times in training is rare."""

    suffix: str = setting(
        "ia", "word ending of the slice suffix, ignoring case; for example -ia", label="Word ending"
    )
    pieces: int = setting(
        4,
        "minimum number of wordpieces for the slice pieces",
        label="Min wordpieces before",
        low=2,
        high=100,
    )
    seldom: int = setting(
        5,
        "count in training below which a word is in the slice seldom",
        label="Rare in training below",
        low=2,
        high=1_000_000,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "suffix", self.suffix.removeprefix("-").lower())
        if not self.suffix:
            problem = "Expected a word ending, got none."
            remedy = "Give an ending such as -ia."
            raise InputError(problem, remedy, "suffix", "no-ending")
        check_settings(self)


@dataclass(frozen=True)
class SlicedUnit:
    """The properties of a unit that slices test: its tokenized words, and whether its entity occurs
    in training.

    `entity_seen` is None if that is unknown, or if the unit is not an entity.
    """

    words: tuple[TokenizedWord, ...]
    entity_seen: bool | None = None

    def any_word(self, condition: Callable[[TokenizedWord], bool]) -> bool:
        """Whether any of the words meets a condition."""
        return any(map(condition, self.words))

    def rarest_count(self) -> int:
        """Training count of the rarest word; 0 without words."""
        return min((word.seen or 0 for word in self.words), default=0)


@dataclass(frozen=True)
class ErrorSlice:
    """A slice: its title, a sentence that explains it, and whether it contains a unit.

    `needs`: required information: "tokenizations" (two of them), "training" (the words of the
    training examples), or "entities" (the same for a NER task).
    """

    title: Callable[[SliceSettings], str]
    about: str
    holds: Callable[[SlicedUnit, SliceSettings], bool]
    needs: str = ""


SLICES: dict[str, ErrorSlice] = {
    "new-token": ErrorSlice(
        lambda _: "has a new token",
        "one of its words contains an added token",
        lambda unit, _: unit.any_word(lambda word: bool(word.new)),
        "tokenizations",
    ),
    "other-tokenization": ErrorSlice(
        lambda _: "is tokenized differently",
        "one of its words is tokenized differently than before",
        lambda unit, _: unit.any_word(lambda word: word.changed),
        "tokenizations",
    ),
    "pieces": ErrorSlice(
        lambda settings: f"≥ {settings.pieces} wordpieces before",
        "one of its words had at least this many wordpieces before",
        lambda unit, settings: unit.any_word(lambda word: len(word.before) >= settings.pieces),
        "tokenizations",
    ),
    "suffix": ErrorSlice(
        lambda settings: f"ends in -{settings.suffix}",
        "one of its words has this ending, in any casing",
        lambda unit, settings: unit.any_word(
            lambda word: word.word.lower().endswith(settings.suffix)
        ),
    ),
    "unseen": ErrorSlice(
        lambda _: "unseen word",
        "one of its words does not occur in the training examples",
        lambda unit, _: unit.any_word(lambda word: word.seen == 0),
        "training",
    ),
    "seldom": ErrorSlice(
        lambda settings: f"seen < {settings.seldom} times",
        "its rarest word occurs in training, but fewer times than this",
        lambda unit, settings: 0 < unit.rarest_count() < settings.seldom,
        "training",
    ),
    "unseen-entity": ErrorSlice(
        lambda _: "unseen entity",
        "no entity in the training examples has exactly these words",
        lambda unit, _: unit.entity_seen is False,
        "entities",
    ),
}
NAMES = {ALL: "everything", REST: "everything else"}


OWN = "own-"  # beginning of the name of an own slice


@dataclass(frozen=True)
class OwnSlice:
    """A slice of one's own: the units with one of these words, in any casing.

    name: begins with OWN; title: as shown. words: in lower case.
    """

    name: str
    title: str
    words: frozenset[str]

    def holds(self, unit: SlicedUnit) -> bool:
        """Return whether one of the words or new tokens of a unit is among the words."""
        return any(
            word.word.lower() in self.words or not self.words.isdisjoint(word.new)
            for word in unit.words
        )


@dataclass(frozen=True)
class SliceScore:
    """One slice of a ledger: number of gold units, scores of both sides, units fixed and broken.

    `first` and `second` are fractions, None if there is nothing to score; `difference` is that of
    the second side.
    """

    name: str
    title: str
    n: int
    first: float | None
    second: float | None
    difference: float | None
    fixed: int
    broken: int

    @property
    def is_small(self) -> bool:
        """Whether the slice has units, but too few to read a difference from."""
        return 0 < self.n < MIN_UNITS

    @property
    def remark(self) -> str:
        """Remark on a small slice."""
        return "too few units" if self.is_small else ""


@dataclass(frozen=True, eq=False)
class Slicing:
    """A ledger and the tokenizations of its words, ready to be sliced.

    `scorer` and `rules` are those of the task. Slices of NER tasks are scored by entity instead.
    own: slices of one's own, in addition to those of SLICES.
    """

    ledger: Ledger
    words: WordIndex
    scorer: Scorer
    rules: Rules
    settings: SliceSettings = field(default_factory=SliceSettings)
    own: tuple[OwnSlice, ...] = ()
    # Caches. Predictions and gold labels are keyed by the id() of their sequence, which the ledger
    # keeps alive.
    _slices: dict[tuple[int, Unit], frozenset[str]] = field(default_factory=dict, init=False)
    _scores: dict[tuple[str, int], Score | None] = field(default_factory=dict, init=False)
    # Units, their words and tallies do not depend on the settings: `with_settings` shares them.
    _units: dict[int, list[tuple[Unit, ...]]] = field(default_factory=dict, repr=False)
    _sliced: dict[tuple[int, Unit], SlicedUnit] = field(default_factory=dict, repr=False)
    _tallies: dict[int, Tally] = field(default_factory=dict, repr=False)

    def with_settings(self, settings: SliceSettings, own: tuple[OwnSlice, ...] = ()) -> "Slicing":
        """Slice the same ledger by other settings; the units, their words and the tallies are
        shared, not recomputed.
        """
        return replace(self, settings=settings, own=own)

    @property
    def metric(self) -> str:
        """Name of the metric by which sides and slices are compared."""
        return format_metric_name(self.scorer.headline)

    @cached_property
    def definition(self) -> str:
        """Definition of the score; for binary tasks it names the positive class."""
        first = self.ledger.first.predictions
        second = self.ledger.second.predictions
        labels = sorted({*self._tally(first).labels, *self._tally(second).labels})
        return self.scorer.defined(labels, self.rules)

    @cached_property
    def available(self) -> tuple[str, ...]:
        """Names of the slices whose required information is known."""
        has_training = self.words.trained is not None
        known = {
            "": True,
            "tokenizations": self.words.has_two_tokenizations,
            "training": has_training,
            "entities": has_training and self.ledger.kind.finds_entities,
        }
        return tuple(name for name, one in SLICES.items() if known[one.needs])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all slices that can be shown, the rest last."""
        return (*self.available, *(one.name for one in self.own), REST)

    def title(self, name: str) -> str:
        """Return the title of a slice.

        Raises InputError if there is no such slice, or if it needs something that is not known.
        """
        titles = NAMES | {one.name: one.title for one in self.own}
        if name in titles:
            return titles[name]
        check_choice("slice", name, (ALL, *SLICES, REST))
        if name not in self.available:
            missing = "the training examples of a run"
            if SLICES[name].needs == "tokenizations":
                missing = "two tokenizations"
            names = ", ".join((ALL, *self.available, REST))
            raise InputError(
                f"The slice {name!r} needs {missing}.",
                f"Available here: {names}.",
                code="missing-input",
            )
        return SLICES[name].title(self.settings)

    def entries(self, name: str = ALL) -> tuple[Entry, ...]:
        """Return the entries of a slice, including false alarms."""
        self.title(name)
        if name == ALL:
            return self.ledger.entries
        return self._entries.get(name, ())

    def holds(self, name: str, place: int, unit: Unit) -> bool:
        """Whether a slice contains a unit of the example with this index."""
        return name == ALL or name in self._slices_of(place, unit)

    def scores(self, names: Sequence[str] = ()) -> tuple[SliceScore, ...]:
        """Score slices: the given ones, or all available ones and the rest."""
        return tuple(map(self._score_slice, names or self.names))

    def by_tokenization(self, name: str = ALL) -> dict[str, Score]:
        """Score each tokenization over a slice; empty if no run has two tokenizations.

        In NER tasks recall is over the gold entities of the slice and precision over its predicted
        entities; whether an entity belongs to the slice depends on its own words. For the slice
        `suffix` these are "recall on -ia diseases" and "precision on -ia diseases" (Poerner et al.
        2020, section 3.3).

        Example, suffix -ia: gold anemia, fever, mania; predicted fever, mania, media -> P 1/2, R
        1/2 (over all: 2/3, 2/3).
        """
        self.title(name)
        side = self.ledger.pooled_side
        if side is None:
            return {}
        predictions = side.by_tokenization.items()
        scores = {key: self._score_predictions(name, predicted) for key, predicted in predictions}
        return {key: score for key, score in scores.items() if score is not None}

    @cached_property
    def _entries(self) -> dict[str, tuple[Entry, ...]]:
        """Entries by slice; empty slices are absent."""
        found = defaultdict(list)
        for entry in self.ledger.entries:
            for name in self._slices_of(entry.place, entry.unit):
                found[name].append(entry)
        return {name: tuple(entries) for name, entries in found.items()}

    def _slices_of(self, place: int, unit: Unit) -> frozenset[str]:
        """Return the names of the slices that contain a unit; {"rest"} if none does (cached)."""
        if (place, unit) not in self._slices:
            sliced = self._describe_unit(place, unit)
            # A unit that is in no other registered slice is in "rest".
            found = [name for name in self.available if SLICES[name].holds(sliced, self.settings)]
            own = [one.name for one in self.own if one.holds(sliced)]
            self._slices[place, unit] = frozenset([*(found or [REST]), *own])
        return self._slices[place, unit]

    def _describe_unit(self, place: int, unit: Unit) -> SlicedUnit:
        """Return the properties of a unit (cached).

        The relevant words are those of an entity, all words of a text, or those of a question and
        its answer.
        """
        if (place, unit) not in self._sliced:
            kind = self.ledger.kind
            example = self.ledger.split.examples[place]
            words = kind.words_of_slice(example, unit, self.words.words_of)
            seen = self.words.seen_entity(unit.text) if kind.finds_entities else None
            self._sliced[place, unit] = SlicedUnit(self.words.tokenize_all(words), seen)
        return self._sliced[place, unit]

    def _score_slice(self, name: str) -> SliceScore:
        outcomes = [entry.outcome for entry in self.entries(name) if entry.outcome in OUTCOMES]
        values = []
        for side in (self.ledger.first, self.ledger.second):
            score = self._score_predictions(name, side.predictions)
            values.append(None if score is None else score.value)
        first, second = values
        return SliceScore(
            name=name,
            title=self.title(name),
            n=len(outcomes),
            first=first,
            second=second,
            difference=None if first is None or second is None else second - first,
            fixed=outcomes.count(FIXED),
            broken=outcomes.count(BROKEN),
        )

    def _score_predictions(self, name: str, predictions: Sequence[Prediction]) -> Score | None:
        """Score predictions over a slice; None if the slice is empty (cached)."""
        key = (name, id(predictions))
        if key not in self._scores:
            self._scores[key] = self._compute_score(name, predictions)
        return self._scores[key]

    def _compute_score(self, name: str, predictions: Sequence[Prediction]) -> Score | None:
        """Score predictions over a slice; None if the slice is empty.

        A slice of a NER task is scored by entity (entity-strict). A slice of any other task is
        scored by the task's scorer, over the examples that contain an entry of the slice, and so is
        the slice "all" of every task.
        """
        kind = self.ledger.kind
        if name != ALL and kind.finds_entities:
            gold = self._list_items(name, self.ledger.gold)
            predicted = self._list_items(name, predictions)
            if not any((*gold, *predicted)):
                return None
            return kind.scorer().score_tally(count_items(gold, predicted), self.rules)
        # A tally has one row per example, so a slice is a selection of rows.
        tally = self._tally(predictions)
        if name != ALL:
            places = sorted({entry.place for entry in self.entries(name)})
            tally = Tally(tally.rows[places], tally.labels)
        return self.scorer.score_tally(tally, self.rules) if len(tally.rows) else None

    def _list_items(self, name: str, predictions: Sequence[Prediction]) -> list[Items]:
        """Return the entities of a slice in each sentence of one of the ledger's predictions, or of
        the gold labels, in the scorer's format.

        Whether an entity belongs to the slice depends on its own words.
        """
        sentences: list[Items] = []
        for place, units in enumerate(self._find_units(predictions)):
            own = [unit for unit in units if self.holds(name, place, unit)]
            sentences.append(
                frozenset((unit.label or BARE, (unit.start, unit.end)) for unit in own)
            )
        return sentences

    def _find_units(self, predictions: Sequence[Prediction]) -> list[tuple[Unit, ...]]:
        """Return the entities of some of the ledger's predictions, or of the gold labels (cached)."""
        if id(predictions) not in self._units:
            kind, untyped = self.ledger.kind, self.ledger.rules.untyped
            pairs = zip(self.ledger.split.examples, predictions, strict=True)
            self._units[id(predictions)] = [
                kind.find_units(example, tuple(tags), untyped) for example, tags in pairs
            ]
        return self._units[id(predictions)]

    def _tally(self, predictions: Sequence[Prediction]) -> Tally:
        """Return the scorer's tally of one of the ledger's predictions (cached)."""
        if id(predictions) not in self._tallies:
            self._tallies[id(predictions)] = self.scorer.tally(
                self.ledger.gold, predictions, self.rules
            )
        return self._tallies[id(predictions)]
