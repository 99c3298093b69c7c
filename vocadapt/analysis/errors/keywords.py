"""Keywords of an error report in context: their occurrences in test, training and corpus."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vocadapt.analysis.errors.entry_lines import select_words, words_of_entry
from vocadapt.analysis.errors.example_context import find_each_in_examples
from vocadapt.analysis.errors.ledger import Entry, Ledger
from vocadapt.analysis.errors.word_tokenizations import WordIndex
from vocadapt.progress import Progress, silent
from vocadapt.settings import check_settings, setting
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import ContextSettings, KeywordContext, find_each_in_context
from vocadapt.text.splitter import Splitter
from vocadapt.training.tasks.examples import Example

TEST, TRAINING, CORPUS = "test", "training", "corpus"


@dataclass(frozen=True)
class KeywordSettings:
    """How many words to list, most frequent first, and how many occurrences of each."""

    words: int = setting(40, "words to show", low=1, high=10_000, flag="")
    lines: ContextSettings = field(default_factory=lambda: ContextSettings(limit=4))

    def __post_init__(self) -> None:
        check_settings(self)


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
    """The listed words, and how many words the entries contain (`of`)."""

    words: tuple[Keyword, ...]
    of: int
    settings: KeywordSettings


def find_keywords(
    book: Ledger,
    entries: Sequence[Entry],
    words: WordIndex,
    train: Sequence[Example] | None = None,
    corpus: Corpus | None = None,
    settings: KeywordSettings | None = None,
    progress: Progress = silent,
) -> Keywords:
    """Find the words of entries in context; a corpus is read only once for all words."""
    settings, splitter = settings or KeywordSettings(), words.splitter or Splitter.bert()
    counts = Counter(
        word for entry in entries for word in _words_on_card(book, entry, words, splitter)
    )
    chosen = [word for word, _ in counts.most_common(settings.words)]
    found = {
        TEST: find_each_in_examples(book.split.examples, chosen, splitter, TEST, settings.lines)
    }
    if train is not None:
        found[TRAINING] = find_each_in_examples(train, chosen, splitter, TRAINING, settings.lines)
    if corpus is not None:
        found[CORPUS] = find_each_in_context(corpus, chosen, splitter, settings.lines, progress)
    shown = (
        Keyword(word, counts[word], {where: own[word] for where, own in found.items()})
        for word in chosen
    )
    return Keywords(tuple(shown), len(counts), settings)


def _words_on_card(book: Ledger, entry: Entry, words: WordIndex, splitter: Splitter) -> list[str]:
    """Return the distinct normalized words on an entry's card, in order, without punctuation."""
    written = (one.word for one in select_words(words_of_entry(book, entry, words)))
    return list(
        dict.fromkeys(
            word for one in written for word in splitter.words(one) if any(map(str.isalnum, word))
        )
    )
