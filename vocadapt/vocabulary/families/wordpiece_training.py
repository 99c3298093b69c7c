"""Train a WordPiece vocabulary on the distinct words of a text and their counts.

Both trainers start from single characters and merge adjacent pieces until there are enough tokens;
they differ in the choice of the next pair. Ties go to the token that comes first alphabetically, so
the vocabulary does not depend on the order of the counts.

The plain algorithm is short; the tests compare with it (`rescanned`):

    pieces = words split into characters
    while a pair of adjacent pieces occurs at least `min_count` times:
        score every pair, choose the best one, ties by the token that it gives
        replace it by one piece in every word

On a real text this is too slow. In this module, a merge

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
from vocadapt.vocabulary.families.family import Trainer
from vocadapt.vocabulary.families.files.vocab_file import MAX_WORD_LENGTH, SPECIAL_TOKENS
from vocadapt.vocabulary.families.merges import merge_pair

# Number of characters to keep, the most frequent ones; words with other characters become [UNK].
ALPHABET = 1000
MIN_COUNT = 2  # a pair that occurs only once is never merged
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
class PairTrainer(Trainer):
    """A trainer whose score determines which pair is merged next.

    uses_piece_counts: the score also depends on the counts of the two pieces.
    min_fraction: minimum occurrences of a pair, as a fraction of the running words. A score that
    favors rare pieces needs such a minimum, or the vocabulary fills with rare words and their
    prefixes. On 11 M words of Wikipedia and 1.7 M of abstracts, higher minima gave fewer wordpieces
    per word, and 1 in 50,000 was about the highest that still gave 16,000 and 13,600 tokens.
    """

    score: Score
    uses_piece_counts: bool = False
    min_fraction: float = 0.0

    def min_count(self, running: int) -> int:
        """Return the minimum occurrences of a pair in a text of `running` words, at least 2."""
        return max(MIN_COUNT, round(self.min_fraction * running))


TRAINERS: dict[str, PairTrainer] = {
    "bpe-merges": PairTrainer(
        "the most frequent pair is merged first",
        "the WordPieceTrainer of the tokenizers library",
        lambda pair, left, right: pair,
    ),
    "wordpiece-score": PairTrainer(
        "the pair is merged first whose pieces rarely occur without each other",
        "Fast 2023, equation 2.1",
        lambda pair, left, right: pair / (left * right),
        uses_piece_counts=True,
        min_fraction=1 / 50_000,
    ),
}


def train_wordpiece(
    counts: Mapping[str, int],
    size: int,
    trainer: str = "bpe-merges",
    progress: Progress = silent,
    min_count: int = 0,
    alphabet: int = ALPHABET,
) -> tuple[str, ...]:
    """Train a vocabulary of at most `size` tokens: special tokens, alphabet, then merged tokens.

    It has fewer tokens if too few pairs are frequent enough. min_count: minimum occurrences of a
    pair; 0 for that of the trainer. alphabet: number of characters to keep, the most frequent ones.
    Raises InputError if `size` is less than the number of special tokens and characters.
    """
    if size <= len(SPECIAL_TOKENS):
        raise InputError(
            f"A vocabulary needs more than its {len(SPECIAL_TOKENS)} special tokens, got {size}.",
            "A usual size is 16000.",
            code="too-few-tokens",
        )
    # 1. Start with special tokens and single characters, which can spell every word.
    words = _keep_alphabet(counts, alphabet)
    tokens = dict.fromkeys([*SPECIAL_TOKENS, *_list_characters(words, "##")])
    if len(tokens) > size:
        raise InputError(
            f"A vocabulary of {size:,} tokens is too small for the {len(tokens):,} special tokens"
            " and characters of this text.",
            f"Choose a size of {len(tokens):,} or more.",
            code="too-few-tokens",
        )
    # 2. Merge until there are enough tokens; a token that results from two pairs is counted once.
    for merged in _merge_words(words, trainer, min_count, "##"):
        if len(tokens) == size:
            break
        tokens[merged] = None
        if len(tokens) % PROGRESS_INTERVAL == 0:
            progress(len(tokens) / size, f"{len(tokens):,} of {size:,} tokens")
    return tuple(tokens)


def generate_tokens(
    counts: Mapping[str, int], trainer: str, continuation: str = "##", min_count: int = 0
) -> Iterator[str]:
    """Generate the alphabet, then the merged tokens: each token once, without special tokens."""
    words = _keep_alphabet(counts, ALPHABET)
    characters = _list_characters(words, continuation)
    seen = set(characters)
    yield from characters
    for token in _merge_words(words, trainer, min_count, continuation):
        if token not in seen:
            seen.add(token)
            yield token


def _keep_alphabet(counts: Mapping[str, int], alphabet: int) -> dict[str, int]:
    """Return the words, with counts, that consist of the `alphabet` most frequent characters.

    Ties go to the character with the lower code point. Words with other characters, and words that
    are too long for the model, are excluded.
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
    words: Mapping[str, int], trainer: str, min_count: int, continuation: str
) -> Iterator[str]:
    chosen = TRAINERS[trainer]
    min_count = min_count or chosen.min_count(sum(words.values()))
    spelled = [[word[0], *(continuation + character for character in word[1:])] for word in words]
    pieces = Pieces(spelled, list(words.values()), continuation)
    return merge_best_pairs(pieces, chosen.score, min_count, chosen.uses_piece_counts)


