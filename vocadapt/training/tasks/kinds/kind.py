"""TaskKind: everything that one kind of task does differently from another.

A kind of task is a subclass with its names and texts as class attributes, and one method for each
thing that the program does with examples, in the order of a run: read files, encode examples,
predict from logits, score, judge errors, show an example, read typed text. `labeled_texts.py` is a
base for kinds whose examples are texts with labels: a new one of them takes about ten lines.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vocadapt.errors import InputError, check_choice
from vocadapt.models.heads import SEQUENCE
from vocadapt.training.encoding.encoding import EncodedExamples, EncodingSettings
from vocadapt.training.encoding.model_tokenizers import ModelTokenizer
from vocadapt.training.examples.examples import (
    EXAMPLE,
    UNITS,
    Example,
    Prediction,
    Predictions,
    Split,
    SplitWords,
)
from vocadapt.training.labels import Logits, Targets
from vocadapt.training.scoring.counts import Rules, Scorer
from vocadapt.training.scoring.scorers import SCORERS
from vocadapt.training.tasks.kinds.judgment import Choice, Claims, Confusion, Judgment, Line, Unit

if TYPE_CHECKING:
    import torch

Tokenizers = Mapping[str, ModelTokenizer]  # the tokenizers of a model by name
SAMPLE_SENTENCE = (
    "The patient with hypertension and nephropathy was given lidocaine; naloxone was not needed."
)


@dataclass(frozen=True)
class TextInput:
    """A field of the form that takes a typed example: name, label, and a text to begin with.

    offers_examples: whether texts to choose from are shown below it. is_example: whether the sample
    is one of them.
    """

    name: str
    label: str
    sample: str
    height: int = 68
    offers_examples: bool = False
    is_example: bool = True


class TaskKind(ABC):
    """A kind of task. Its instances have no state; they are found by name in TASK_KINDS."""

    # Names and texts.
    name: ClassVar[str]
    about: ClassVar[str]
    file_format: ClassVar[str]  # of examples, for help texts
    prediction_format: ClassVar[str]  # of predictions, for help texts

    # Labels and scores.
    gold_form: ClassVar[str]  # what its scorers take: TAGS, LABEL, LABELS or ANSWERS
    default_scorer: ClassVar[str]
    label_noun: ClassVar[str] = "labels"
    counted_noun: ClassVar[str] = "examples"  # what `count_labels` counts
    # With fewer entities or examples of a label than the minimum, trainings learned little; a
    # sample contains the target number of each label if possible. Both are measured: see the kinds.
    # 0: not known.
    min_per_label: ClassVar[int] = 0
    target_per_label: ClassVar[int] = 0
    max_labels: ClassVar[int] = 10_000  # that a head can be trained for
    min_outputs: ClassVar[int] = 2
    reported_notes: ClassVar[frozenset[str]] = frozenset()  # of a split, to report before training

    # The head of the network; EMBEDDING: none, the logits are the embeddings of an example's texts.
    head: ClassVar[str] = SEQUENCE
    architecture: ClassVar[str] = ""  # another program's models with this head are read as its own
    is_multilabel: ClassVar[bool] = False  # each output is independent of the others
    divides_sentences: ClassVar[bool] = False  # long sentences are trained on in chunks
    has_word_rule: ClassVar[bool] = False  # how to split a context into words is a setting
    compares_examples: ClassVar[bool] = False  # the loss of a batch compares its examples

    # Error analysis.
    error_kinds: ClassVar[Mapping[str, str]]  # kind of error -> its description
    confusion_unit: ClassVar[str] = "texts"  # "" if there are no classes to confuse
    finds_entities: ClassVar[bool] = False  # units are entities: spans of words with a type

    # Typed text and files of predictions.
    inputs: ClassVar[tuple[TextInput, ...]]
    not_plain_text: ClassVar[str] = ""  # what a line of plain text cannot hold; "" if it can
    plain_text_remedy: ClassVar[str] = ""
    prediction_file: ClassVar[str] = "predictions.jsonl"

    def __str__(self) -> str:
        return self.name

    # Read files.

    @abstractmethod
    def read(self, path: Path, columns: Mapping[str, str] | None = None) -> Split:
        """Read the examples of a file; columns: role -> column, instead of the usual names."""

    def read_gold(self, path: Path) -> Split:
        """Read the examples of a file with their labels unchanged."""
        return self.read(path)

    def read_split(
        self, path: Path, columns: Mapping[str, str] | None = None, unit: str = EXAMPLE
    ) -> Split:
        """Read the examples of a file, or one example for each document.

        Raises InputError for documents unless the kind can be read by document.
        """
        check_choice("unit", unit, UNITS)
        split = self.read(path, columns)
        return split if unit == EXAMPLE else self.join_documents(split)

    def join_documents(self, split: Split) -> Split:
        """Merge the examples of each document into one; raises InputError if the kind has no such
        examples.
        """
        raise InputError(
            f"Only multilabel tasks are read by document, not {self.name}.", "Leave the unit out."
        )

    @abstractmethod
    def read_predictions(self, path: Path, gold: Split) -> Predictions:
        """Read the predictions for a gold file; raises InputError if they are for other examples,
        or missing.
        """

    @abstractmethod
    def example_from_json(self, row: Mapping[str, Any]) -> Example:
        """Rebuild an example from the values of its fields."""

    # Labels and outputs.

    def labels_of(self, examples: Iterable[Example]) -> frozenset[str]:
        """Return the labels of examples."""
        return frozenset(label for example in examples for label in example.gold or ())

    def count_labels(self, examples: Iterable[Example]) -> Counter[str]:
        """Count what is to be learned in examples, by label: label → number of examples that have
        it.
        """
        return Counter(label for example in examples for label in set(example.gold or ()))

    def describe_labels(self, labels: frozenset[str]) -> str:
        """Describe why labels of a split say little; "" if they are fine."""
        if len(labels) != 1:
            return ""
        return f"holds one class only ({next(iter(labels))}): a score on it says little."

    def describe_splits(self, splits: Mapping[str, Split]) -> Iterable[str]:
        """Describe how the files of a task are written, and where they differ; nothing if that is
        usual.
        """
        return ()

    def name_outputs(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the head's outputs for the labels of training, sorted."""
        return tuple(labels)

    # Encode examples, and predict from logits.

    def encode(
        self, examples: Sequence[Any], tokenizers: Tokenizers, settings: EncodingSettings
    ) -> EncodedExamples:
        """Encode examples under each tokenizer; raises InputError for none, and for a mixture."""
        if len({type(example) for example in examples}) != 1:
            raise InputError(
                "Expected examples of one kind, and at least one.",
                "Give sentences, texts, or questions.",
                code="mixed-examples",
            )
        return self.encode_examples(examples, tokenizers, settings)

    @abstractmethod
    def encode_examples(
        self, examples: Sequence[Any], tokenizers: Tokenizers, settings: EncodingSettings
    ) -> EncodedExamples:
        """Encode at least one example."""

    def encode_for_training(
        self,
        examples: Sequence[Any],
        tokenizers: Tokenizers,
        settings: EncodingSettings,
        index: Mapping[str, int],
    ) -> tuple[EncodedExamples, tuple[Targets, ...]]:
        """Encode the examples that can be trained on, and return the targets of each encoded part.

        index: number of each output by name.
        """
        encoded = self.encode(examples, tokenizers, settings)
        whole = [self.build_targets(example.gold or (), index) for example in examples]
        return encoded, tuple(whole[chunk.owner][chunk.rows] for chunk in encoded.chunks)

    def build_targets(self, gold: Sequence[str], index: Mapping[str, int]) -> Targets:
        """Return the output of each gold label: int64, one for each row of the example's logits."""
        return np.array([index[label] for label in gold], dtype=np.int64)

    def compute_loss(self, logits: Logits, example: Any, index: Mapping[str, int]) -> float:
        """Return the loss of an example: the mean cross-entropy of its rows whose label the head
        has; 0 if there is none.

        logits: (rows, outputs) float32. Example: logits [[0, 0]] -> ln 2 for either label.
        """
        from scipy.special import log_softmax

        known = [place for place, label in enumerate(example.gold or ()) if label in index]
        if not known:
            return 0.0
        targets = [index[example.gold[place]] for place in known]
        return float(-log_softmax(logits[known], axis=1)[range(len(known)), targets].mean())

    def compute_batch_loss(
        self, logits: "torch.Tensor", labels: "torch.Tensor", mask: "torch.Tensor", n_labels: int
    ) -> "torch.Tensor":
        """Return the training loss of a batch or of a part of it: here the mean cross-entropy.

        logits: (sequences, wordpieces, outputs) or (sequences, outputs). labels: the targets of its
        examples. mask: attention mask (sequences, wordpieces). n_labels: number of labels in the
        whole batch.
        """
        from vocadapt.training.losses import compute_label_loss

        return compute_label_loss(logits, labels, n_labels)

    @abstractmethod
    def predict(self, logits: Logits, example: Any, names: tuple[str, ...]) -> Prediction:
        """Predict labels, tags or an answer from the logits (rows, outputs) of an example."""

    def predict_all(
        self,
        logits: Sequence[Logits],
        examples: Sequence[Any],
        names: tuple[str, ...],
        among: Sequence[Logits],
        collection: Sequence[Any],
    ) -> list[Prediction]:
        """Predict for the examples of a split; among: logits of its collection, such as the
        embeddings of the documents that a search chooses from.
        """
        return [
            self.predict(own, example, names) for own, example in zip(logits, examples, strict=True)
        ]

    def count_rows(self, example: Any) -> int:
        """Return the number of rows of an example's logits."""
        return 1

    def set_word_rule(self, examples: Iterable[Example], rule: str) -> tuple[Example, ...]:
        """Set how contexts are split into words; examples without a context are unchanged."""
        return tuple(examples)

    # Score.

    def scorer(self, name: str = "") -> Scorer:
        """Return a scorer by name, without a name the default one; raises InputError for an unknown
        scorer, or one for other kinds.
        """
        fitting = [one.name for one in self.scorers()]
        if (name or self.default_scorer) not in fitting:
            raise InputError(
                f"There is no score {name!r} for {self.name}.",
                f"Choose one of: {', '.join(fitting)}.",
                code="unknown-choice",
            )
        return SCORERS[name or self.default_scorer]

    def scorers(self) -> list[Scorer]:
        """Return the scorers that take its gold labels."""
        return [one for one in SCORERS.values() if self.gold_form in one.takes]

    @abstractmethod
    def constant_predictions(self, gold: Sequence[Any]) -> list[Sequence[Any]]:
        """Return predictions that are the same for every example, the most frequent one first."""

    # Judge errors.

    @abstractmethod
    def judge(self, example: Any, gold: Sequence[str], predicted: Any, rules: Rules) -> Judgment:
        """Compare the prediction for an example with its gold labels, tags or answers."""

    def negative_classes(self, rules: Rules) -> tuple[str, ...]:
        """Return the classes that mean that there is nothing to find."""
        return ()

    def label_items(self, labels: Sequence[str], untyped: bool) -> frozenset[Hashable]:
        """Return what must be equal for a prediction to be right; untyped: ignore entity types."""
        return frozenset(labels)

    def is_right(self, gold: Sequence[str], predicted: Any, untyped: bool = False) -> bool:
        """Whether all of a prediction is right."""
        return self.label_items(gold, untyped) == self.label_items(predicted, untyped)

    def find_units(self, example: Any, labels: Sequence[str], untyped: bool) -> tuple[Unit, ...]:
        """Return the units that labels mark in an example."""
        return tuple(map(Unit, labels))

    @abstractmethod
    def find_choices(
        self, example: Any, names: tuple[str, ...], units: Iterable[Unit] | None = None
    ) -> Iterator[Choice]:
        """Yield the choices that a prediction makes, of `units` only those that concern them."""

    def list_confusions(
        self, gold: Sequence[str], predicted: Sequence[str], untyped: bool
    ) -> Iterator[Confusion]:
        """Yield each gold label of an example with the label predicted instead."""
        yield Confusion(gold[0], predicted[0])

    # Show an example.

    @abstractmethod
    def show_lines(
        self, example: Any, unit: Unit, claims: Claims, *, alarm: bool, untyped: bool
    ) -> Iterable[Line]:
        """Return an example as lines: text, gold, and what each side predicted for a unit.

        alarm: the unit is a false alarm, where gold has nothing.
        """

    def describe_case(self, example: Any, start: int | None, end: int | None) -> dict[str, str]:
        """Return an example of a confusion as the columns of a table."""
        return {"text": example.full_text}

    def words_of_units(
        self, example: Any, units: Sequence[Unit], split: SplitWords
    ) -> Sequence[str]:
        """Return the words to list for units of an example."""
        return tuple(dict.fromkeys(split(example.full_text)))

    def words_of_slice(self, example: Any, unit: Unit, split: SplitWords) -> Sequence[str]:
        """Return the words that decide which slices contain a unit."""
        return self.words_of_units(example, [unit], split)

    # Typed text, and files of predictions.

    @abstractmethod
    def example_from_inputs(
        self, typed: Mapping[str, str], split: SplitWords, word_rule: str
    ) -> Example:
        """Make an example of what was typed into the fields `inputs`, none of them blank."""

    def examples_from_lines(self, lines: Sequence[str], split: SplitWords) -> tuple[Example, ...]:
        """Make an example of each line of plain text, with an empty `full_text` if it has no word.

        Raises InputError if the kind cannot read plain text, or if no line has a word.
        """
        raise InputError(
            f"Plain text cannot be read as {self.not_plain_text}.", self.plain_text_remedy
        )

    @abstractmethod
    def format_predictions(
        self, examples: Sequence[Any], predictions: Sequence[Prediction], jsonl: bool = False
    ) -> Iterator[str]:
        """Yield predictions in the form of its prediction files; JSON lines if `jsonl`.

        The prediction of an example without words is ().
        """
