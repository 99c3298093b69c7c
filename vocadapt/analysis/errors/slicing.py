"""Where a change comes from: slices of a ledger by the words of its units, and the difference that
each makes.

A slice is one function from a unit's words to yes or no, registered where it stands: it appears on
the page, on the command line, in the report and in the tests by that.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vocadapt.analysis.errors.kinds import Unit
from vocadapt.analysis.errors.ledger import Entry, Ledger, example_text
from vocadapt.analysis.errors.outcomes import BROKEN, FIXED, OUTCOMES
from vocadapt.analysis.errors.word_tokenizations import TokenizedWord, WordIndex
from vocadapt.analysis.results.tables import format_metric_name
from vocadapt.errors import InputError
from vocadapt.settings import bounded, check_settings
from vocadapt.training.finetune.outputs import Prediction
from vocadapt.training.scoring.counts import Items, Rules, Score, Scorer, Tally, count_items
from vocadapt.training.scoring.entities import BARE
from vocadapt.training.scoring.registry import scorer_of
from vocadapt.training.tasks.base import Question, Sentence

ALL, REST = "all", "rest"


@dataclass(frozen=True)
class SliceSettings:
    """The ending of a word, from how many pieces on a word counts as cut small, below how many
    times one is seldom seen.
    """

    suffix: str = "ia"
    pieces: int = bounded(4, 2, 100, "Pieces of a word")
    seldom: int = bounded(5, 2, 1_000_000, "Occurrences in training")

    def __post_init__(self) -> None:
        object.__setattr__(self, "suffix", self.suffix.removeprefix("-").lower())
        if not self.suffix:
            raise InputError("Expected the end of a word, got none.", "Such as -ia.")
        check_settings(self)


@dataclass(frozen=True)
class SlicedUnit:
    """The words of a unit with their cuts, and whether an entity of these words stood in training
    (None: not known, or none).
    """

    words: tuple[TokenizedWord, ...]
    entity_seen: bool | None = None


@dataclass(frozen=True)
class ErrorSlice:
    """A slice: its name for people, the sentence that explains it, whether it holds a unit.

    `needs`: "cuts" of two models, "training" words, "entities" (training words of a NER task).
    """

    named: Callable[[SliceSettings], str]
    about: str
    holds: Callable[[SlicedUnit, SliceSettings], bool]
    needs: str = ""


SLICES: dict[str, ErrorSlice] = {
    "new-token": ErrorSlice(
        lambda _: "holds a new token",
        "a word of it is cut into a token that was added",
        lambda unit, _: any(word.new for word in unit.words),
        "cuts",
    ),
    "other-cut": ErrorSlice(
        lambda _: "is cut otherwise",
        "a word of it is cut otherwise than before",
        lambda unit, _: any(word.changed for word in unit.words),
        "cuts",
    ),
    "pieces": ErrorSlice(
        lambda asked: f"cut into ≥ {asked.pieces} before",
        "a word of it was cut into so many pieces or more before",
        lambda unit, asked: any(len(word.before) >= asked.pieces for word in unit.words),
        "cuts",
    ),
    "suffix": ErrorSlice(
        lambda asked: f"ends in -{asked.suffix}",
        "a word of it ends so, whatever its case",
        lambda unit, asked: any(word.word.lower().endswith(asked.suffix) for word in unit.words),
    ),
    "unseen": ErrorSlice(
        lambda _: "unseen word",
        "a word of it stands nowhere in the training examples",
        lambda unit, _: any(word.seen == 0 for word in unit.words),
        "training",
    ),
    "seldom": ErrorSlice(
        lambda asked: f"seen < {asked.seldom} times",
        "its rarest word was seen in training, but so seldom",
        lambda unit, asked: (
            0 < min((word.seen or 0 for word in unit.words), default=0) < asked.seldom
        ),
        "training",
    ),
    "unseen-entity": ErrorSlice(
        lambda _: "unseen entity",
        "no entity of just these words stood in the training examples",
        lambda unit, _: unit.entity_seen is False,
        "entities",
    ),
}
NAMES = {ALL: "everything", REST: "everything else"}


@dataclass(frozen=True)
class SliceScore:
    """A slice of a ledger: gold units in it, the score of either side on it, how many units were
    fixed and broken.

    `first` and `second` are fractions, None where nothing was to be scored.
    """

    name: str
    title: str
    n: int
    first: float | None
    second: float | None
    fixed: int
    broken: int

    @property
    def difference(self) -> float | None:
        """The second's score less the first's."""
        return None if self.first is None or self.second is None else self.second - self.first

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "slice": self.name,
            "title": self.title,
            "n": self.n,
            "first": self.first,
            "second": self.second,
            "difference": self.difference,
            "fixed": self.fixed,
            "broken": self.broken,
        }


@dataclass(frozen=True, eq=False)
class Slicing:
    """A ledger with the cuts of its words, ready to be sliced; `scorer` and `rules` score what has
    no units of its own.
    """

    ledger: Ledger
    words: WordIndex
    scorer: Scorer
    rules: Rules
    settings: SliceSettings = field(default_factory=SliceSettings)

    @property
    def metric(self) -> str:
        """What the figure is called by which the sides and the slices are judged."""
        return format_metric_name(self.scorer.headline)

    @cached_property
    def definition(self) -> str:
        """Definition of the score; for binary tasks it names the positive class."""
        sides = (self.ledger.first.predictions, self.ledger.second.predictions)
        labels = sorted({label for said in sides for label in self._tally(said).labels})
        return self.scorer.defined(labels, self.rules)

    @cached_property
    def available(self) -> tuple[str, ...]:
        """The slices that what is known allows."""
        trained, ner = self.words.trained is not None, self.ledger.kind == "ner"
        there = {
            "": True,
            "cuts": self.words.cuts,
            "training": trained,
            "entities": trained and ner,
        }
        return tuple(name for name, one in SLICES.items() if there[one.needs])

    def title(self, name: str) -> str:
        """A slice's name for people; raises InputError for one that does not exist, or cannot be
        told here.
        """
        if name in NAMES:
            return NAMES[name]
        if name not in SLICES:
            raise InputError(
                f"There is no slice {name!r}.", f"Choose one of: {', '.join((ALL, *SLICES, REST))}."
            )
        if name not in self.available:
            lacking = (
                "two cuts" if SLICES[name].needs == "cuts" else "the training examples of a run"
            )
            there = ", ".join((ALL, *self.available, REST))
            raise InputError(f"The slice {name!r} needs {lacking}.", f"There are here: {there}.")
        return SLICES[name].named(self.settings)

    def entries(self, name: str = ALL) -> tuple[Entry, ...]:
        """The entries of a slice, false alarms with them."""
        self.title(name)
        return tuple(
            entry for entry in self.ledger.entries if self.holds(name, entry.place, entry.unit)
        )

    def holds(self, name: str, place: int, unit: Unit) -> bool:
        """Whether a slice holds a unit of the example at a place."""
        return name == ALL or name in self._held(place, unit)

    def scores(self, names: Sequence[str] = ()) -> tuple[SliceScore, ...]:
        """The slices that were asked for, else all that there are, and everything else: what no
        slice holds.
        """
        chosen = tuple(names) or (*self.available, REST)
        return tuple(self._score(name) for name in chosen)

    def by_tokenization(self, name: str = ALL) -> dict[str, Score]:
        """Score each tokenization over a slice, for the run with two tokenizations; empty if there
        is none.

        NER: recall is over the gold entities of the slice, precision over the predicted entities of
        the slice, each entity belonging to it by its own words. For the slice by suffix these are
        the figures behind "recall on -ia diseases" and "precision on -ia diseases" (Poerner et al.
        2020, section 3.3).

        Example, suffix -ia: gold anemia, fever, mania; predicted fever, mania, media -> P 1/2, R
        1/2 (over all: 2/3, 2/3).
        """
        self.title(name)
        side = self.ledger.pooled_side
        if side is None:
            return {}
        scores = {cut: self._score_of(name, said) for cut, said in side.by_tokenization.items()}
        return {cut: score for cut, score in scores.items() if score is not None}

    def words_of(self, place: int, unit: Unit) -> tuple[TokenizedWord, ...]:
        """The words that a unit is sliced by: an entity's; all words of a text; a question's and
        its answer's.
        """
        example = self.ledger.split.examples[place]
        if isinstance(example, Sentence):
            return self.words.cut(example.words[unit.start : unit.end])
        text = (
            f"{example.question} {unit.text}"
            if isinstance(example, Question)
            else example_text(example)
        )
        return self.words.cut(self.words.words_of(text))

    @cached_property
    def _known(self) -> dict[tuple[int, Unit], frozenset[str]]:
        return {}

    def _held(self, place: int, unit: Unit) -> frozenset[str]:
        """The slices that hold a unit; "rest" where none does."""
        key = (place, unit)
        if key not in self._known:
            seen = self.words.seen_entity(unit.text) if self.ledger.kind == "ner" else None
            sliced = SlicedUnit(self.words_of(place, unit), seen)
            found = frozenset(
                name for name in self.available if SLICES[name].holds(sliced, self.settings)
            )
            self._known[key] = found or frozenset([REST])
        return self._known[key]

    def _score(self, name: str) -> SliceScore:
        title = self.title(name)
        fates = [entry.outcome for entry in self.entries(name) if entry.outcome in OUTCOMES]
        scores = (
            self._score_of(name, side.predictions) for side in (self.ledger.first, self.ledger.second)
        )
        first, second = (None if score is None else score.value for score in scores)
        return SliceScore(
            name, title, len(fates), first, second, fates.count(FIXED), fates.count(BROKEN)
        )

    def _score_of(self, name: str, said: Sequence[Prediction]) -> Score | None:
        """Score a prediction over a slice, None if it is empty; without a slice, the task's own
        score.

        A slice of a NER task is always scored by entity (entity-strict); that of another task by
        the task's score, over the examples that contain an entry of the slice.
        """
        if name != ALL and self.ledger.kind == "ner":
            return self._entity_score(name, said)
        tally = self._tally(said)
        if name != ALL:
            places = sorted({entry.place for entry in self.entries(name)})
            tally = Tally(tally.rows[places], tally.labels)
        return self.scorer.of(tally, self.rules) if len(tally.rows) else None

    def _entity_score(self, name: str, said: Sequence[Prediction]) -> Score | None:
        """Score the gold and predicted entities of a slice; each belongs to it by its own words."""
        gold, predicted = (
            [self._items(name, place, units) for place, units in enumerate(listed)]
            for listed in (self._gold_units, self._units(said))
        )
        if not any((*gold, *predicted)):
            return None
        return scorer_of("ner").of(count_items(gold, predicted), self.rules)

    def _items(self, name: str, place: int, units: Iterable[Unit]) -> Items:
        """Return the entities of one sentence that belong to a slice, in the scorer's form."""
        held = [unit for unit in units if self.holds(name, place, unit)]
        return frozenset((unit.label or BARE, (unit.start, unit.end)) for unit in held)

    @cached_property
    def _gold_units(self) -> list[tuple[Unit, ...]]:
        return self._entities(self.ledger.split.gold)

    def _units(self, said: Sequence[Prediction]) -> list[tuple[Unit, ...]]:
        """Return the entities of a prediction of the ledger (cached)."""
        if id(said) not in self._predicted:
            self._predicted[id(said)] = self._entities(said)
        return self._predicted[id(said)]

    def _entities(self, tagged: Sequence[Prediction]) -> list[tuple[Unit, ...]]:
        pairs = zip(self.ledger.split.examples, tagged, strict=True)
        return [self.ledger.judge.units(example, tags) for example, tags in pairs]

    def _tally(self, said: Sequence[Prediction]) -> Tally:
        """Return the counts that the task's score needs of a prediction of the ledger (cached)."""
        if id(said) not in self._tallies:
            self._tallies[id(said)] = self.scorer.tally(self.ledger.split.gold, said, self.rules)
        return self._tallies[id(said)]

    @cached_property
    def _predicted(self) -> dict[int, list[tuple[Unit, ...]]]:
        return {}

    @cached_property
    def _tallies(self) -> dict[int, Tally]:
        return {}
