"""Look up a word or a wordpiece in a text, with context.

A wordpiece occurs in a text through the words whose tokenization contains it.
"""

from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import load_or_count_words
from vocadapt.progress import Progress, part, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.keyword_in_context import (
    DEFAULT_CONTEXT,
    ContextSettings,
    KeywordContext,
    find_by_name,
    find_in_context,
)
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.families.wordpiece import find_word_kinds


def look_up(
    text: Corpus,
    query: str,
    splitter: Splitter,
    vocabulary: Vocabulary | None = None,
    settings: ContextSettings = DEFAULT_CONTEXT,
    piece: bool = False,
    root: Path | None = None,
    progress: Progress = silent,
) -> KeywordContext:
    """Return the occurrences of a word, or of a wordpiece, in context.

    A query with a mark ("##ia") is always a wordpiece; with `piece` any token is. root: of the
    workspace, which keeps the word counts. Raises InputError for several words, and for a wordpiece
    that is unknown, or without a vocabulary.
    """
    # 1. A word, unless the query is marked as a wordpiece.
    query = query.strip()
    body = (vocabulary or find_word_kinds([query])).body(query)
    if not piece and body == query:
        return find_in_context(text, query, splitter, settings, progress)

    # 2. A wordpiece: it occurs in the words whose tokenization contains it.
    if vocabulary is None:
        raise InputError(
            f"{query[:100]!r} is a wordpiece, and without a model its words are not known.",
            "Give a model.",
            code="no-model",
        )
    if query not in vocabulary:
        raise InputError(
            f"{query[:100]!r} is not among the model's {len(vocabulary):,} wordpieces.",
            "Type a wordpiece exactly as it is in the vocabulary, or a whole word.",
            code="unknown-wordpiece",
        )
    counts = load_or_count_words(root, text, splitter, part(progress, 0.0, 0.5))
    pretokens = vocabulary.find_words_with(query, counts.counts)
    words = {word for pretoken in pretokens for word in splitter.words_of(pretoken)}
    names = {word: query for word in words if body in word}
    found = find_by_name(text, names, splitter, settings, part(progress, 0.5, 1.0), body)
    return found.get(query, KeywordContext(query, 0, ()))
