"""Prefix trees (tries) of the tokens of a vocabulary, searched at all places of all words at once.

All tokens that match at one place are prefixes of one another. So the longest of them is enough:
`shorter` leads from each token to the next shorter one that is a prefix of it.

Example: hyper (id 4) and h (id 5) give the path root –h– y – p – e – r; the longest token is 5 at
the nodes h, y, p and e, and 4 at r, and shorter[4] = 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vocadapt.vocabulary.vocabulary import Ints, Mask


def encode_code_points(text: str) -> Ints:
    """Return the code points of a text, (characters,) int64."""
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype=np.uint32).astype(np.int64)


def list_ranges(starts: Ints, ends: Ints) -> Ints:
    """Return the numbers of all ranges, one after the other, int64: [2, 7], [4, 8] → 2 3 7."""
    sizes = ends - starts
    offsets = np.cumsum(sizes) - sizes
    numbers = np.arange(int(sizes.sum()))
    numbers += np.repeat(starts - offsets, sizes)
    return numbers


def skip_removed(shorter: Ints, removed: Mask | None) -> Ints:
    """Return for each token the one that matches in its place, (V + 1,) int64: the token itself, or
    its longest prefix that is not in `removed`, (V,) bool; V if there is none.

    shorter: (V + 1,) int64, as in PrefixTrees.
    """
    match = np.arange(len(shorter))
    if removed is None:
        return match
    missing = np.append(removed, False)
    while (pending := missing[match]).any():
        match = np.where(pending, shorter[match], match)
    return match


@dataclass(frozen=True, eq=False)
class WordPlaces:
    """The places of words that are stored one after the other: one for each character, and one for
    the end of each word.

    text: all characters, NUL at the end of each word.
    starts, ends: (words,) int64, place of the first character of each word, and after its last.
    """

    text: str
    starts: Ints
    ends: Ints


def assign_places(words: Sequence[str]) -> WordPlaces:
    """Assign one place to each character of words, and one to the end of each word."""
    sizes = np.array([len(word) for word in words], dtype=np.int64)
    starts = np.cumsum(sizes + 1) - sizes - 1
    return WordPlaces("\0".join([*words, ""]), starts, starts + sizes)


@dataclass(frozen=True, eq=False)
class PrefixTrees:
    """The tokens of a vocabulary as one or more prefix trees.

    V is the size of the vocabulary; as a token id it means "no token".

    alphabet: (code points,) int64, number of each character, 0 if no token contains it.
    edges: (edges,) int64, parent node · number of letters + letter, sorted.
    children: (edges,) int64, the node to which each edge leads.
    token: (nodes,) int64, id of the longest token on the path from the root to a node, or V.
    shorter: (V + 1,) int64, for each id the next shorter token that is a prefix of it, or V.
    length: (V + 1,) int64, characters of each token as it is in its tree; 0 if it is in none.
    """

    alphabet: Ints
    edges: Ints
    children: Ints
    token: Ints
    shorter: Ints
    length: Ints

    def encode(self, text: str) -> Ints:
        """Return the number of each character, (characters,) int64; 0 if no token contains it.

        NUL, which separates words, is always 0.
        """
        codes = encode_code_points(text)
        last = len(self.alphabet) - 1
        return np.where(codes <= last, self.alphabet[np.minimum(codes, last)], 0)

    def find_longest(self, letters: Ints, roots: Ints, at: Ints | None = None) -> Ints:
        """Return the id of the longest token that matches at each place, (places,) int64.

        letters: (characters,) int64, as `encode` returns them; 0 at the end of each word.
        roots: (places,) int64, the tree to search, by number. at: (places,) int64, the places to
            search; None for all characters.

        All places descend together, one letter per round; a place leaves the loop at the end of
        its word, or if its node has no edge for the next letter.
        """
        node = roots.copy()
        if not len(self.edges):
            return self.token[node]
        places = np.arange(len(letters)) if at is None else at
        active = np.arange(len(places))
        depth = 0
        base = int(self.alphabet.max(initial=0)) + 1
        while len(active):
            letter = letters[places[active] + depth]
            active = active[letter > 0]
            letter = letter[letter > 0]
            edge = node[active] * base + letter
            place = np.searchsorted(self.edges, edge)
            found = self.edges[np.minimum(place, len(self.edges) - 1)] == edge
            active = active[found]
            node[active] = self.children[place[found]]
            depth += 1
        return self.token[node]


def build_prefix_trees(
    size: int, bodies: Mapping[int, tuple[int, str]], n_trees: int
) -> PrefixTrees:
    """Build the trees; their roots are the nodes 0, 1, … `n_trees` − 1.

    size: V. bodies: the tree and the text of each token, by id; tokens without text are left out.
    """
    # 1. Number the letters from 1 on: 0 is a letter that no token contains.
    letters = np.unique(encode_code_points("".join(text for _, text in bodies.values())))
    number = {chr(letter): i for i, letter in enumerate(letters[letters > 0].tolist(), start=1)}
    base = len(number) + 1
    alphabet = np.zeros(max(map(ord, number), default=0) + 1, dtype=np.int64)
    alphabet[[ord(letter) for letter in number]] = list(number.values())

    # 2. Add the path of each token; nodes are numbered as they are created, after the roots.
    edges: dict[tuple[int, int], int] = {}
    token_at: dict[int, int] = {}
    for token, (root, text) in bodies.items():
        node = root
        for letter in text:
            node = edges.setdefault((node, number.get(letter, 0)), len(edges) + n_trees)
        if text:
            token_at[node] = token

    # 3. Pass the longest token down: a parent always has a lower number than its children.
    longest = [size] * (len(edges) + n_trees)
    shorter = np.full(size + 1, size, dtype=np.int64)
    for (parent, _), node in edges.items():
        longest[node] = token_at.get(node, longest[parent])
        if node in token_at:
            shorter[token_at[node]] = longest[parent]
    length = np.zeros(size + 1, dtype=np.int64)
    for token, (_, text) in bodies.items():
        length[token] = len(text)

    # 4. Sort the edges, so that `find_longest` can look them up by binary search.
    keys = np.array([parent * base + letter for parent, letter in edges], dtype=np.int64)
    order = np.argsort(keys)
    children = np.array(list(edges.values()), dtype=np.int64)[order]
    return PrefixTrees(alphabet, keys[order], children, np.array(longest), shorter, length)
