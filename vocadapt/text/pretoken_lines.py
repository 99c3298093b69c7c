"""Find the lines of a text that contain given pre-tokens.

If lines can be divided exactly (`line_division`), each distinct part is checked only once.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from tokenizers import Tokenizer

from vocadapt.text.line_division import CONTEXT, find_boundary
from vocadapt.text.splitter import MINIMAL_SPEC, Splitter
from vocadapt.text.tokenization import encode_batch

OTHER = ""  # entry for all other pre-tokens, which are never empty
MAX_PARTS = 500_000  # distinct parts in memory


class PretokenFinder:
    """Finds the lines that contain one of the given pre-tokens."""

    def __init__(self, splitter: Splitter, pretokens: Collection[str]) -> None:
        self.splitter = splitter
        self.pretokens = frozenset(pretokens)
        self.boundary = find_boundary(splitter)
        # Whether a part has one of the pre-tokens, at the start of a line and after a boundary.
        self.firsts: dict[str, bool] = {}
        self.others: dict[str, bool] = {}

    def find(self, lines: Sequence[str]) -> list[bool]:
        """Return whether each line contains one of the pre-tokens."""
        if not self.pretokens:
            return [False] * len(lines)
        if self.splitter.never_crosses_whitespace:  # plain lines are split by a fast expression
            return [not self.pretokens.isdisjoint(self.splitter.words(line)) for line in lines]
        if self.boundary is None:
            return self._check(lines)
        # 1. Divide the lines, and check the parts that are new.
        divided = [self.boundary.split(line) for line in lines]
        self._check_new(self.firsts, {parts[0] for parts in divided})
        self._check_new(self.others, {part for parts in divided for part in parts[1:]}, CONTEXT)
        # 2. A line has a pre-token if one of its parts has.
        return [
            self.firsts[first] or any(map(self.others.__getitem__, others))
            for first, *others in divided
        ]

    def _check_new(self, known: dict[str, bool], parts: Iterable[str], context: str = "") -> None:
        """Check the parts that are not known yet; each is split after the context."""
        if len(known) > MAX_PARTS:
            known.clear()
        new = [part for part in parts if part not in known]
        n_context = len(self.splitter.pretokens(context.strip()))
        found = self._check([context + part for part in new], n_context)
        known.update(zip(new, found, strict=True))

    def _check(self, texts: Sequence[str], n_context: int = 0) -> list[bool]:
        """Return whether each text has one of the pre-tokens after its first `n_context`."""
        encoded = encode_batch(self._tokenizer, texts, add_special_tokens=False)
        return [any(one.ids[n_context:]) for one in encoded]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """A tokenizer with this splitter, in which the given pre-tokens have ids above 0, and all
        others the id 0. It splits the texts of a block in parallel.
        """
        ids = {OTHER: 0} | {pretoken: 1 + i for i, pretoken in enumerate(sorted(self.pretokens))}
        spec = MINIMAL_SPEC | {
            "normalizer": json.loads(self.splitter.normalizer),
            "pre_tokenizer": json.loads(self.splitter.pre_tokenizer),
            "model": {"type": "WordLevel", "unk_token": OTHER, "vocab": ids},
        }
        return Tokenizer.from_str(json.dumps(spec))
