"""Sentences → chunks of at most so many words that never cut an entity (Poerner et al.: 30 words)."""

from collections.abc import Iterable
from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.training.tags import spans_of
from vocadapt.training.tasks.base import Sentence


@dataclass(frozen=True)
class ChunkSettings:
    """Words a chunk holds at most; 0 leaves sentences whole."""

    words: int = 30

    def __post_init__(self) -> None:
        if self.words < 0:
            raise InputError(f"Expected 0 words or more a chunk, got {self.words}.", "30 is the paper's; 0 is off.")


def chunk_bounds(words: int, spans: Iterable[tuple[int, int]], limit: int) -> tuple[tuple[int, int], ...]:
    """Where a sentence of so many words is cut: each chunk as long as it can be, no cut inside a span.

    A span longer than the limit is a chunk of its own. The chunks together are the sentence. `chunk_bounds(7, [(2, 4)], 3)` →
    (0, 2), (2, 5), (5, 7).
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


def chunked(sentence: Sentence, settings: ChunkSettings) -> tuple[Sentence, ...]:
    """The chunks of a sentence; without tags (when predicting) it is cut by the number of words alone."""
    tags = sentence.tags
    spans = [(span.start, span.end) for span in spans_of(tags)] if tags is not None else []
    return tuple(
        Sentence(sentence.words[start:end], None if tags is None else tags[start:end], sentence.document)
        for start, end in chunk_bounds(len(sentence.words), spans, settings.words)
    )
