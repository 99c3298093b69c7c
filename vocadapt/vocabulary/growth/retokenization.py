"""Every distinct word of a text, cut again by any part of a vocabulary, all words at once: exact,
in milliseconds.

Longest match only ever takes the longest token that begins the rest of a word, and all tokens that
begin the same rest begin one another. So it is enough to know, once, the longest token at each
place of each word (`WordTable.longest`), and for each token the next shorter one that begins it
(`WordTable.shorter`): with some tokens gone, the token taken at a place is the first one on that
chain that is still there. `tests/vocabulary/test_retokenization.py` holds this against the tokenizers library. (One
thing is left aside: a word that begins with ## itself, which the library takes for a continuation;
BERT's pre-tokenizer parts # off.)
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vocadapt.vocabulary.families.wordpiece import Vocabulary

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cut:
    """How all words are cut: pieces of each word (words,), which of them are unknown (words,), one
    token [UNK] each.

    places, tokens, words: where in the table each piece begins, which token it is, and of which
    word; unknown words have none.
    """

    pieces: Ints
    unknown: Mask
    places: Ints
    tokens: Ints
    words: Ints


@dataclass(frozen=True, eq=False)
class WordTable:
    """Distinct words with their counts, laid out for cutting: a place for each character, and one
    behind each word.

    longest: at each place the id of the longest token that begins there, V where none does.
    shorter: for each id the longest token that begins it, V for none. length: characters of each
    token, without its mark. starts: the place of each word's first character. ends: the place
    behind its last. whole: the id of a word that is an exact-word token, V otherwise.
    """

    counts: NDArray[np.float64]
    longest: Ints
    shorter: Ints
    length: Ints
    starts: Ints
    ends: Ints
    whole: Ints
    readable: Mask

    @property
    def size(self) -> int:
        """V, the tokens of the vocabulary; as an id: no token."""
        return len(self.shorter) - 1

    def taken(self, gone: Mask | None = None) -> Ints:
        """For each token the one that is taken in its place when those of `gone` (V,) are not
        there; V for none. (V + 1,).
        """
        taken = np.arange(self.size + 1)
        if gone is None:
            return taken
        missing = np.append(gone, False)
        while (left := missing[taken]).any():
            taken = np.where(left, self.shorter[taken], taken)
        return taken

    def cut(self, gone: Mask | None = None) -> Cut:
        """Cut every word without the tokens of `gone`, a mask over ids."""
        taken = self.taken(gone)
        unknown, at = ~self.readable, self.starts.copy()
        pieces = np.zeros(len(at), dtype=np.int64)
        entire = taken[self.whole] == self.whole
        entire &= self.whole < self.size
        pieces[entire] = 1
        visits = [(self.starts[entire], self.whole[entire], np.flatnonzero(entire))]
        active = np.flatnonzero(self.readable & ~entire & (self.starts < self.ends))
        while len(active):
            token = taken[self.longest[at[active]]]
            known = token < self.size
            unknown[active[~known]] = True
            active, token = active[known], token[known]
            visits.append((at[active], token, active))
            pieces[active] += 1
            at[active] += self.length[token]
            active = active[at[active] < self.ends[active]]
        pieces[unknown] = 1
        places, tokens, words = (np.concatenate(part) for part in zip(*visits, strict=True))
        read = ~unknown[words]
        return Cut(pieces, unknown, places[read], tokens[read], words[read])

    def total(self, gone: Mask | None = None) -> int:
        """Wordpieces of the whole text without the tokens of `gone`; a word that cannot be read is
        one.
        """
        return round(float(self.counts @ self.cut(gone).pieces))

    def token_counts(self, cut: Cut) -> NDArray[np.float64]:
        """How often each token stands in the text, by id; [UNK] is not counted."""
        return _sums(cut.tokens, self.counts[cut.words], self.size)

    def pieces_from(self, taken: Ints) -> Ints:
        """At each place, into how many pieces the rest of the word is cut from there; a large
        number where it cannot be.
        """
        rest = np.zeros(len(self.longest), dtype=np.int64)
        for places in self._by_distance:
            step = self.length[taken[self.longest[places]]]
            rest[places] = np.where(step > 0, 1 + rest[places + step], UNREADABLE)
        return rest

    def losses(self, gone: Mask | None = None) -> NDArray[np.float64]:
        """For each token how many wordpieces more the text has when that token goes too, by id
        (V,).

        Exact for words in which the token stands once; where it stands twice, the rest of the word
        still counts on it.
        """
        taken, cut = self.taken(gone), self.cut(gone)
        rest = self.pieces_from(taken)
        instead = self.length[taken[self.shorter[cut.tokens]]]
        more = 1 + rest[cut.places + instead] - rest[cut.places]
        return _sums(cut.tokens, self.counts[cut.words] * more, self.size)

    @cached_property
    def _by_distance(self) -> list[Ints]:
        """The places of characters, grouped by how far the end of the word is: 1, 2, …"""
        sizes = self.ends - self.starts
        order = np.argsort(sizes, kind="stable")
        ends, sizes = self.ends[order], sizes[order]
        groups = (
            ends[np.searchsorted(sizes, far) :] - far
            for far in range(1, int(sizes.max(initial=0)) + 1)
        )
        return [np.sort(group) for group in groups]


UNREADABLE = 10**6  # pieces of what cannot be cut


def word_table(
    vocabulary: Vocabulary, counts: Mapping[str, float], bodies: Mapping[str, float] | None = None
) -> WordTable:
    """Lay out words and their counts for a vocabulary.

    `bodies`: what continuations stand for, without their mark, to be cut as continuations are, each
    with a weight; they come behind the words.
    """
    words, more = list(counts), list(bodies or ())
    tree = _tree(vocabulary)
    text = words + more
    sizes = np.array([len(word) for word in text], dtype=np.int64)
    starts = np.cumsum(sizes + 1) - sizes - 1
    letters = tree.letters("\0".join([*text, ""]))
    first = np.zeros(len(letters), dtype=np.int64) + MORE
    first[starts[: len(words)]] = START
    ids = vocabulary.ids
    size = len(vocabulary)
    whole = [ids[word] if word in vocabulary.whole else size for word in words] + [size] * len(more)
    weights = [*counts.values(), *(bodies or {}).values()]
    return WordTable(
        np.array(weights, dtype=np.float64),
        tree.longest(letters, first),
        tree.shorter,
        tree.length,
        starts,
        starts + sizes,
        np.array(whole, dtype=np.int64),
        sizes <= vocabulary.longest_word,
    )


def _sums(ids: Ints, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The weights added up by id (size,)."""
    return np.bincount(ids, weights=weights, minlength=size)[:size].astype(np.float64, copy=False)


