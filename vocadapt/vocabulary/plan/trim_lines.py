"""The lines of a text before and after a trim.

An added token, such as [MASK] or two spaces, is matched in a line before the line is split into
pre-tokens. A line with one is tokenized as a whole, and its pre-tokens do not count. All other lines
are decided by their pre-tokens. If tokens of the model cross the borders of pre-tokens, every line is
tokenized as a whole.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tokenizers import Tokenizer

from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus
from vocadapt.text.formats.text_file import split_lines
from vocadapt.text.pretoken_lines import PretokenFinder
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import encode_batch
from vocadapt.vocabulary.families import family_of
from vocadapt.vocabulary.families.files.tokenizer_json import list_tokens
from vocadapt.vocabulary.plan.plan import VocabularyPlan

NO_LINE, EVERY_LINE = re.compile(r"(?!)"), re.compile("")


@dataclass(frozen=True, eq=False)
class AddedTokenLines:
    """The lines of a text that contain an added token.

    pretokens: their pre-tokens, as counted without regard to added tokens; tokens: their tokens.
    """

    pretokens: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)

    def subtract_from(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the counts of the pre-tokens of all other lines, in their order."""
        if not self.pretokens:
            return dict(counts)
        rest = {word: count - self.pretokens.get(word, 0) for word, count in counts.items()}
        return {word: count for word, count in rest.items() if count > 0}


@dataclass(frozen=True)
class ChangedLines:
    """How many lines of a text a trim changes; blank lines do not count."""

    lines: int
    changed: int

    def to_dict(self) -> dict[str, object]:
        """Return the numbers and the fraction of changed lines."""
        fraction = self.changed / self.lines if self.lines else 0.0
        return {
            "lines": self.lines,
            "changed_lines": self.changed,
            "changed_lines_fraction": fraction,
        }


def compile_added_tokens(tokenizer: Tokenizer) -> re.Pattern[str]:
    """Return a pattern that matches in every line that is tokenized as a whole: those with an added
    token that pre-tokens do not show.

    Exact-word tokens are pre-tokens, so they are left out.
    """
    family = family_of(tokenizer)
    if not family.splits_exactly(tokenizer):
        return EVERY_LINE
    vocabulary, splitter = family.read_vocabulary(tokenizer), family.make_splitter(tokenizer)
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    hidden = [
        token
        for token in added
        if token not in vocabulary.whole
        or vocabulary.explain_unreachable(token, splitter, exact=True) is not None
    ]
    # A token that contains another one needs no alternative of its own: "   " contains "  ".
    shortest: list[str] = []
    for token in sorted(filter(None, hidden), key=len):
        if not any(part in token for part in shortest):
            shortest.append(token)
    if not shortest:
        return NO_LINE
    flags = re.IGNORECASE if splitter.lowercase else re.NOFLAG
    return re.compile("|".join(map(re.escape, shortest)), flags)


def read_added_token_lines(
    corpus: Corpus, tokenizer: Tokenizer, splitter: Splitter, progress: Progress = silent
) -> AddedTokenLines:
    """Count the pre-tokens and the tokens of the lines with an added token."""
    pattern, names = compile_added_tokens(tokenizer), list_tokens(tokenizer)
    pretokens, tokens = Counter[str](), Counter[str]()
    for lines, fraction in _read_lines(corpus):
        found = list(filter(pattern.search, lines))
        for line in found:
            pretokens.update(splitter.pretokens(line))
        for line_tokens in _tokenize(tokenizer, names, found):
            tokens.update(line_tokens)
        progress(fraction, "looking for added tokens in the text")
    return AddedTokenLines(pretokens, tokens)


def count_changed_lines(
    corpus: Corpus,
    plan: VocabularyPlan,
    before: Tokenizer,
    after: Tokenizer,
    progress: Progress = silent,
) -> ChangedLines:
    """Count the lines of a text whose tokens a trim changes: every line is decided.

    plan: the trim; before, after: the tokenizer before and after it.
    """
    assert plan.trim is not None
    pattern = compile_added_tokens(before)
    old_names, new_names = list_tokens(before), list_tokens(after)
    finder = PretokenFinder(family_of(before).make_splitter(before), plan.trim.changed)
    n_lines = n_changed = 0
    for lines, fraction in _read_lines(corpus):
        # 1. Lines with an added token: compare their tokens.
        with_added = list(filter(pattern.search, lines))
        old = _tokenize(before, old_names, with_added)
        new = _tokenize(after, new_names, with_added)
        n_changed += sum(one != other for one, other in zip(old, new, strict=True))
        # 2. All others: look for pre-tokens that change.
        n_changed += sum(finder.find([line for line in lines if not pattern.search(line)]))
        n_lines += len(lines)
        progress(fraction, "counting the lines that change")
    return ChangedLines(n_lines, n_changed)


def _tokenize(
    tokenizer: Tokenizer, names: Sequence[str], lines: Sequence[str]
) -> Iterator[list[str]]:
    """Yield the tokens of each line, without special tokens around it.

    names: the tokens by id. The library shows unknown tokens and added ones as they are in the text.
    """
    for encoding in encode_batch(tokenizer, lines, add_special_tokens=False):
        yield [names[i] for i in encoding.ids]


def _read_lines(corpus: Corpus) -> Iterator[tuple[list[str], float]]:
    """Yield the lines of each passage that are not blank, and the fraction read so far."""
    for passage in corpus.passages():
        lines = [line for line in split_lines(passage.text) if not line.isspace() and line]
        yield lines, passage.fraction
