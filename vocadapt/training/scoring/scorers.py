"""The scorers by name (SCORERS): of tagged words, of labeled texts, and of answers to questions.

Gold and predictions are in the same order. Tagged words: one sequence of tags per sentence, of the
same length. Labeled texts: one set of labels per text; for single-label tasks, sets of one. Answers
(by SQuAD's rules): gold is all accepted answers of a question, the prediction one text.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.training.examples.tags import choose_type_reader, decode_spans, type_of
from vocadapt.training.scoring.counts import (
    ANSWERS,
    LABEL,
    LABELS,
    TAGS,
    Array,
    Items,
    Rules,
    Scorer,
    Tally,
    compute_prf,
    count_items,
    macro,
    micro,
    safe_divide,
)

Tags = Sequence[str]
Tagged = Sequence[Tags]
Labels = Collection[str]
Compute = Callable[[Array, Sequence[str], Rules], dict[str, Array]]
BARE = "entity"  # what the one type of bare tags is called in a table
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Normalize a text: lower case, no ASCII punctuation, no articles, single spaces: `The cat's
    toy.` → `cats toy`.
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact(gold: str, predicted: str) -> float:
    """Return 1 if both texts are equal after normalization, else 0."""
    return float(normalize_answer(gold) == normalize_answer(predicted))


def overlap(gold: str, predicted: str) -> float:
    """Return the F1 of the two bags of words after normalization; if either is empty, 1 if both
    are, else 0.
    """
    ours = normalize_answer(gold).split()
    theirs = normalize_answer(predicted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * (Counter(ours) & Counter(theirs)).total() / (len(ours) + len(theirs))


def substring(gold: str, predicted: str) -> float:
    """Return 1 if the normalized gold answer contains the normalized prediction, else 0; an empty
    prediction counts only if gold is empty.
    """
    ours = normalize_answer(gold)
    theirs = normalize_answer(predicted)
    return float(theirs in ours if theirs else not ours)


def _count_answers(gold: Sequence[Sequence[str]], predicted: Sequence[str], rules: Rules) -> Tally:
    """Count per question: exact, overlap and substring, each the best over the accepted answers,
    and 1; no accepted answer means "".
    """
    rows = []
    for accepted, given in zip(gold, predicted, strict=True):
        scores = [
            max(score(answer, given) for answer in accepted or ("",))
            for score in (exact, overlap, substring)
        ]
        rows.append([[*scores, 1.0]])
    return Tally(np.array(rows))


def _average_columns(*names: str) -> Compute:
    """Return a function that divides each named column by the last one, the number of units."""

    def compute(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
        units = sums[..., 0, len(names)]
        return {name: safe_divide(sums[..., 0, i], units) for i, name in enumerate(names)}

    return compute


def _count_entities(gold: Tagged, predicted: Tagged, rules: Rules) -> Tally:
    """Count entities; raises InputError if only one side has bare tags, which would never agree
    with typed ones.
    """
    bare = [
        {not type_of(tag) for tags in side for tag in tags if tag != "O"}
        for side in (gold, predicted)
    ]
    if not rules.untyped and bare[0] and bare[1] and bare[0].isdisjoint(bare[1]):
        forms = ("typed", "bare")
        if bare[0] == {True}:
            forms = ("bare", "typed")
        raise InputError(
            f"Gold tags are {forms[0]}, predicted ones {forms[1]}.",
            "Ask for untyped scoring.",
            "untyped",
            code="bare-and-typed-tags",
        )
    return _count_spans(gold, predicted, choose_type_reader(rules.untyped))


def _count_legacy_entities(gold: Tagged, predicted: Tagged, rules: Rules) -> Tally:
    # What seqeval 0.0.12 takes as the type: all after the last hyphen; of a bare tag, the tag.
    return _count_spans(gold, predicted, lambda tag: tag.rpartition("-")[2])


def _count_spans(gold: Tagged, predicted: Tagged, read_type: Callable[[str], str]) -> Tally:
    def list_spans(tags: Tags) -> Items:
        spans = decode_spans(tags, read_type)
        return frozenset((kind or BARE, (start, end)) for start, end, kind in spans)

    return _count_by_sentence(gold, predicted, list_spans)


def _count_tokens(gold: Tagged, predicted: Tagged, rules: Rules) -> Tally:
    return _count_by_sentence(
        gold,
        predicted,
        lambda tags: frozenset((tag, place) for place, tag in enumerate(tags) if tag != "O"),
    )


def _count_pieces(gold: Tagged, predicted: Tagged, rules: Rules) -> Tally:
    return _count_by_sentence(
        gold, predicted, lambda tags: frozenset((tag, place) for place, tag in enumerate(tags))
    )


def _count_by_sentence(gold: Tagged, predicted: Tagged, items: Callable[[Tags], Items]) -> Tally:
    for number, (ours, theirs) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(ours) != len(theirs):
            raise InputError(
                f"Sentence {number:,} has {len(ours)} gold tags and {len(theirs)} predicted ones.",
                "Predict one tag for each word; if a model truncates a sentence, give O for the"
                " rest.",
                code="other-sentence-length",
            )
    return count_items([items(tags) for tags in gold], [items(tags) for tags in predicted])


def _count_labels(gold: Sequence[Labels], predicted: Sequence[Labels], rules: Rules) -> Tally:
    def list_items(labels: Labels) -> Items:
        return frozenset((label, None) for label in labels)

    return count_items(list(map(list_items, gold)), list(map(list_items, predicted)))


def _count_right_texts(gold: Sequence[Labels], predicted: Sequence[Labels], rules: Rules) -> Tally:
    """Count per text: 1 if all labels are right, and 1."""
    right = [set(ours) == set(theirs) for ours, theirs in zip(gold, predicted, strict=True)]
    return Tally(np.array([[[float(was), 1.0]] for was in right]))


def _count_examples(gold: Sequence[Labels], predicted: Sequence[Labels], rules: Rules) -> Tally:
    """Count per text: its own precision, recall and F1, and 1.

    BLUE's script leaves texts without gold labels undefined; here, predicting none is right.
    """
    rows = []
    for ours, theirs in zip(map(set, gold), map(set, predicted), strict=True):
        right = len(ours & theirs)
        total = len(ours) + len(theirs)
        if total:
            scores = [right / max(len(theirs), 1), right / max(len(ours), 1), 2 * right / total]
        else:
            scores = [1.0, 1.0, 1.0]
        rows.append([[*scores, 1.0]])
    return Tally(np.array(rows))


def _average_examples(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    figures = _average_columns("precision", "recall", "mean_f1")(sums, labels, rules)
    precision = figures["precision"]
    recall = figures["recall"]
    harmonic = safe_divide(2 * precision * recall, precision + recall)
    return {
        "precision": precision,
        "recall": recall,
        "f1": harmonic,
        "mean_f1": figures["mean_f1"],
    }


def _without_negative_classes(average: Compute) -> Compute:
    def compute(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
        kept = [place for place, label in enumerate(labels) if label not in rules.negative]
        return average(sums[..., kept, :], [labels[place] for place in kept], rules)

    return compute


def _compute_binary(sums: Array, labels: Sequence[str], rules: Rules) -> dict[str, Array]:
    if rules.positive not in labels:
        return compute_prf(np.zeros((*sums.shape[:-2], 3)))
    return compute_prf(sums[..., list(labels).index(rules.positive), :])


LEFT_OUT = (
    "the classes of no relation (false, DDI-false, or those given) left out; without such a class,"
    " all of them"
)
ALL_SCORERS = (
    Scorer(
        "entity-strict",
        "micro precision, recall, F1 over entities; right = same first word, last word and type;"
        " spans by conlleval's rules (an I without a B begins one); bare B I O are one type",
        (TAGS,),
        _count_entities,
        micro,
        uses=("untyped",),
    ),
    Scorer(
        "token",
        "micro precision, recall, F1 over the words that are not O, the whole tag compared (B-X is"
        " not I-X)",
        (TAGS,),
        _count_tokens,
        micro,
    ),
    Scorer(
        "wordpiece-macro",
        "exBERT's: F1 of each tag, O included, over wordpieces, then the mean over tags that occur"
        " (sklearn's macro); give one tag for each wordpiece; not comparable with entity F1",
        (TAGS,),
        _count_pieces,
        macro,
    ),
    Scorer(
        "legacy-seqeval",
        "Bio-LM's: seqeval 0.0.12, which reads bare B I as two entities, one of type B and one of"
        " type I; on typed tags it is entity-strict, but for types with a hyphen, of which it keeps"
        " the last part",
        (TAGS,),
        _count_legacy_entities,
        micro,
    ),
    Scorer(
        "accuracy",
        "share of texts whose label (all labels) is right",
        (LABEL, LABELS),
        _count_right_texts,
        _average_columns("accuracy"),
        "accuracy",
        False,
    ),
    Scorer(
        "micro-f1",
        "micro F1 over all classes; with one label a text it is accuracy",
        (LABEL, LABELS),
        _count_labels,
        micro,
    ),
    Scorer(
        "micro-f1-positive",
        f"micro F1, {LEFT_OUT}",
        (LABEL,),
        _count_labels,
        _without_negative_classes(micro),
        uses=("negative",),
    ),
    Scorer(
        "macro-f1",
        "mean over the classes that occur of each class's F1 (sklearn's macro)",
        (LABEL, LABELS),
        _count_labels,
        macro,
    ),
    Scorer(
        "macro-f1-positive",
        f"macro F1, {LEFT_OUT}",
        (LABEL,),
        _count_labels,
        _without_negative_classes(macro),
        uses=("negative",),
    ),
    Scorer(
        "binary-f1",
        "precision, recall, F1 of the class under `positive`",
        (LABEL,),
        _count_labels,
        _compute_binary,
        uses=("positive",),
    ),
    Scorer(
        "example-f1",
        "BLUE's for HoC: precision and recall of each example's label set, the mean of each over"
        " examples, and their harmonic mean (mean_f1 is the mean of each example's F1); an example"
        " is a document where documents are given, its labels those of any of its sentences; one"
        " without gold labels counts 1 where none is predicted, else 0",
        (LABELS,),
        _count_examples,
        _average_examples,
        counted=False,
        merges_documents=True,
    ),
    Scorer(
        "squad",
        "SQuAD's: lower case, no ASCII punctuation, articles or double blanks; exact = same text,"
        " f1 = overlap of the bags of words, substring = the prediction stands in the gold answer"
        " (an empty one does not); best over accepted answers, mean over questions",
        (ANSWERS,),
        _count_answers,
        _average_columns("exact", "f1", "substring"),
        counted=False,
    ),
)
SCORERS: dict[str, Scorer] = {scorer.name: scorer for scorer in ALL_SCORERS}


def register_scorer(scorer: Scorer) -> None:
    """Add a scorer to the registry; raises InputError for a name that is taken or invalid."""
    register(SCORERS, "a scorer", scorer.name, scorer)
