"""Count the lines of a text whose tokens a trim changes.

The tokenizer matches an added token, such as [MASK] or two spaces, before it splits a line into
pre-tokens. A line with an added token is therefore tokenized as a whole, and its pre-tokens are not
counted. Any other line changes if one of its pre-tokens changes. If tokens of the model cross the
boundaries of pre-tokens, every line is tokenized as a whole.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tokenizers import Tokenizer

from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.identical_lines import find_held_out, hash_lines
from vocadapt.text.pretoken_lines import PretokenFinder
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode_batch
from vocadapt.text.words import subtract_counts
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.files.tokenizer_json import list_tokens
from vocadapt.vocabulary.plan.plan import VocabularyPlan

Name = TypeVar("Name")

NO_LINE = re.compile(r"(?!)")
EVERY_LINE = re.compile("")


@dataclass(frozen=True, eq=False)
class AddedTokenLines:
    """The lines of a text that contain an added token.

    pretokens: counts of their pre-tokens, as if there were no added tokens. tokens: counts of their
    tokens. held_out: those of them that are held out (`identical_lines.find_held_out`); None if
    these are the held-out ones.
    """

    pretokens: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    held_out: "AddedTokenLines | None" = None

    @property
    def in_sample(self) -> "AddedTokenLines":
        """The lines that are not held out."""
        if self.held_out is None:
            return self
        return AddedTokenLines(
            subtract_counts(self.pretokens, self.held_out.pretokens),
            subtract_counts(self.tokens, self.held_out.tokens),
        )

    def subtract_from(self, counts: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts of the pre-tokens of all other lines."""
        return subtract_counts(counts, self.pretokens)


@dataclass(frozen=True)
class ChangedLines:
    """Number of lines of a text, and of those whose tokens change, without blank lines."""

    lines: int
    changed: int

    def to_dict(self) -> dict[str, object]:
        """Return both numbers and the fraction of changed lines."""
        fraction = self.changed / self.lines if self.lines else 0.0
        return {
            "lines": self.lines,
            "changed_lines": self.changed,
            "changed_lines_fraction": fraction,
        }


def compile_added_tokens(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Return a pattern that matches every line to be tokenized as a whole: every line with an added
    token. Exact words are pre-tokens, so the pattern does not contain them.
    """
    family = family_of(tokenizer)
    if not family.splits_exactly(tokenizer):
        return EVERY_LINE
    # Skip a token that contains another one, which already matches: "   " contains "  ".
    shortest: list[str] = []
    for token in sorted(filter(None, family.read_vocabulary(tokenizer).added), key=len):
        if not any(part in token for part in shortest):
            shortest.append(token)
    if not shortest:
        return NO_LINE
    flags = re.IGNORECASE if family.make_splitter(tokenizer).lowercase else re.NOFLAG
    return re.compile("|".join(map(re.escape, shortest)), flags)


def read_added_token_lines(
    corpus: Corpus, tokenizer: Tokenizer, splitter: Splitter, progress: Progress = silent
) -> AddedTokenLines:
    """Count the pre-tokens and the tokens of the lines with an added token."""
    pattern = compile_added_tokens(tokenizer)
    names = list_tokens(tokenizer)
    pretokens = {side: Counter[str]() for side in (False, True)}  # of held-out lines: True
    tokens = {side: Counter[str]() for side in (False, True)}
    for lines, fraction in read_lines(corpus):
        found = list(filter(pattern.search, lines))
        sides = find_held_out(hash_lines(found)).tolist()
        for side, line in zip(sides, found, strict=True):
            pretokens[side].update(splitter.pretokens(line))
        for side, line_tokens in zip(sides, tokenize_lines(tokenizer, names, found), strict=True):
            tokens[side].update(line_tokens)
        progress(fraction, "looking for added tokens in the text")
    held_out = AddedTokenLines(pretokens[True], tokens[True])
    return AddedTokenLines(
        pretokens[False] + pretokens[True], tokens[False] + tokens[True], held_out
    )


def count_changed_lines(
    corpus: Corpus,
    plan: VocabularyPlan,
    before: Tokenizer,
    after: Tokenizer,
    progress: Progress = silent,
) -> ChangedLines:
    """Count the lines of a text whose tokens a trim changes; every line is checked.

    plan: the trim. before, after: the tokenizer before and after it.
    """
    pattern = compile_added_tokens(before)
    old_names = list_tokens(before)
    new_names = list_tokens(after)
    finder = PretokenFinder(family_of(before).make_splitter(before), plan.changed_pretokens)
    n_lines = n_changed = 0
    for lines, fraction in read_lines(corpus):
        # 1. Compare the tokens of lines with an added token.
        with_added = list(filter(pattern.search, lines))
        old = tokenize_lines(before, old_names, with_added)
        new = tokenize_lines(after, new_names, with_added)
        n_changed += sum(one != other for one, other in zip(old, new, strict=True))
        # 2. In all other lines, look for pre-tokens that change.
        n_changed += sum(finder.find([line for line in lines if not pattern.search(line)]))
        n_lines += len(lines)
        progress(fraction, "counting the lines that change")
    return ChangedLines(n_lines, n_changed)


def tokenize_lines(
    tokenizer: Tokenizer, names: Sequence[Name], lines: Sequence[str]
) -> Iterator[list[Name]]:
    """Yield the tokens of each line, without special tokens around it.

    names: the tokens by id, or other names of them (the library returns the text of unknown and
    added tokens instead).
    """
    for encoding in encode_batch(tokenizer, lines, add_special_tokens=False):
        yield [names[i] for i in encoding.ids]


def read_lines(corpus: Corpus) -> Iterator[tuple[list[str], float]]:
    """Yield the lines of each passage that are not blank, and the fraction read so far."""
    for passage in corpus.passages():
        lines = [line for line in split_lines(passage.text) if not line.isspace() and line]
        yield lines, passage.fraction
