"""Words of a text with the forms in which they occur.

In byte-level BPE and Unigram, a word is several pre-tokens: after a space, at the start of a line,
capitalized. Each form needs its own token; together they are one added word. In WordPiece, a
word has one form.

Example: Ġfever 90, Fever 8, ĠFEVER 2 → the word fever, 100 times, with the main form Ġfever.

In Unigram, a pre-token is the text between two spaces: ▁re-use begins with the word re. A token ▁re
would match at the start of every word, ▁recovery, so a word that stands alone in fewer than half of
its occurrences is not added.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families import Vocabulary


@dataclass(frozen=True)
class WordForms:
    """A word of a text with its forms.

    forms: the token of each form with its count, most frequent first, ties by spelling.
    joined: occurrences in which other letters or digits follow without a space: re in re-use.
    """

    word: str
    forms: tuple[tuple[str, int], ...]
    joined: int = 0

    @property
    def main(self) -> str:
        """The token of the most frequent form."""
        return self.forms[0][0]

    @cached_property
    def count(self) -> int:
        """Occurrences of all forms."""
        return sum(count for _, count in self.forms)

    @property
    def stands_alone(self) -> bool:
        """Whether the word stands alone between spaces in at least half of its occurrences."""
        return 2 * self.joined <= self.count


def has_letter_or_digit(word: str) -> bool:
    """Return whether a word is more than punctuation."""
    return any(map(str.isalnum, word))


def group_word_forms(
    vocabulary: Vocabulary, splitter: Splitter, counts: Mapping[str, int]
) -> tuple[WordForms, ...]:
    """Return the words of a text with their forms, most frequent word first, ties by word.

    counts: pre-tokens with their counts.
    """
    grouped: defaultdict[str, dict[str, int]] = defaultdict(dict)
    joined = Counter[str]()
    for pretoken, count in counts.items():
        words = splitter.words_of(pretoken)
        form = vocabulary.find_form(pretoken, words)
        if form is not None and words:
            word = vocabulary.fold_word(words[0])
            forms = grouped[word]
            forms[form] = forms.get(form, 0) + count
            if any(map(has_letter_or_digit, words[1:])):
                joined[word] += count
    found: list[WordForms] = []
    for word, forms in grouped.items():
        ordered = sorted(forms.items(), key=lambda item: (-item[1], item[0]))
        found.append(WordForms(vocabulary.body(ordered[0][0]), tuple(ordered), joined[word]))
    return tuple(sorted(found, key=lambda one: (-one.count, one.word)))
