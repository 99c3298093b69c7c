"""Keyword in context within the examples of a task, and for the words of an error report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from vocadapt.analysis.errors.entry_lines import select_words, words_of_entry
from vocadapt.analysis.errors.ledger import Entry, Ledger
from vocadapt.analysis.errors.word_tokenizations import WordIndex
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import (
    DEFAULT_CONTEXT,
    ContextSettings,
    Hit,
    KeywordContext,
    find_by_name,
    normalize_single_word,
)
from vocadapt.text.splitter import Splitter
from vocadapt.training.examples.examples import Example

TEST, TRAINING, CORPUS = "test", "training", "corpus"
MAX_WORDS = 40  # listed, most frequent first
CONTEXT = ContextSettings(limit=4)  # how many occurrences of each word


@dataclass(frozen=True)
class Keyword:
    """A word, the number of entries that contain it, and its occurrences: {TEST: …, TRAINING: …,
    CORPUS: …}.
    """

    word: str
    entries: int
    found: Mapping[str, KeywordContext]


@dataclass(frozen=True)
class Keywords:
    """The listed words, and the number of distinct words of the entries (`n_words`)."""

    words: tuple[Keyword, ...]
    n_words: int


def find_in_examples(
    examples: Sequence[Example],
    word: str,
    splitter: Splitter,
    name: str,
    settings: ContextSettings = DEFAULT_CONTEXT,
) -> KeywordContext:
    """Find the occurrences of a word in the texts of examples, in every form that normalizes to it.

    The file of an occurrence is `name`, its line the number of the example, counted from 1. Raises
    InputError for several words.
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
    """Find several normalized words at once and return word → occurrences.

    Each text is split at most once.
    """
    # Splitting is slow. If the splitter lowercases, and words and text are ASCII, a text that
    # contains none of the words as a substring can be skipped.
    hits: dict[str, list[Hit]] = {word: [] for word in words}
    substrings = [word.lower() for word in words]
    can_skip = splitter.lowercase and all(map(str.isascii, substrings))
    for number, example in enumerate(examples, start=1):
        text = example.full_text
        if can_skip and text.isascii() and not any(map(text.lower().__contains__, substrings)):
            continue
        for word, start, end in splitter.spans(text):
            if word in hits:
                left = text[max(0, start - settings.width) : start]
                right = text[end : end + settings.width]
                hits[word].append(Hit(left, text[start:end], right, Path(name), number))
    return {
        word: KeywordContext(word, len(own), tuple(_select_hits(own, settings)))
        for word, own in hits.items()
    }


def _select_hits(hits: list[Hit], settings: ContextSettings) -> list[Hit]:
    if len(hits) <= settings.limit or not settings.sample:
        return hits[: settings.limit]
    drawn = np.random.default_rng(settings.seed).choice(len(hits), settings.limit, replace=False)
    return [hits[place] for place in np.sort(drawn)]


def find_keywords(
    ledger: Ledger,
    entries: Sequence[Entry],
    words: WordIndex,
    train: Sequence[Example] | None = None,
    corpus: Corpus | None = None,
    progress: Progress = silent,
) -> Keywords:
    """Find the words of entries in context; the corpus is read once for all words."""
    splitter = words.splitter or Splitter.bert()

    # 1. Count the entries that list each normalized word; skip punctuation.
    counts: Counter[str] = Counter()
    for entry in entries:
        written = (one.word for one in select_words(words_of_entry(ledger, entry, words)))
        normalized = dict.fromkeys(chain.from_iterable(map(splitter.words, written)))
        counts.update(word for word in normalized if any(map(str.isalnum, word)))
    chosen = [word for word, _ in counts.most_common(MAX_WORDS)]

    # 2. Find the most frequent words in each text.
    found = {TEST: find_each_in_examples(ledger.split.examples, chosen, splitter, TEST, CONTEXT)}
    if train is not None:
        found[TRAINING] = find_each_in_examples(train, chosen, splitter, TRAINING, CONTEXT)
    if corpus is not None:
        names = {word: word for word in chosen}
        found[CORPUS] = find_by_name(corpus, names, splitter, CONTEXT, progress)
    keywords = []
    for word in chosen:
        contexts = {where: contexts[word] for where, contexts in found.items()}
        keywords.append(Keyword(word, counts[word], contexts))
    return Keywords(tuple(keywords), len(counts))
