"""Scores of a Unigram model, and scores for new tokens.

A Unigram model gives each token a score, the logarithm of its probability, and takes the
segmentation of a pre-token with the highest sum of scores (Kudo 2018), found by the Viterbi
algorithm. `best_segmentations` does the same for many words at once, with tokens that never change.

A new token gets the score of its best segmentation so far, + .001. The score of this segmentation
is the log probability that the model already gives to the text of the token. So the new score is on
the scale of all others, and it is the lowest one at which the token is chosen for its own text. A
pre-token changes only if its best segmentation had a boundary at both ends of the new token (or one
within .001 of the best had), so most others stay as they were. Other scores do more harm: with the
lowest score of the model, some tokens are never chosen; with 0, texts become longer.

Tokens are scored from the shortest to the longest, each with those before it, because a shorter one
may be a part of a longer one.

Example: ab is a b, -3 - 4 = -7, so ab scores -6.999; abc is then ab c, so it scores more than that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vocadapt.vocabulary.families.tables.best_segmentations import UNKNOWN_PENALTY

# Greater than the rounding error of sums of scores in float32, in which sentencepiece computes:
# below 1e-4 for sums above -1,000.
MARGIN = 0.001


@dataclass(frozen=True)
class Segmentation:
    """The best segmentation of a text, and the sum of its scores.

    Each unknown character is one piece.
    """

    pieces: tuple[str, ...]
    score: float


class PieceScores:
    """The pieces of a Unigram model with their scores, to which pieces can be added.

    An unknown character keeps the score that it had before pieces were added. In the resulting
    model it scores even less, 10 below the lowest of all pieces, so the new pieces are still
    chosen. Otherwise each added word with an unknown character would lower the scores of the next
    ones.
    """

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = dict(scores)
        self._longest = max(map(len, self.scores), default=0)
        self._lowest = min(self.scores.values(), default=0.0)

    def add(self, piece: str) -> None:
        """Add a piece with the lowest score at which its own text becomes this piece."""
        self.scores[piece] = self.segment(piece).score + MARGIN
        self._longest = max(self._longest, len(piece))

    def segment(self, text: str, without: str | None = None) -> Segmentation:
        """Return the best segmentation of a text by the Viterbi algorithm; of equal ones, that with
        the longest last piece, at each place, as in the tokenizers library.

        without: a piece to exclude.

        Example: see the module, ab → (ab,) with -6.999.
        """
        unknown = self._score_unknown(without)
        size = len(text)
        # Score of the best segmentation up to each place, and where its last piece begins.
        best = [0.0] + [float("-inf")] * size
        begins = [0] * (size + 1)
        for start in range(size):
            # 1. Try every piece that begins at this place.
            here = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                piece = text[start:end]
                score = self.scores.get(piece)
                if score is not None and here + score > best[end] and piece != without:
                    best[end], begins[end] = here + score, start
            # 2. A character that is no piece by itself is unknown.
            character = text[start]
            is_unknown = character not in self.scores or character == without
            if is_unknown and here + unknown > best[start + 1]:
                best[start + 1], begins[start + 1] = here + unknown, start
        # 3. Follow the last pieces back to the start.
        pieces: list[str] = []
        end = size
        while end:
            pieces.append(text[begins[end] : end])
            end = begins[end]
        return Segmentation(tuple(reversed(pieces)), best[size])

    def _score_unknown(self, without: str | None) -> float:
        lowest = self._lowest
        if without is not None and self.scores.get(without) == lowest:
            others = (score for piece, score in self.scores.items() if piece != without)
            lowest = min(others, default=0.0)
        return lowest - UNKNOWN_PENALTY


def score_new_pieces(scores: Mapping[str, float], new: Iterable[str]) -> dict[str, float]:
    """Return the scores of new pieces, added from the shortest to the longest, then in order."""
    added = list(new)
    pieces = PieceScores(scores)
    for piece in sorted(added, key=len):
        pieces.add(piece)
    return {piece: pieces.scores[piece] for piece in added}
