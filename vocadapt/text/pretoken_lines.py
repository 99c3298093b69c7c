"""Find the lines of a text that contain some pre-tokens."""

import json
from collections.abc import Collection, Sequence
from functools import cached_property

from tokenizers import Tokenizer

from vocadapt.text.splitter import MINIMAL_SPEC, Splitter
from vocadapt.text.tokenization import encode_batch

OTHER = ""  # stands for all other pre-tokens: none is empty


class PretokenFinder:
    """Finds the lines that contain one of some pre-tokens, exactly."""

    def __init__(self, splitter: Splitter, pretokens: Collection[str]) -> None:
        self.splitter = splitter
        self.pretokens = frozenset(pretokens)

    def find(self, lines: Sequence[str]) -> list[bool]:
        """Return whether each line contains one of the pre-tokens."""
        if not self.pretokens:
            return [False] * len(lines)
        if self.splitter.never_crosses_whitespace:  # plain lines are split by a fast expression
            return [not self.pretokens.isdisjoint(self.splitter.words(line)) for line in lines]
        encoded = encode_batch(self._tokenizer, lines, add_special_tokens=False)
        return [any(one.ids) for one in encoded]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """A tokenizer with this splitter, for which each of the pre-tokens has an id above 0 and
        all others have 0. It splits all lines of a block in parallel.
        """
        ids = {OTHER: 0} | {pretoken: 1 + i for i, pretoken in enumerate(sorted(self.pretokens))}
        spec = MINIMAL_SPEC | {
            "normalizer": json.loads(self.splitter.normalizer),
            "pre_tokenizer": json.loads(self.splitter.pre_tokenizer),
            "model": {"type": "WordLevel", "unk_token": OTHER, "vocab": ids},
        }
        return Tokenizer.from_str(json.dumps(spec))
