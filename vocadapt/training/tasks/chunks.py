"""Division of sentences into chunks that never divide an entity (Poerner et al. 2020: 30 words)."""

from collections.abc import Iterable


def divide_into_chunks(
    words: int, spans: Iterable[tuple[int, int]], limit: int
) -> tuple[tuple[int, int], ...]:
    """Divide a sentence of `words` words into chunks as long as possible, none ending inside a
    span.

    A span longer than the limit is a chunk of its own. The chunks together are the sentence.
    `divide_into_chunks(7, [(2, 4)], 3)` → (0, 2), (2, 5), (5, 7).
    """
    if not limit or words <= limit:
        return ((0, words),)
    cut_free = [True] * (words + 1)
    for start, end in spans:
        cut_free[start + 1 : end] = [False] * (end - start - 1)
    bounds, start = [], 0
    while start < words:
        last = min(start + limit, words)
        fitting = (end for end in range(last, start, -1) if cut_free[end])
        longer = (end for end in range(last + 1, words + 1) if cut_free[end])
        end = next(fitting, None) or next(longer)
        bounds.append((start, end))
        start = end
    return tuple(bounds)
