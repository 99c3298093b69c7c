"""Words of a text with the forms in which they occur.

In byte-level BPE and Unigram, a word is several pre-tokens: after a space, at the start of a line,
capitalized. Each form needs its own token; together they are one added word. In WordPiece, a
word has one form.

Example: Ġfever 90, Fever 8, ĠFEVER 2 → the word fever, 100 times, with the main form Ġfever.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary


@dataclass(frozen=True)
class WordForms:
    """A word of a text with its forms.

    forms: the token of each form with its count, most frequent first, ties by spelling.
    """

    word: str
    forms: tuple[tuple[str, int], ...]

    @property
    def main(self) -> str:
        """The token of the most frequent form."""
        return self.forms[0][0]

    @property
    def count(self) -> int:
        """Occurrences of all forms."""
        return sum(count for _, count in self.forms)


def group_word_forms(
    vocabulary: Vocabulary, splitter: Splitter, counts: Mapping[str, int]
) -> tuple[WordForms, ...]:
    """Return the words of a text with their forms, most frequent word first, ties by word.

    counts: pre-tokens with their counts.
    """
    grouped: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pretoken, count in counts.items():
        words = splitter.words_of(pretoken)
        form = vocabulary.find_form(pretoken, words)
        if form is not None and words:
            grouped[vocabulary.fold_word(words[0])][form] += count
    found: list[WordForms] = []
    for forms in grouped.values():
        ordered = sorted(forms.items(), key=lambda item: (-item[1], item[0]))
        found.append(WordForms(vocabulary.body(ordered[0][0]), tuple(ordered)))
    return tuple(sorted(found, key=lambda one: (-one.count, one.word)))
