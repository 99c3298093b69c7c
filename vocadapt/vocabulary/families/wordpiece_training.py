"""WordPiece vocabularies trained on the distinct words of a text and their counts, by two named
trainers.

Both start from single characters and merge adjacent pieces until there are enough tokens; they
differ in which pair comes next. Ties go to the token that is smaller as text: the same counts give
the same vocabulary, in whatever order they come.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import MAX_COUNT, bounded, check_settings
from vocadapt.vocabulary.families.merging import Pieces, Score, merges
from vocadapt.vocabulary.families.wordpiece import LONGEST_WORD, SPECIAL_TOKENS

ALPHABET = 1000  # characters that are kept, the most frequent ones; words with others become [UNK]
MIN_COUNT = 2  # a pair that occurs once tells nothing
REPORTED = 100  # merges between two reports of progress


@dataclass(frozen=True)
class Trainer:
    """One order of merging: the sentence that explains it, its formula, its source.

    `by_parts`: the score depends on how often the pieces of a pair occur, too. `min_share`: how
    often a pair must at least occur to be merged, against the running words. A score that favors
    rare pieces needs such a floor, or the vocabulary fills with rare words and their beginnings. On
    11 M words of Wikipedia and 1.7 M of abstracts, higher floors gave fewer wordpieces per word,
    and 1 in 50 000 was about the highest that still gave 16 000 and 13 600 tokens.
    """

    score: Score
    about: str
    formula: str
    source: str
    by_parts: bool = False
    min_share: float = 0.0

    def least(self, running: int) -> int:
        """How often a pair must occur in a text of so many running words: twice or more."""
        return max(MIN_COUNT, round(self.min_share * running))


def _by_count(pair: int, left: int, right: int) -> float:
    return pair


def _by_score(pair: int, left: int, right: int) -> float:
    return pair / (left * right)


TRAINERS: dict[str, Trainer] = {
    "bpe-merges": Trainer(
        _by_count,
        "the most frequent pair is merged first",
        "f(t1 t2)",
        "the WordPieceTrainer of the tokenizers library",
    ),
    "wordpiece-score": Trainer(
        _by_score,
        "the pair that is seldom apart is merged first",
        "f(t1 t2) / (f(t1) · f(t2))",
        "thesis eq. 2.1 (2023)",
        by_parts=True,
        min_share=1 / 50_000,
    ),
}


@dataclass(frozen=True)
class TrainerSettings:
    """Which trainer, how often a pair must occur to be merged (0: as the trainer has it), and how
    many characters are kept.

    Raises InputError for an unknown trainer and for numbers without sense.
    """

    trainer: str = "bpe-merges"
    min_count: int = bounded(0, 0, MAX_COUNT, "Minimum count of a pair")
    alphabet: int = bounded(ALPHABET, 1, 1_000_000, "Characters to keep")

    def __post_init__(self) -> None:
        if self.trainer not in TRAINERS:
            raise InputError(
                f"Unknown WordPiece trainer {self.trainer!r}.",
                f"Choose one of: {', '.join(TRAINERS)}.",
            )
        check_settings(self)


def train_wordpiece(
    counts: Mapping[str, int],
    size: int,
    settings: TrainerSettings | None = None,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Train a vocabulary of at most `size` tokens: the special ones, the alphabet, then each merge;
    fewer when pairs run out.

    Raises InputError for a size that has no room for the special tokens and the alphabet.
    """
    if size <= len(SPECIAL_TOKENS):
        raise InputError(
            f"A vocabulary needs more than its {len(SPECIAL_TOKENS)} special tokens, got {size}.",
            "16000 is usual.",
        )
    settings = settings or TrainerSettings()
    spelled = _spelled(counts, settings.alphabet)
    first = dict.fromkeys([*SPECIAL_TOKENS, *_letters(spelled, "##")])
    if len(first) > size:
        raise InputError(
            f"A vocabulary of {size:,} tokens has no room for the {len(first):,} special tokens and"
            " characters of this text.",
            f"Take at least {len(first):,} tokens.",
        )
    tokens = first
    for merged in _merged(spelled, settings, "##"):
        if len(tokens) == size:
            break
        tokens[merged] = None
        if len(tokens) % REPORTED == 0:
            progress(len(tokens) / size, f"{len(tokens):,} of {size:,} tokens")
    return tuple(tokens)


def trained_tokens(
    counts: Mapping[str, int], settings: TrainerSettings, continuation: str = "##"
) -> Iterator[str]:
    """The alphabet, then the tokens of the merges one by one, as long as they are asked for; each
    once, none of them special.
    """
    spelled = _spelled(counts, settings.alphabet)
    seen = set(_letters(spelled, continuation))
    yield from _letters(spelled, continuation)
    for token in _merged(spelled, settings, continuation):
        if token not in seen:
            seen.add(token)
            yield token


def count_sentences(sentences: Path) -> Counter[str]:
    """Count the words of a file that has them between blanks, a sentence a line."""
    counts: Counter[str] = Counter()
    with sentences.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            counts.update(line.rstrip("\n").split(" "))
    del counts[""]
    return counts


def _spelled(counts: Mapping[str, int], alphabet: int) -> dict[str, int]:
    """The words of the most frequent characters, ties by character: a model cuts no word that has
    another, and none too long.
    """
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    kept = set(
        sorted(characters, key=lambda character: (-characters[character], character))[:alphabet]
    )
    return {
        word: count
        for word, count in counts.items()
        if word and len(word) <= LONGEST_WORD and kept.issuperset(word)
    }


def _letters(spelled: Mapping[str, int], continuation: str) -> list[str]:
    """Single characters: all as the beginning of a word, then those that go on a word, each in
    their own order.
    """
    inside = {character for word in spelled for character in word[1:]}
    return [
        *sorted(inside.union(*spelled)),
        *(continuation + character for character in sorted(inside)),
    ]


def _merged(
    spelled: Mapping[str, int], settings: TrainerSettings, continuation: str
) -> Iterator[str]:
    trainer = TRAINERS[settings.trainer]
    least = settings.min_count or trainer.least(sum(spelled.values()))
    return merges(Pieces(spelled, continuation), trainer.score, least, trainer.by_parts)