class Pieces:
    """The distinct words of a text, each as a list of pieces, and how often pieces and pairs occur.

    words: pieces of each word at the start; those after the first carry the continuation mark, if
    the family has one. word_counts: occurrences of each word.
    `pair_counts` and `piece_counts` are occurrences in the running text.
    """

    def __init__(
        self, words: list[list[str]], word_counts: list[int], continuation: str = ""
    ) -> None:
        self.words, self.word_counts = words, word_counts
        self.continuation = continuation
        self.pair_counts: Counter[Pair] = Counter()
        self.piece_counts: Counter[str] = Counter()
        # Both may contain outdated entries: a later merge may have removed the pair from the word,
        # or the piece from the pair. Skipping these entries is faster than removing them.
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
        """Replace a pair by one piece in every word; return the pairs that occur more often now."""
        token = self.join(pair)
        change = Counter[Pair]()
        for i in self.words_with_pair.pop(pair, ()):
            # 1. Merge the pair in this word; an earlier merge may have removed it from the word.
            before = self.words[i]
            count = self.word_counts[i]
            after = merge_pair(before, pair, token)
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
        self.words_with_pair[pair].append(word)
        self.pairs_with_piece[pair[0]].add(pair)
        self.pairs_with_piece[pair[1]].add(pair)


class PairQueue:
    """Priority queue of the pairs that occur at least `min_count` times.

    The entries hold upper bounds of the scores. A score may rise when a piece of the pair becomes
    rarer, as in almost every merge. Entering all pairs of that piece again each time would be slow,
    so the bound is computed from a count rounded down by up to 1/16 (see `round_down`), and remains
    valid until the rounded count falls.

    Example: the piece ##u occurs 1,000 times, and the bounds of its pairs are computed for 992. As
    long as it occurs 992 times or more, no bound changes; at 991 its pairs are entered again, with
    bounds for 960.
    """

    def __init__(self, pieces: Pieces, score: Score, min_count: int) -> None:
        self.pieces, self.score, self.min_count = pieces, score, min_count
        self._rebuild()

    def pop_best(self) -> Pair | None:
        """Remove and return the pair of the highest score, ties by token; None if none is left."""
        # 1. Take entries, best bound first, and compute their exact scores, until no remaining
        #    bound is better than the best exact score.
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
        # 2. Enter the other examined pairs again, with their bounds.
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
    """Merge the best pair repeatedly and yield its token, until no pair occurs `min_count` times.

    A token is yielded twice if two pairs result in it: ("hy", "##per") and ("hyp", "##er").

    uses_piece_counts: whether the score depends on the counts of the two pieces, and rises as they
    fall.
    """
    queue = PairQueue(pieces, score, min_count)
    while pair := queue.pop_best():
        # 1. Store the rounded counts of the two pieces, from which the bounds were computed.
        rounded_counts: dict[str, int] = {}
        if uses_piece_counts:
            rounded_counts = {piece: round_down(pieces.piece_counts[piece]) for piece in pair}
        # 2. Merge, and enter the pairs that became more frequent.
        increased = pieces.merge(pair)
        yield pieces.join(pair)
        queue.push(increased)
        # 3. If a rounded count fell, the bounds of its pairs are too low: update them.
        for piece, before in rounded_counts.items():
            if round_down(pieces.piece_counts[piece]) < before:
                queue.push(pieces.list_frequent_pairs(piece, min_count))
