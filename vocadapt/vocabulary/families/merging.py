"""Words cut into pieces, and the merging of adjacent pieces, best pair first: what WordPiece
trainers have in common.

Incremental: a merge touches only the words that hold its pair, and only the pairs in them are
counted anew.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[str, str]
Score = Callable[
    [int, int, int], float
]  # occurrences of the pair, of its left and of its right piece → the higher, the sooner
Entry = tuple[
    float, str, Pair
]  # minus the score, the token that the merge gives, the pair: all ties are broken by token

OUTDATED = (
    4  # entries of the heap for each pair there is, beyond which it is made anew: bounds the memory
)


class Pieces:
    """Distinct words × counts as pieces: single characters at first, those within a word with the
    mark of continuation.

    `pairs` and `pieces` count occurrences in the running text.
    """

    def __init__(self, counts: Mapping[str, int], continuation: str) -> None:
        self.continuation = continuation
        self.words = [
            [word[0], *(continuation + character for character in word[1:])] for word in counts
        ]
        self.counts = list(counts.values())
        self.pairs: Counter[Pair] = Counter()
        self.pieces: Counter[str] = Counter()
        self.places: defaultdict[Pair, list[int]] = defaultdict(
            list
        )  # words that hold a pair, or did
        self.beside: defaultdict[str, set[Pair]] = defaultdict(
            set
        )  # pairs that hold a piece, or did
        for at, (word, count) in enumerate(zip(self.words, self.counts, strict=True)):
            for piece in word:
                self.pieces[piece] += count
            for pair in pairwise(word):
                self.pairs[pair] += count
                self._place(pair, at)

    def token(self, pair: Pair) -> str:
        """What a pair becomes: ("##om", "##a") → "##oma"."""
        return pair[0] + pair[1].removeprefix(self.continuation)

    def merge(self, pair: Pair) -> list[Pair]:
        """Make one piece of a pair wherever it stands; the pairs that occur more often than
        before.
        """
        token, change = self.token(pair), Counter[Pair]()
        for at in self.places.pop(pair, ()):
            before, count = self.words[at], self.counts[at]
            after = _merged(before, pair, token)
            merged = count * (len(before) - len(after))
            if not merged:
                continue
            self.words[at] = after
            for piece, difference in ((pair[0], -merged), (pair[1], -merged), (token, merged)):
                self.pieces[piece] += difference
            for old in pairwise(before):
                change[old] -= count
            for new in pairwise(after):
                change[new] += count
                if token in new:
                    self._place(new, at)
        self.pairs.update(change)
        return [changed for changed, difference in change.items() if difference > 0]

    def around(self, piece: str, least: int) -> set[Pair]:
        """The pairs that hold a piece and occur `least` times; the others are forgotten until they
        occur more often again.
        """
        self.beside[piece] = {pair for pair in self.beside[piece] if self.pairs[pair] >= least}
        return self.beside[piece]

    def _place(self, pair: Pair, at: int) -> None:
        self.places[pair].append(at)
        self.beside[pair[0]].add(pair)
        self.beside[pair[1]].add(pair)


def _merged(pieces: list[str], pair: Pair, token: str) -> list[str]:
    """The pieces of a word with each occurrence of a pair, from the left, made one."""
    merged: list[str] = []
    left, right = pair
    for piece in pieces:
        if piece == right and merged and merged[-1] == left:
            merged[-1] = token
        else:
            merged.append(piece)
    return merged


class Queue:
    """The pairs that occur at least so many times, by bounds of their scores: the best one is found
    without scoring the others.

    An entry's score is never below the pair's own, for it takes the pieces to be rarer than they
    are, by up to 1/16: so all pairs of a piece are entered anew once in a while, and not whenever
    the piece has become a little rarer.
    """

    def __init__(self, pieces: Pieces, score: Score, least: int) -> None:
        self.pieces, self.score, self.least = pieces, score, least
        self._fill()

    def best(self) -> Pair | None:
        """Take out the pair of the highest score, ties by token; None when no pair is left."""
        top: Entry | None = None
        looked_at: set[Pair] = set()
        while self.heap and (top is None or self.heap[0] < top):
            pair = heappop(self.heap)[2]
            if self.pieces.pairs[pair] >= self.least:
                looked_at.add(pair)
                entry = self._entry(pair, int)
                top = entry if top is None else min(top, entry)
        if top is None:
            return None
        self.enter(looked_at - {top[2]})
        return top[2]

    def enter(self, pairs: Iterable[Pair]) -> None:
        """Enter pairs whose score may have risen."""
        for pair in pairs:
            if self.pieces.pairs[pair] >= self.least:
                heappush(self.heap, self._entry(pair, rounded_down))
        if len(self.heap) > self.most:
            self._fill()

    def _fill(self) -> None:
        counted = self.pieces.pairs.items()
        self.heap = [
            self._entry(pair, rounded_down) for pair, count in counted if count >= self.least
        ]
        heapify(self.heap)
        self.most = OUTDATED * len(self.heap) + 1

    def _entry(self, pair: Pair, seen: Callable[[int], int]) -> Entry:
        (left, right), occurs = pair, self.pieces.pieces
        return (
            -self.score(self.pieces.pairs[pair], seen(occurs[left]), seen(occurs[right])),
            self.pieces.token(pair),
            pair,
        )


def rounded_down(count: int) -> int:
    """A count with its first five binary digits kept: 1000 = 1111101000₂ → 992 = 1111100000₂."""
    digits = max(0, count.bit_length() - 5)
    return count >> digits << digits


def merges(pieces: Pieces, score: Score, least: int, by_parts: bool) -> Iterator[str]:
    """The token of each merge, best first, until no pair occurs `least` times; a token may come
    twice, by two ways.

    `by_parts`: the score depends on the pieces of a pair too, and rises as they become rarer.
    """
    queue = Queue(pieces, score, least)
    while pair := queue.best():
        seen = {piece: rounded_down(pieces.pieces[piece]) for piece in pair if by_parts}
        risen = pieces.merge(pair)
        yield pieces.token(pair)
        queue.enter(risen)
        for piece, before in seen.items():
            if rounded_down(pieces.pieces[piece]) < before:
                queue.enter(pieces.around(piece, least))
