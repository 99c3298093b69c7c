"""Keyword in context within the examples of a task."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vocadapt.text.keyword_in_context import (
    DEFAULT_CONTEXT,
    ContextSettings,
    Hit,
    KeywordContext,
    normalize_single_word,
)
from vocadapt.text.splitter import Splitter
from vocadapt.training.tasks.examples import Example


def find_in_examples(
    examples: Sequence[Example],
    word: str,
    splitter: Splitter,
    name: str,
    settings: ContextSettings = DEFAULT_CONTEXT,
) -> KeywordContext:
    """Find the occurrences of a word in the texts of examples, in any form with the same
    normalization.

    An occurrence's file is `name`, its line the number of the example, from 1. Raises InputError
    for several words.
    """
    wanted = normalize_single_word(word, splitter)
    return find_each_in_examples(examples, [wanted], splitter, name, settings)[wanted]


def find_each_in_examples(
    examples: Sequence[Example],
    words: Sequence[str],
    splitter: Splitter,
    name: str,
    settings: ContextSettings = DEFAULT_CONTEXT,
) -> dict[str, KeywordContext]:
    """Find several normalized words at once: word → its occurrences. Each text is split at most
    once.
    """
    hits: dict[str, list[Hit]] = {word: [] for word in words}
    cores = [word.lower() for word in words]
    quick = splitter.lowercase and all(map(str.isascii, cores))
    for number, example in enumerate(examples, start=1):
        text = example.full_text
        if quick and text.isascii() and not any(map(text.lower().__contains__, cores)):
            continue  # most examples need not be split
        for own, start, end in splitter.spans(text):
            if own in hits:
                left, right = (
                    text[max(0, start - settings.width) : start],
                    text[end : end + settings.width],
                )
                hits[own].append(Hit(left, text[start:end], right, Path(name), number))
    return {
        word: KeywordContext(word, len(found), tuple(_sample_hits(found, settings)))
        for word, found in hits.items()
    }


def _sample_hits(hits: list[Hit], settings: ContextSettings) -> list[Hit]:
    """Return the first occurrences, or a random sample in order."""
    if len(hits) <= settings.limit or not settings.sample:
        return hits[: settings.limit]
    places = np.random.default_rng(settings.seed).choice(len(hits), settings.limit, replace=False)
    return [hits[place] for place in np.sort(places)]
