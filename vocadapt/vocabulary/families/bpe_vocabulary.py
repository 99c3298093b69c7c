"""The vocabulary of all kinds of byte-pair encoding (BPE): tokens and merges. See `bpe`."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from tokenizers import models

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.marked_vocabulary import MarkedVocabulary
from vocadapt.vocabulary.families.merges import Merge, MergeList, keep_merges
from vocadapt.vocabulary.families.tables.leaf_pruning import order_leaf_removals
from vocadapt.vocabulary.vocabulary import (
    NEVER_ONE_WORD,
    SPECIAL,
    Vocabulary,
    WordTable,
)

# Reserved tokens of ModernBERT, Gemma and Llama 3.
RESERVED = re.compile(r"\[unused\d+\]|<unused\d+>|<\|reserved_special_token_\d+\|>")


@dataclass(frozen=True, eq=False, repr=False)
class BpeVocabulary(MarkedVocabulary):
    """A BPE vocabulary.

    merges: pairs of tokens, by rank.
    ignore_merges: whether a pre-token that is an entry is not merged.
    byte_fallback: whether a character without a token is spelled by its bytes.
    fuse_unknown: whether consecutive unknown characters are one unknown token.
    """

    merges: tuple[Merge, ...] = ()
    ignore_merges: bool = False
    byte_fallback: bool = False
    fuse_unknown: bool = False

    def continues(self, token: str) -> bool:
        """Return whether a token has no mark of a word start: "tension"."""
        is_whole = token in self.added or token in self.whole
        return not (is_whole or token.startswith(self.mark))

    def is_symbol(self, token: str) -> bool:
        """Return whether a token is a symbol: pre-tokens consist of symbols before any merge."""
        return len(token) == 1

    def split_symbols(self, text: str) -> list[str]:
        """Return the symbols of a text."""
        return list(text)

    def is_part_of_character(self, token: str) -> bool:
        """Return whether the bytes of a token are not whole characters."""
        return False

    def tokenize(self, pretoken: str) -> tuple[str, ...]:
        """Return the tokens of a pre-token: "Ġhypertension" → ("Ġhyper", "tension")."""
        return tuple(token.value for token in self._model.tokenize(pretoken))

    def tokenize_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """Return the tokens that spell a token."""
        if token in self.added or (self.is_symbol(token) and token in self):
            return (token,)
        if not without or token not in self:
            return self.tokenize(token)
        others = (merge for merge in self.merges if "".join(merge) != token)
        return tuple(MergeList(others).apply(self.split_symbols(token)))

    def build_word_table(self, counts: Mapping[str, float]) -> WordTable:
        """Prepare pre-tokens and their counts for many tokenizations, each without some tokens."""
        from vocadapt.vocabulary.families.tables.merge_table import build_merge_table

        return build_merge_table(
            self.ids,
            self.merges,
            counts,
            self.ignore_merges,
            self.byte_fallback,
            self.ids.get(self.unknown) if self.unknown else None,
        )

    # Reachable tokens

    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this splitter never produces a token; None if it can."""
        if token in self.added:
            return SPECIAL
        if splitter.can_output(token) or (not exact and self.is_part_of_character(token)):
            return None
        return NEVER_ONE_WORD

    def is_merged(self, token: str) -> bool:
        """Return whether merges make a token from its own symbols."""
        if self.is_symbol(token):
            return True
        return [part.value for part in self._merging_model.tokenize(token)] == [token]

    def find_unreachable(
        self, splitter: Splitter, tokens: Iterable[str] | None = None
    ) -> tuple[str, ...]:
        """Return the tokens that the tokenizer produces for no text: merges do not make them from
        their symbols, and they are not looked up as a pre-token either.
        """
        unreachable: list[str] = []
        for token in self.tokens if tokens is None else tokens:
            if token in self.added or self.is_merged(token):
                continue
            if not (self.ignore_merges and splitter.can_output(token)):
                unreachable.append(token)
        return tuple(unreachable)

    def find_unmerged_tokens(self, splitter: Splitter) -> tuple[str, ...]:
        """Return the tokens that can be pre-tokens, but that merges do not make from their symbols:
        with `ignore_merges`, each would be one token.
        """
        return tuple(
            token
            for token in self.tokens
            if token not in self.added and not self.is_merged(token) and splitter.can_output(token)
        )

    def prefers_exact_words(self, splitter: Splitter) -> bool:
        """Return whether a plan of fixed size adds words as exact words instead of inserting them:
        if exact words change no other pre-token. Insertion also needs intermediate tokens.
        """
        return self.ignore_merges or not self.find_unmerged_tokens(splitter)

    # Changes of the vocabulary

    def is_irreplaceable(self, token: str) -> bool:
        """Return whether a token is a symbol: a single character or byte."""
        return self.is_symbol(token)

    def find_single_characters(self, characters: Collection[str] | None = None) -> frozenset[str]:
        """Return the symbols of these characters, and those of bytes."""
        return frozenset(
            token
            for token in self.tokens
            if self.is_symbol(token)
            and (len(token) > 1 or characters is None or token in characters)
        )

    def is_placeholder(self, token: str) -> bool:
        """Return whether a token is reserved for later use: [unused0], <unused0>, …"""
        return RESERVED.fullmatch(token) is not None

    @property
    def reserved_tokens(self) -> tuple[str, ...]:
        """Reserved tokens whose ids new tokens can take, by id: no file of the model names them."""
        reserved = filter(self.is_placeholder, self.tokens)
        return tuple(token for token in reserved if token not in self.named)

    def find_parts(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the tokens from which merges make these tokens, directly or indirectly."""
        found = set[str]()
        pending = list(tokens)
        while pending:
            parts = self._parts_of.get(pending.pop(), ())
            new = [part for part in parts if part not in found]
            found.update(new)
            pending += new
        return frozenset(found)

    @cached_property
    def _parts_of(self) -> dict[str, list[str]]:
        """The parts of all merges that make a token, by token."""
        parts: defaultdict[str, list[str]] = defaultdict(list)
        for left, right in self.merges:
            parts[left + right] += [left, right]
        return dict(parts)

    def order_removals(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens in an order of removal: none before those that are merged from it."""
        symbols = [token for token in tokens if self.is_symbol(token)]
        return order_leaf_removals(self.merges, tokens, self.tokens, symbols)

    def expand_insertions(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return tokens to insert, each after its missing characters and after the intermediate
        tokens of its merges.
        """
        merges = MergeList(self.merges)
        expanded = dict.fromkeys(self.tokens)
        for token in tokens:
            expanded.update(dict.fromkeys(token))
            expanded.update(dict.fromkeys([*merges.append_for(token), token]))
        return tuple(expanded)[len(self.tokens) :]

    def with_tokens(self, tokens: Iterable[str], whole: frozenset[str] | None = None) -> Self:
        """Return the vocabulary with other tokens, by id.

        A new token in `whole` (None: every new token) is an entry without merges. For the others,
        merges are appended that make each from the tokens into which it is split; also for an old
        token that was removed and is added again.
        """
        changed = tuple(tokens)
        known = frozenset(changed)
        if whole is None:
            whole = self.whole.union(known.difference(self.ids))
        whole = whole.intersection(known)
        # 1. Keep the merges of old tokens that keep their place and that merges still make.
        stays = self._list_in_place(changed)
        if not stays.issuperset(self.ids):
            stays -= self._find_broken(stays)
        merges = MergeList(keep_merges(self.merges, stays))
        # 2. Append merges for the others.
        for token in changed:
            if token not in stays and token not in whole:
                merges.append_for(token)
        return replace(
            self,
            tokens=changed,
            special=self.special & known,
            added=self.added & known,
            whole=whole,
            merges=tuple(keep_merges(merges.merges, known)),
            ignore_merges=self.ignore_merges or bool(whole - self.added),
        )

    def _list_in_place(self, tokens: Iterable[str]) -> set[str]:
        """Return the old tokens among `tokens` that do not come after old ones with higher ids."""
        in_place = set[str]()
        last = -1
        for token in tokens:
            i = self.ids.get(token, -1)
            if token in self.added or token in self.whole:
                in_place.add(token)
            elif i > last:
                in_place.add(token)
                last = i
        return in_place

    def _find_broken(self, tokens: set[str]) -> set[str]:
        """Return the tokens that merges make now, but would not make if only `tokens` were kept."""
        ids = {token: i for i, token in enumerate(sorted(tokens))}
        model = models.BPE(ids, keep_merges(self.merges, tokens))
        return {
            token
            for token in tokens
            if not self.is_symbol(token)
            and len(model.tokenize(token)) != 1
            and self.is_merged(token)
        }

    def take_over(self, target: Vocabulary, tokens: tuple[str, ...]) -> Self:
        """Return the vocabulary replaced by the first tokens of another one, with its merges.

        Raises InputError if the target is of another family.
        """
        if not isinstance(target, type(self)):
            raise InputError(
                f"The target's tokens are made by {target.family}, those of the model by"
                f" {self.family}.",
                "Give a target of the same kind of tokenizer.",
                code="other-family",
            )
        known = frozenset(tokens)
        return replace(
            self,
            tokens=tokens,
            special=self.special & known,
            added=self.added.union(target.added) & known,
            whole=target.whole & known,
            merges=tuple(keep_merges(target.merges, known)),
            ignore_merges=target.ignore_merges,
            byte_fallback=target.byte_fallback,
        )

    @cached_property
    def _model(self) -> models.BPE:
        return self._build_model(self.ignore_merges)

    @cached_property
    def _merging_model(self) -> models.BPE:
        return self._build_model(False) if self.ignore_merges else self._model

    def _build_model(self, ignore_merges: bool) -> models.BPE:
        options: dict[str, Any] = {}
        if self.unknown and self.unknown in self.ids:
            options["unk_token"] = self.unknown
        return models.BPE(
            self.ids,
            list(self.merges),
            ignore_merges=ignore_merges,
            byte_fallback=self.byte_fallback,
            fuse_unk=self.fuse_unknown,
            **options,
        )
