"""Keyword in context within the examples of a task: where a word stands in what was trained or tested on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vocadapt.analysis.ledger import text_of
from vocadapt.text.context import DRAWN, Context, ContextSettings, Hit, one_word
from vocadapt.text.splitter import Splitter
from vocadapt.training.tasks.base import Example


def in_examples(
    examples: Sequence[Example], word: str, splitter: Splitter, name: str, settings: ContextSettings = DRAWN
) -> Context:
    """Every place of a word in the texts of examples, in any form that the splitter makes the same; some of them shown.

    A place's file is `name`, its line the number of the example, from 1. Raises InputError for several words.
    """
    wanted = one_word(word, splitter)
    core, hits = wanted.lower(), list[Hit]()
    for number, example in enumerate(examples, start=1):
        text = text_of(example)
        if splitter.lowercase and text.isascii() and core.isascii() and core not in text.lower():
            continue  # most examples need not be split
        for start, end in ((start, end) for own, start, end in splitter.spans(text) if own == wanted):
            left, right = text[max(0, start - settings.width) : start], text[end : end + settings.width]
            hits.append(Hit(left, text[start:end], right, Path(name), number))
    return Context(wanted, len(hits), tuple(_drawn(hits, settings)))


def _drawn(hits: list[Hit], settings: ContextSettings) -> list[Hit]:
    """The first ones, or some at random, in their order."""
    if len(hits) <= settings.limit or not settings.sample:
        return hits[: settings.limit]
    places = np.random.default_rng(settings.seed).choice(len(hits), settings.limit, replace=False)
    return [hits[place] for place in np.sort(places)]
