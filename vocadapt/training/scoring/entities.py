"""Scores of tagged words. Gold and predictions are one sequence of tags per sentence, in the same
order and of the same length.
"""

from collections.abc import Callable, Sequence

from vocadapt.errors import InputError
from vocadapt.training.scoring.counts import (
    TAGS,
    Items,
    Rules,
    Scorer,
    Tally,
    count_items,
    macro,
    micro,
)
from vocadapt.training.tasks.tags import decode_spans, type_of

Tags = Sequence[str]
Tagged = Sequence[Tags]
BARE = "entity"  # what the one type of bare tags is called in a table


def _count_entities(gold: Tagged, predicted: Tagged, rules: Rules) -> Tally:
    _check_types(gold, predicted, rules)
    untyped = rules.untyped
    return _count_by_sentence(
        gold, predicted, lambda tags: _list_entities(tags, (lambda tag: "") if untyped else type_of)
    )


def _list_entities(tags: Tags, type_of: Callable[[str], str]) -> Items:
    return frozenset(
        (kind or BARE, (start, end)) for start, end, kind in decode_spans(tags, type_of)
    )


def _count_legacy_entities(gold: Tagged, predicted: Tagged, rules: Rules) -> Tally:
    return _count_by_sentence(gold, predicted, lambda tags: _list_entities(tags, _read_last_part))


def _read_last_part(tag: str) -> str:
    """Return what seqeval 0.0.12 takes as the type: everything after the last hyphen; of a bare
    tag, the tag.
    """
    return tag.rpartition("-")[2]


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
    """Count the items of every sentence; raises InputError if gold and predicted tags differ in
    number.
    """
    for number, (ours, theirs) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(ours) != len(theirs):
            raise InputError(
                f"Sentence {number:,} has {len(ours)} gold tags and {len(theirs)} predicted ones.",
                "Predict one tag for each word; if a model truncates a sentence, give O for the"
                " rest.",
            )
    return count_items([items(tags) for tags in gold], [items(tags) for tags in predicted])


def repeat_tags(tags: Tags, pieces: Sequence[int]) -> tuple[str, ...]:
    """Repeat the tag of each word for each of its wordpieces, as exBERT (Tai et al. 2020) does.

    `repeat_tags(["B", "O"], [3, 1])` → B B B O.
    """
    return tuple(tag for tag, count in zip(tags, pieces, strict=True) for _ in range(count))


def _check_types(gold: Tagged, predicted: Tagged, rules: Rules) -> None:
    """Raise InputError if only one side has bare tags: they would never agree with typed ones."""
    if rules.untyped:
        return
    bare = [
        {not type_of(tag) for tags in side for tag in tags if tag != "O"}
        for side in (gold, predicted)
    ]
    if bare[0] and bare[1] and bare[0].isdisjoint(bare[1]):
        kind = ("bare", "typed") if bare[0] == {True} else ("typed", "bare")
        raise InputError(
            f"Gold tags are {kind[0]}, predicted ones {kind[1]}.",
            "Ask for untyped scoring.",
            "untyped",
        )


ENTITY_SCORERS = (
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
)