def mask_of(vocabulary: Vocabulary, tokens: Collection[str]) -> Mask:
    """Some tokens as a mask over ids."""
    mask = np.zeros(len(vocabulary), dtype=np.bool_)
    mask[[vocabulary.ids[token] for token in tokens]] = True
    return mask


START, MORE = 0, 1  # the two roots of the tree


@dataclass(frozen=True, eq=False)
class _Tree:
    """The tokens of a vocabulary as two prefix trees in one, for the beginnings and for the
    continuations of words.

    edges: node · letters + letter, sorted; children: where each leads; token: the longest token on
    the way to each node.
    """

    alphabet: Ints
    edges: Ints
    children: Ints
    token: Ints
    shorter: Ints
    length: Ints

    def letters(self, text: str) -> Ints:
        """The characters of a text as numbers, 0 for one that no token holds; NUL parts words and
        is none.
        """
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(
            np.int64
        )
        return np.where(
            codes < len(self.alphabet), self.alphabet[np.minimum(codes, len(self.alphabet) - 1)], 0
        )

    def longest(self, letters: Ints, roots: Ints) -> Ints:
        """At each place the longest token that begins there, from the root that is given for it."""
        node = roots.copy()
        active, depth = np.arange(len(letters)), 0
        base = int(self.alphabet.max(initial=0)) + 1
        while len(active):
            letter = letters[active + depth]
            active, letter = active[letter > 0], letter[letter > 0]  # none behind the end of a word
            edge = node[active] * base + letter
            place = np.searchsorted(self.edges, edge)
            found = self.edges[np.minimum(place, len(self.edges) - 1)] == edge
            active = active[found]
            node[active] = self.children[place[found]]
            depth += 1
        return self.token[node]


def _tree(vocabulary: Vocabulary) -> _Tree:
    """Build the two trees; exact-word tokens stand in neither."""
    size = len(vocabulary)
    bodies = dict(_bodies(vocabulary))
    letters = sorted(set("".join(text for _, text in bodies.values())) - {"\0"})
    number = {letter: i for i, letter in enumerate(letters, start=1)}
    edges: dict[tuple[int, int], int] = {}
    above, ends = [START, MORE], dict[int, int]()
    for token, (root, text) in bodies.items():
        node = root
        for letter in text:
            node = edges.setdefault((node, number.get(letter, 0)), len(above))
            if node == len(above):
                above.append(node)
        ends[node] = token
    return _numbered(vocabulary, bodies, edges, ends, number, size)


def _bodies(vocabulary: Vocabulary) -> Iterator[tuple[int, tuple[int, str]]]:
    """Id, root, and text of each token that longest match may take."""
    for i, token in enumerate(vocabulary.tokens):
        if token in vocabulary.whole:
            continue
        if token.startswith(vocabulary.continuation) and token != vocabulary.continuation:
            yield i, (MORE, token.removeprefix(vocabulary.continuation))
        elif token:
            yield i, (START, token)


def _numbered(
    vocabulary: Vocabulary,
    bodies: Mapping[int, tuple[int, str]],
    edges: Mapping[tuple[int, int], int],
    ends: Mapping[int, int],
    number: Mapping[str, int],
    size: int,
) -> _Tree:
    """The trees as arrays."""
    token = [size] * (len(edges) + 2)
    shorter = np.full(size + 1, size, dtype=np.int64)
    for (above, _), node in edges.items():  # a node is made after the one above it
        token[node] = ends.get(node, token[above])
        if node in ends:
            shorter[ends[node]] = token[above]
    length = np.zeros(size + 1, dtype=np.int64)
    for i, (_, text) in bodies.items():
        length[i] = len(text)
    alphabet = np.zeros(max(map(ord, number), default=0) + 1, dtype=np.int64)
    alphabet[[ord(letter) for letter in number]] = list(number.values())
    base = int(alphabet.max(initial=0)) + 1
    keys = np.array([above * base + letter for above, letter in edges], dtype=np.int64)
    order = np.argsort(keys)
    return _Tree(
        alphabet,
        keys[order],
        np.array(list(edges.values()), dtype=np.int64)[order],
        np.array(token),
        shorter,
        length,
    )


def texts(words: Sequence[str], cut: Cut, vocabulary: Vocabulary) -> dict[str, tuple[str, ...]]:
    """The cuts as tokens, for people and for tests."""
    order = np.lexsort((cut.places, cut.words))
    made: dict[str, list[str]] = {word: [] for word in words}
    for word, token in zip(cut.words[order].tolist(), cut.tokens[order].tolist(), strict=True):
        made[words[word]].append(vocabulary.tokens[token])
    for word in np.flatnonzero(cut.unknown).tolist():
        made[words[word]] = [vocabulary.unknown]
    return {word: tuple(pieces) for word, pieces in made.items()}
