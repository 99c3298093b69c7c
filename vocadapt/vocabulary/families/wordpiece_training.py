"""Train a WordPiece vocabulary on the distinct words of a text and their counts.

Both trainers start from single characters and merge adjacent pieces until there are enough tokens
(`vocadapt.vocabulary.families.merging`); they differ in which pair is merged next. Ties go to the
token that is smaller as text, so the same counts give the same vocabulary in any order.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import check_settings, setting
from vocadapt.vocabulary.families.merging import Pieces, Score, merge_best_pairs
from vocadapt.vocabulary.families.vocab_file import MAX_WORD_LENGTH, SPECIAL_TOKENS

ALPHABET = 1000  # characters that are kept, the most frequent ones; words with others become [UNK]
MIN_COUNT = 2  # a pair that occurs once is no evidence for a token
PROGRESS_INTERVAL = 100  # tokens between two progress reports


@dataclass(frozen=True)
class Trainer:
    """A score by which pairs are merged, with its explanation, formula and source.

    uses_piece_counts: the score also depends on the counts of the two pieces.
    min_fraction: minimum occurrences of a pair, as a fraction of the running words. A score that
    favors rare pieces needs such a minimum, or the vocabulary fills with rare words and their
    prefixes. On 11 M words of Wikipedia and 1.7 M of abstracts, higher minima gave fewer wordpieces
    per word, and 1 in 50,000 was about the highest that still gave 16,000 and 13,600 tokens.
    """

    score: Score
    about: str
    formula: str
    source: str
    uses_piece_counts: bool = False
    min_fraction: float = 0.0

    def min_count(self, running: int) -> int:
        """Return the minimum occurrences of a pair in a text of `running` words, at least 2."""
        return max(MIN_COUNT, round(self.min_fraction * running))


def _score_by_count(pair: int, left: int, right: int) -> float:
    return pair


def _score_by_association(pair: int, left: int, right: int) -> float:
    return pair / (left * right)


TRAINERS: dict[str, Trainer] = {
    "bpe-merges": Trainer(
        _score_by_count,
        "the most frequent pair is merged first",
        "f(t1 t2)",
        "the WordPieceTrainer of the tokenizers library",
    ),
    "wordpiece-score": Trainer(
        _score_by_association,
        "the pair is merged first whose pieces rarely occur without each other",
        "f(t1 t2) / (f(t1) · f(t2))",
        "Fast 2023, equation 2.1",
        uses_piece_counts=True,
        min_fraction=1 / 50_000,
    ),
}


@dataclass(frozen=True)
class TrainerSettings:
    """Settings of a WordPiece trainer."""

    trainer: str = setting(
        "bpe-merges", "WordPiece trainer", choices=lambda: TRAINERS, label="WordPiece trainer"
    )
    min_count: int = setting(
        0, "minimum occurrences of a pair that is merged", empty="the trainer's own minimum"
    )
    alphabet: int = setting(
        ALPHABET, "number of characters to keep, the most frequent ones", low=1, high=1_000_000
    )

    def __post_init__(self) -> None:
        check_settings(self)


def train_wordpiece(
    counts: Mapping[str, int],
    size: int,
    settings: TrainerSettings | None = None,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Train a vocabulary of at most `size` tokens: special tokens, alphabet, then merged tokens.

    It has fewer tokens if no pair is left that is frequent enough.
    Raises InputError if `size` has no room for the special tokens and the alphabet.
    """
    if size <= len(SPECIAL_TOKENS):
        raise InputError(
            f"A vocabulary needs more than its {len(SPECIAL_TOKENS)} special tokens, got {size}.",
            "16000 is usual.",
        )
    settings = settings or TrainerSettings()
    words = _keep_alphabet(counts, settings.alphabet)
    tokens = dict.fromkeys([*SPECIAL_TOKENS, *_list_characters(words, "##")])
    if len(tokens) > size:
        raise InputError(
            f"A vocabulary of {size:,} tokens has no room for the {len(tokens):,} special tokens and"
            " characters of this text.",
            f"Choose a size of {len(tokens):,} or more.",
        )
    for merged in _merge_words(words, settings, "##"):
        if len(tokens) == size:
            break
        tokens[merged] = None
        if len(tokens) % PROGRESS_INTERVAL == 0:
            progress(len(tokens) / size, f"{len(tokens):,} of {size:,} tokens")
    return tuple(tokens)


def generate_tokens(
    counts: Mapping[str, int], settings: TrainerSettings, continuation: str = "##"
) -> Iterator[str]:
    """Generate the alphabet, then the tokens of the merges; each token once, no special tokens."""
    words = _keep_alphabet(counts, settings.alphabet)
    characters = _list_characters(words, continuation)
    seen = set(characters)
    yield from characters
    for token in _merge_words(words, settings, continuation):
        if token not in seen:
            seen.add(token)
            yield token


def _keep_alphabet(counts: Mapping[str, int], alphabet: int) -> dict[str, int]:
    """Return the words, with counts, that consist of the `alphabet` most frequent characters.

    Ties go to the smaller character. Words that the model does not read are excluded: those with
    other characters and those that are too long.
    """
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    by_frequency = sorted(characters, key=lambda character: (-characters[character], character))
    kept = set(by_frequency[:alphabet])
    words: dict[str, int] = {}
    for word, count in counts.items():
        if 0 < len(word) <= MAX_WORD_LENGTH and kept.issuperset(word):
            words[word] = count
    return words


def _list_characters(words: Mapping[str, int], continuation: str) -> list[str]:
    """Return the single-character tokens: all as word starts, then those that occur inside a word
    as continuations, each group sorted.
    """
    inside = {character for word in words for character in word[1:]}
    starts = sorted(inside.union(*words))
    return [*starts, *(continuation + character for character in sorted(inside))]


def _merge_words(
    words: Mapping[str, int], settings: TrainerSettings, continuation: str
) -> Iterator[str]:
    """Return the tokens of the merges of some words, by the chosen trainer."""
    trainer = TRAINERS[settings.trainer]
    min_count = settings.min_count or trainer.min_count(sum(words.values()))
    pieces = Pieces(words, continuation)
    return merge_best_pairs(pieces, trainer.score, min_count, trainer.uses_piece_counts)
