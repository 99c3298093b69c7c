"""Train a WordPiece vocabulary on the distinct words of a text and their counts.

Both trainers start from single characters and merge adjacent pieces until there are enough tokens;
they differ in which pair is merged next. Ties go to the token that is smaller as text, so the same
counts give the same vocabulary in any order.

The plain algorithm fits in a few lines; the tests keep it as a reference (`rescanned`):

    pieces = words split into characters
    while a pair of adjacent pieces occurs at least `min_count` times:
        score every pair, choose the best one, ties by the token that it gives
        replace it by one piece in every word

On a real text that is too slow. Here a merge

1. changes only the words that contain the pair (`Pieces.words_with_pair`), and the counts of the
   pairs in them;
2. finds the best pair by upper bounds of the scores (`PairQueue`), without scoring the others.

Example: {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}, most frequent pair first.

    start    h ##u ##g   p ##u ##g   p ##u ##n   b ##u ##n   h ##u ##g ##s
    pairs    ##u ##g 20, p ##u 17, ##u ##n 16, h ##u 15, ##g ##s 5, b ##u 4
    merge 1  ##u ##g → ##ug   h ##ug   p ##ug   p ##u ##n   b ##u ##n   h ##ug ##s
    changed  h ##ug 15 and p ##ug 5 are new, p ##u falls to 12, h ##u to 0, ##g ##s to 0, …
    merge 2  ##u ##n (16) → ##un, and so on: ##ug, ##un, hug, pun, hugs, pug, bun
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.settings import CheckedSettings, setting
from vocadapt.vocabulary.families.vocab_file import MAX_WORD_LENGTH, SPECIAL_TOKENS

ALPHABET = 1000  # characters that are kept, the most frequent ones; words with others become [UNK]
MIN_COUNT = 2  # a pair that occurs once is no evidence for a token
PROGRESS_INTERVAL = 100  # tokens between two progress reports

Pair = tuple[str, str]
# Score of a pair, from the occurrences of the pair, of its left piece and of its right piece; the
# pair with the highest score is merged first.
Score = Callable[[int, int, int], float]
# Negative score, token that the merge gives, pair: the smallest entry is the best one, and ties are
# broken by the token.
Entry = tuple[float, str, Pair]

MAX_ENTRIES_PER_PAIR = 4  # the heap is rebuilt when it has more: bounds the memory


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
class TrainerSettings(CheckedSettings):
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
    # 1. Special tokens and single characters come first: with them every word can be spelled.
    words = _keep_alphabet(counts, settings.alphabet)
    tokens = dict.fromkeys([*SPECIAL_TOKENS, *_list_characters(words, "##")])
    if len(tokens) > size:
        raise InputError(
            f"A vocabulary of {size:,} tokens has no room for the {len(tokens):,} special tokens and"
            " characters of this text.",
            f"Choose a size of {len(tokens):,} or more.",
        )
    # 2. Merge until there are enough; a token that two pairs give is counted once.
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
    return {
        word: count
        for word, count in counts.items()
        if 0 < len(word) <= MAX_WORD_LENGTH and kept.issuperset(word)
    }


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
    return merge_best_pairs(
        Pieces(words, continuation), trainer.score, min_count, trainer.uses_piece_counts
    )


class Pieces:
    """The distinct words of a text, each as a list of pieces, and how often pieces and pairs occur.

    At the start the pieces are single characters; those after the first carry the continuation
    mark. `pair_counts` and `piece_counts` are occurrences in the running text.
    """

    def __init__(self, counts: Mapping[str, int], continuation: str) -> None:
        self.continuation = continuation
        self.words = [
            [text[0], *(continuation + character for character in text[1:])] for text in counts
        ]
        self.word_counts = list(counts.values())
        self.pair_counts: Counter[Pair] = Counter()
        self.piece_counts: Counter[str] = Counter()
        # Both are kept as supersets, because removing entries would cost more than skipping them:
        # a word or pair in them may have lost the pair or piece by a later merge.
        self.words_with_pair: defaultdict[Pair, list[int]] = defaultdict(list)
        self.pairs_with_piece: defaultdict[str, set[Pair]] = defaultdict(set)
        for i, (word, count) in enumerate(zip(self.words, self.word_counts, strict=True)):
            for piece in word:
                self.piece_counts[piece] += count
            for pair in pairwise(word):
                self.pair_counts[pair] += count
                self._index_pair(pair, i)

    def join(self, pair: Pair) -> str:
        """Return the token that a pair is merged into: ("##om", "##a") → "##oma"."""
        return pair[0] + pair[1].removeprefix(self.continuation)

    def merge(self, pair: Pair) -> list[Pair]:
        """Replace a pair by one piece in every word; return the pairs that occur more often than
        before.
        """
        token, change = self.join(pair), Counter[Pair]()
        for i in self.words_with_pair.pop(pair, ()):
            # 1. Merge the pair in this word; an earlier merge may have removed it from the word.
            before, count = self.words[i], self.word_counts[i]
            after = _merge_in_word(before, pair, token)
            merged = count * (len(before) - len(after))
            if not merged:
                continue
            self.words[i] = after
            # 2. Update the counts of the pieces: two are lost and one is gained for each merge.
            for piece, difference in ((pair[0], -merged), (pair[1], -merged), (token, merged)):
                self.piece_counts[piece] += difference
            # 3. Update the counts of the pairs: subtract all of the old word, add all of the new.
            for old in pairwise(before):
                change[old] -= count
            for new in pairwise(after):
                change[new] += count
                if token in new:
                    self._index_pair(new, i)
        self.pair_counts.update(change)
        return [changed for changed, difference in change.items() if difference > 0]

    def list_frequent_pairs(self, piece: str, min_count: int) -> set[Pair]:
        """Return the pairs that contain a piece and occur at least `min_count` times.

        The rarer ones are removed from the index until a merge makes them more frequent again.
        """
        pairs = self.pairs_with_piece[piece]
        frequent = {pair for pair in pairs if self.pair_counts[pair] >= min_count}
        self.pairs_with_piece[piece] = frequent
        return frequent

    def _index_pair(self, pair: Pair, word: int) -> None:
        """Record that the word with this index contains a pair."""
        self.words_with_pair[pair].append(word)
        self.pairs_with_piece[pair[0]].add(pair)
        self.pairs_with_piece[pair[1]].add(pair)


def _merge_in_word(pieces: list[str], pair: Pair, token: str) -> list[str]:
    """Replace each occurrence of a pair in a word, from the left: a a a, (a, a) → aa a."""
    merged: list[str] = []
    left, right = pair
    for piece in pieces:
        if piece == right and merged and merged[-1] == left:
            merged[-1] = token
        else:
            merged.append(piece)
    return merged


class PairQueue:
    """Priority queue of the pairs that occur at least `min_count` times.

    The entries hold upper bounds of the scores. A score may rise when a piece of the pair becomes
    rarer, which happens at almost every merge; entering all pairs of that piece again each time
    would be slow. So the bound assumes that a piece is rarer than it is, by up to 1/16 (see
    `round_down`), and stays valid until the rounded count falls.

    Example: the piece ##u occurs 1,000 times, and the bounds of its pairs are computed for 992. As
    long as it occurs 992 times or more, no bound changes; at 991 its pairs are entered again, with
    bounds for 960.
    """

    def __init__(self, pieces: Pieces, score: Score, min_count: int) -> None:
        self.pieces, self.score, self.min_count = pieces, score, min_count
        self._rebuild()

    def pop_best(self) -> Pair | None:
        """Remove and return the pair with the highest score, ties by token; None if no pair is
        left.
        """
        # 1. Take entries, best bound first, and compute their true scores, until no bound that is
        #    left is better than the best true score.
        best: Entry | None = None
        examined: set[Pair] = set()
        while self.heap and (best is None or self.heap[0] < best):
            pair = heappop(self.heap)[2]
            if self.pieces.pair_counts[pair] < self.min_count:
                continue
            examined.add(pair)
            entry = self._make_entry(pair, exact=True)
            best = entry if best is None else min(best, entry)
        if best is None:
            return None
        # 2. The others that were examined go back, with their bounds.
        self.push(examined - {best[2]})
        return best[2]

    def push(self, pairs: Iterable[Pair]) -> None:
        """Enter pairs whose score may have risen; their old entries stay, and are skipped later."""
        for pair in pairs:
            if self.pieces.pair_counts[pair] >= self.min_count:
                heappush(self.heap, self._make_entry(pair))
        if len(self.heap) > self.max_entries:
            self._rebuild()

    def _rebuild(self) -> None:
        """Build the heap again, with one entry for each pair."""
        counts = self.pieces.pair_counts
        self.heap = [self._make_entry(pair) for pair in counts if counts[pair] >= self.min_count]
        heapify(self.heap)
        self.max_entries = MAX_ENTRIES_PER_PAIR * len(self.heap) + 1

    def _make_entry(self, pair: Pair, *, exact: bool = False) -> Entry:
        """Return the entry of a pair, with an upper bound of its score or the exact score."""
        counts = [self.pieces.piece_counts[piece] for piece in pair]
        if not exact:
            counts = [round_down(count) for count in counts]
        score = self.score(self.pieces.pair_counts[pair], *counts)
        return (-score, self.pieces.join(pair), pair)


def round_down(count: int) -> int:
    """Keep the first five binary digits of a count: 1000 = 1111101000₂ → 992 = 1111100000₂."""
    digits = max(0, count.bit_length() - 5)
    return count >> digits << digits


def merge_best_pairs(
    pieces: Pieces, score: Score, min_count: int, uses_piece_counts: bool
) -> Iterator[str]:
    """Merge the best pair again and again and yield its token, until no pair occurs `min_count`
    times.

    A token can be yielded twice, if two pairs give it: ("hy", "##per") and ("hyp", "##er").

    uses_piece_counts: the score depends on the counts of the two pieces, and rises as they fall.
    """
    queue = PairQueue(pieces, score, min_count)
    while pair := queue.pop_best():
        # 1. Remember the rounded counts of the two pieces: the bounds of their pairs rely on them.
        rounded_counts: dict[str, int] = {}
        if uses_piece_counts:
            rounded_counts = {piece: round_down(pieces.piece_counts[piece]) for piece in pair}
        # 2. Merge, and enter the pairs that became more frequent.
        increased = pieces.merge(pair)
        yield pieces.join(pair)
        queue.push(increased)
        # 3. If a rounded count fell, the bounds of all pairs of that piece are too low: renew them.
        for piece, before in rounded_counts.items():
            if round_down(pieces.piece_counts[piece]) < before:
                queue.push(pieces.list_frequent_pairs(piece, min_count))
