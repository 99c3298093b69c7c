"""Choose the words that the lab offers first, and write `examples.json`: six that the alignment gets
right, of as many classes as possible, and one that it does not.

    python assets/demo/make_examples.py

A word is right if one of its five nearest wordpieces is of its class (`classes.toml`). Candidates are
the wordpieces that begin a word, but none with the same first four letters. Only words that the
model splits are looked up. A word is chosen only if its answer is the same by cosine and by CSLS,
among all candidates and among the anchors alone.
"""

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vocadapt.lab.demo import BEST, DEMO, EXAMPLES, MODEL, VECTORS
from vocadapt.models.language_model import open_model
from vocadapt.spaces.alignment.alignment import Alignment
from vocadapt.spaces.alignment.cross_space import ALL_PIECES, CrossSpace, ListSettings
from vocadapt.spaces.io.storage import load_space

CLASSES = Path(__file__).parent / "classes.toml"
K = 5  # a word is right if one of so many neighbors is of its class
STEM = 4  # letters; a wordpiece with the same ones is another form of the word
DEPTH = 1_000  # neighbors that are searched for the first one of the class
N_RIGHT = 6
WRONG = ("tachycardia", "bradycardia", "warfarin")  # the first one that is wrong is offered


@dataclass(frozen=True)
class MeasuredWord:
    """A word, its class, and the rank of its first neighbor of that class in the best and the worst
    of the four lists; DEPTH + 1 if there is none.
    """

    word: str
    word_class: str
    best_rank: int
    worst_rank: int
    neighbor: str  # that neighbor, in the list by cosine among all candidates; "" if there is none


def main() -> None:
    """Measure all words of the classes, and write the chosen ones and the counts."""
    measured = measure_examples()
    wrong = {one.word: one for one in measured if one.best_rank > K}
    failing = next(wrong[word] for word in WRONG if word in wrong)
    examples = [
        {
            "word": one.word,
            "class": one.word_class,
            "right": one is not failing,
            "rank": min(one.worst_rank, DEPTH),
            "neighbor": one.neighbor,
        }
        for one in [*choose_right(measured), failing]
    ]
    record = {"k": K, "examples": examples, "classes": count_right(measured)}
    EXAMPLES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure_examples(only: Iterable[str] = ()) -> list[MeasuredWord]:
    """Measure words of the classes, most frequent first: the given ones, or all that are split."""
    vectors, model = load_space(DEMO.joinpath(*VECTORS)), open_model(DEMO.joinpath(*MODEL))
    spaces = CrossSpace(vectors, model.word_space, Alignment.load(DEMO.joinpath(*BEST)))
    content = tomllib.loads(CLASSES.read_text(encoding="utf-8"))["classes"]
    classes = {name: set(words.split()) for name, words in content.items()}
    class_of = {word: name for name, words in classes.items() for word in words}
    wanted = list(only) or [word for word in vectors.words if word in class_of]
    return [
        measure_word(spaces, word, class_of[word], classes[class_of[word]])
        for word in wanted
        if not model.vocabulary.has_word(word)
    ]


def measure_word(spaces: CrossSpace, word: str, name: str, members: set[str]) -> MeasuredWord:
    """Find the first neighbor of the word's class in each of the four lists."""
    ranks, first = [], ""
    for csls in (False, True):
        settings = ListSettings(DEPTH, csls=csls, among=ALL_PIECES)
        listed = spaces.lists(word, settings)["to_pieces"] or []
        whole = [piece for piece, _ in listed if piece[0].isalnum() and piece[:STEM] != word[:STEM]]
        anchors = [piece for piece in whole if piece in spaces.words]
        for candidates in (whole, anchors):
            hits = (rank for rank, piece in enumerate(candidates, 1) if piece in members)
            ranks.append(next(hits, DEPTH + 1))
        if not csls and ranks[0] <= DEPTH:
            first = whole[ranks[0] - 1]
    return MeasuredWord(word, name, min(ranks), max(ranks), first)


def choose_right(measured: list[MeasuredWord]) -> list[MeasuredWord]:
    """Return N_RIGHT right words: the most frequent ones of as many classes."""
    by_class: dict[str, MeasuredWord] = {}
    for one in measured:
        if one.worst_rank <= K:
            by_class.setdefault(one.word_class, one)
    return list(by_class.values())[:N_RIGHT]


def count_right(measured: list[MeasuredWord]) -> dict[str, dict[str, int]]:
    """Return, for each class, the number of measured words and of right ones."""
    counts: dict[str, dict[str, int]] = {}
    for one in measured:
        count = counts.setdefault(one.word_class, {"words": 0, "right": 0})
        count["words"] += 1
        count["right"] += one.worst_rank <= K
    return counts


if __name__ == "__main__":
    main()
