"""What the vocabularies and tokenizers of all kinds of byte-pair encoding (BPE) have in common.

A pre-token is divided into symbols, and merges join them to tokens (`merges`). There are two ways to
add a token:

- as an *exact word*: an entry of the vocabulary without merges. With the setting `ignore_merges`, a
  pre-token that is an entry is not merged at all, so no other pre-token changes;
- by *insertion*: merges are appended that make it from the tokens that spell it now. It may also
  match in other pre-tokens.

Example: Ġhypertension is Ġhyper tension. As an exact word it gets an entry; by insertion it gets an
entry and the merge (Ġhyper, tension).
"""

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tokenizers import AddedToken, Tokenizer, models, processors

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.family import TokenizerFamily
from vocadapt.vocabulary.families.leaf_pruning import order_leaf_removals
from vocadapt.vocabulary.families.merges import Merge, MergeList, keep_merges
from vocadapt.vocabulary.families.tokenizer_checks import (
    BYTE_TOKENS,
    Json,
    UnfitError,
    check_merges,
    check_vocabulary,
)
from vocadapt.vocabulary.families.tokenizer_json import (
    from_json,
    list_tokens,
    renumber_special,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.families.vocabulary import (
    NEVER_ONE_WORD,
    SPECIAL,
    Vocabulary,
    WordTable,
)
from vocadapt.vocabulary.families.wordpiece_training import Pieces, Trainer, merge_best_pairs

# Reserved tokens of ModernBERT, Gemma and Llama 3.
RESERVED = re.compile(r"\[unused\d+\]|<unused\d+>|<\|reserved_special_token_\d+\|>")
MAX_NAMED = 3  # tokens that a message lists
MIN_COUNT = 2  # a pair that occurs only once is never merged
# Those of RoBERTa, by role.
SPECIAL_TOKENS = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
TRAINER = Trainer(
    lambda pair, left, right: pair,
    "the most frequent pair of the model's tokens is merged first",
    "f(t1 t2)",
    "Sennrich et al. 2016",
)


@dataclass(frozen=True, eq=False)
class BpeVocabulary(Vocabulary):
    """A BPE vocabulary.

    merges: by rank. added: tokens that are matched before pre-tokenization, special ones included.
    ignore_merges: whether a pre-token that is an entry is not merged.
    byte_fallback: whether a character without a token is spelled by its bytes.
    fuse_unknown: whether consecutive unknown characters are one unknown token.
    """

    merges: tuple[Merge, ...] = ()
    added: frozenset[str] = frozenset()
    ignore_merges: bool = False
    byte_fallback: bool = False
    fuse_unknown: bool = False

    def is_symbol(self, token: str) -> bool:
        """Return whether a token is one that pre-tokens consist of before any merge."""
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
        if not without:
            return self.tokenize(token)
        others = (merge for merge in self.merges if "".join(merge) != token)
        return tuple(MergeList(others).apply(self.split_symbols(token)))

    def build_token_table(self, weights: Mapping[str, float]) -> WordTable:
        """Prepare a text that contains each of some tokens alone, with a weight."""
        return self.build_word_table(weights)

    def build_word_table(
        self, counts: Mapping[str, float], continuations: Mapping[str, float] | None = None
    ) -> WordTable:
        """Prepare pre-tokens and their counts for many tokenizations without some of the tokens."""
        from vocadapt.vocabulary.families.merge_table import build_merge_table

        return build_merge_table(
            self.ids,
            self.merges,
            counts,
            continuations,
            self.ignore_merges,
            self.byte_fallback,
            self.ids.get(self.unknown) if self.unknown else None,
        )

    # Reachable tokens

    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this vocabulary and splitter can never produce a token; None
        if it can.
        """
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
        """Return the tokens that no text can produce: merges do not make them from their symbols, and
        they are not looked up as a pre-token either.
        """
        unreachable: list[str] = []
        for token in self.tokens if tokens is None else tokens:
            if token in self.added or self.is_merged(token):
                continue
            if not (self.ignore_merges and splitter.can_output(token)):
                unreachable.append(token)
        return tuple(unreachable)

    # Changes of the vocabulary

    def is_irreplaceable(self, token: str) -> bool:
        """Return whether a token is a symbol: a single character or byte."""
        return self.is_symbol(token)

    def find_single_characters(self, characters: Collection[str] | None = None) -> frozenset[str]:
        """Return the symbols of some characters, and those of bytes."""
        return frozenset(
            token
            for token in self.tokens
            if self.is_symbol(token)
            and (len(token) > 1 or characters is None or token in characters)
        )

    def is_placeholder(self, token: str) -> bool:
        """Return whether a token is reserved for users of the model: [unused0], <unused0>, …"""
        return RESERVED.fullmatch(token) is not None

    @property
    def reserved(self) -> tuple[str, ...]:
        """Placeholders whose ids new tokens can take, by id."""
        return tuple(filter(self.is_placeholder, self.tokens))

    def find_parts(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the tokens that merges of some tokens need, directly or indirectly."""
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
        """The parts of all merges that make each token."""
        parts: defaultdict[str, list[str]] = defaultdict(list)
        for left, right in self.merges:
            parts[left + right] += [left, right]
        return dict(parts)

    def order_removals(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens in the order in which they can be removed: none before the tokens that
        are merged from it.
        """
        symbols = [token for token in tokens if self.is_symbol(token)]
        return order_leaf_removals(self.merges, tokens, self.tokens, symbols)

    def expand_insertions(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return tokens to insert, each after its characters that are no tokens, and the tokens that
        its merges make first.
        """
        merges, expanded = MergeList(self.merges), dict.fromkeys(self.tokens)
        for token in tokens:
            expanded.update(dict.fromkeys(token))
            expanded.update(dict.fromkeys([*merges.append_for(token), token]))
        return tuple(expanded)[len(self.tokens) :]

    def with_tokens(self, tokens: Iterable[str], whole: frozenset[str] | None = None) -> Self:
        """Return the vocabulary with other tokens, by id.

        A new token in `whole` (None: every new token) is an entry without merges; merges are
        appended for the others, from the tokens that spell them. So they are for an old token that
        was removed and is added again.
        """
        changed = tuple(tokens)
        known = frozenset(changed)
        if whole is None:
            whole = self.whole.intersection(known).union(known.difference(self.ids))
        # 1. Keep the merges of old tokens that stay in place and are made as before.
        stays = self._list_in_place(changed)
        if not stays.issuperset(self.ids):
            stays -= self._find_broken(stays)
        merges = MergeList(keep_merges(self.merges, stays))
        # 2. Append those of the others.
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
        """Return the old tokens among some that do not come after others with higher ids."""
        in_place, last = set[str](), -1
        for token in tokens:
            i = self.ids.get(token, -1)
            if token in self.added or token in self.whole:
                in_place.add(token)
            elif i > last:
                in_place.add(token)
                last = i
        return in_place

    def _find_broken(self, tokens: set[str]) -> set[str]:
        """Return the tokens that merges make, but not if there are these tokens alone."""
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
        """Return the first tokens of another vocabulary, with its merges.

        Raises InputError if it has none.
        """
        if not isinstance(target, type(self)):
            raise InputError(
                f"The target's tokens are made by {target.family}, those of the model by"
                f" {self.family}.",
                "Give a target of the same kind of tokenizer.",
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
    def _undivided(self) -> frozenset[str]:
        return self.added | self.whole

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


class BpeFamily(TokenizerFamily):
    """A kind of BPE tokenizers.

    special_tokens: those of a tokenizer that is trained from scratch, by role, in the order of ids.
    """

    trainers: Mapping[str, Trainer] = {}
    special_tokens: Mapping[str, str] = SPECIAL_TOKENS

    def check_model(self, model: Json) -> dict[str, int]:
        """Check the model of a tokenizer.json; return its ids by token."""
        ids = check_vocabulary(model)
        check_merges(model, ids)
        missing = [token for token in BYTE_TOKENS if token not in ids]
        if model.get("byte_fallback") and missing:
            raise UnfitError(
                f"byte fallback needs the token {missing[0]}, which the vocabulary lacks"
            )
        return ids

    @abstractmethod
    def read_vocabulary(self, tokenizer: Tokenizer) -> BpeVocabulary:
        """Return the vocabulary of a tokenizer."""

    def read_fields(self, tokenizer: Tokenizer) -> dict[str, Any]:
        """Return the fields of the vocabulary of a tokenizer; entries without merges match whole
        pre-tokens.
        """
        model = to_json(tokenizer)["model"]
        merges = tuple((left, right) for left, right in model["merges"])
        special, _ = split_added_tokens(tokenizer)
        added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
        whole = frozenset(added - special)
        if model["ignore_merges"]:
            made = {left + right for left, right in merges}
            whole |= {
                token
                for token in model["vocab"]
                if len(token) > 1 and token not in made and token not in added
            }
        return {
            "tokens": list_tokens(tokenizer),
            "special": special,
            "whole": whole,
            "unknown": model["unk_token"] or "",
            "merges": merges,
            "added": frozenset(added),
            "ignore_merges": model["ignore_merges"],
            "byte_fallback": model["byte_fallback"],
            "fuse_unknown": model["fuse_unk"],
        }

    # Edit

    def check_exact_words(self, tokenizer: Tokenizer) -> None:
        """Raise InputError if `ignore_merges` would change how old tokens are made."""
        vocabulary = self.read_vocabulary(tokenizer)
        if not vocabulary.ignore_merges:
            _refuse_unmade_tokens(vocabulary, self.make_splitter(tokenizer))

    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole pre-token, is one token with the next
        free id: an entry without merges.

        Raises InputError if `ignore_merges` would change how old tokens are made, and for tokens
        that are there already.
        """
        content, vocabulary = _list_all_entries(tokenizer), self.read_vocabulary(tokenizer)
        refuse_known_tokens(vocabulary, tokens)
        self.check_exact_words(tokenizer)
        _append_entries(content, tokens, len(vocabulary))
        content["model"]["ignore_merges"] = True
        return from_json(content)

    def insert_tokens(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy with `tokens`, the next free ids, and merges that make them, after the old
        ones.

        Raises InputError for tokens that are there already, and if the tokens from which merges make
        the new ones are not among them (see `expand_insertions`).
        """
        content, vocabulary = _list_all_entries(tokenizer), self.read_vocabulary(tokenizer)
        refuse_known_tokens(vocabulary, tokens)
        lacking = set(vocabulary.expand_insertions(tokens)) - set(tokens)
        if lacking:
            raise InputError(
                f"Merges make the new tokens from {len(lacking):,} others that are not among them"
                f" ({name_tokens(sorted(lacking))}).",
                "Insert these too.",
            )
        changed = vocabulary.with_tokens([*vocabulary.tokens, *tokens], vocabulary.whole)
        _append_entries(content, tokens, len(vocabulary))
        content["model"]["merges"] = list(map(list, changed.merges))
        return from_json(content)

    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens, ids and merges; normalizer, pre-tokenizer and template
        are kept.
        """
        assert isinstance(vocabulary, BpeVocabulary)
        content, ids = to_json(tokenizer), vocabulary.ids
        content["model"]["vocab"] = ids
        content["model"]["merges"] = list(map(list, vocabulary.merges))
        content["model"]["ignore_merges"] = vocabulary.ignore_merges
        content["model"]["byte_fallback"] = vocabulary.byte_fallback
        kept = [token for token in content["added_tokens"] if token["content"] in ids]
        renumbered = [{**token, "id": ids[token["content"]]} for token in kept]
        content["added_tokens"] = sorted(renumbered, key=lambda token: int(token["id"]))
        renumber_special(content["post_processor"], ids)
        return from_json(content)

    # Train

    @abstractmethod
    def list_first_tokens(self, counts: Mapping[str, int]) -> list[str]:
        """Return the tokens of a trained vocabulary before any merge, special tokens first.

        counts: distinct pre-tokens of the text with their counts.
        """

    def generate_tokens(
        self, vocabulary: Vocabulary, counts: Mapping[str, int], trainer: str
    ) -> Iterator[str]:
        """Generate tokens by continued BPE: the tokens of the text under the vocabulary are merged
        further, the most frequent pair first.
        """
        self.check_trainer(trainer)
        assert isinstance(vocabulary, BpeVocabulary)
        runs: list[list[str]] = []
        run_counts: list[int] = []
        for pretoken, count in counts.items():
            for run in _split_at_bytes(vocabulary, vocabulary.tokenize(pretoken)):
                runs.append(run)
                run_counts.append(count)
        pieces = Pieces(runs, run_counts)
        return merge_best_pairs(pieces, self.trainers[trainer].score, MIN_COUNT, False)

    def train(
        self, counts: Mapping[str, int], size: int, trainer: str, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Train a vocabulary of at most `size` tokens: special tokens, symbols, merges."""
        self.check_trainer(trainer)
        tokens = dict.fromkeys(self.list_first_tokens(counts))
        if size < len(tokens):
            raise InputError(
                f"A vocabulary of {size:,} tokens is too small for the {len(tokens):,} special tokens"
                " and bytes.",
                f"Choose a size of {len(tokens):,} or more.",
            )
        pieces = Pieces([list(pretoken) for pretoken in counts], list(counts.values()))
        for token in merge_best_pairs(pieces, self.trainers[trainer].score, MIN_COUNT, False):
            if len(tokens) == size:
                break
            tokens[token] = None
            progress(len(tokens) / size, f"{len(tokens):,} of {size:,} tokens")
        return tuple(tokens)

    @abstractmethod
    def build_empty_tokenizer(self, lowercase: bool) -> Tokenizer:
        """Build a tokenizer of this family without tokens."""

    def make_training_splitter(self, lowercase: bool) -> Splitter:
        """Return the splitter of the tokenizers that `build` makes."""
        return self.make_splitter(self.build_empty_tokenizer(lowercase))

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build a tokenizer over trained tokens, with the template of RoBERTa."""
        merged = [token for token in tokens if token not in BYTE_TOKENS]
        content = to_json(self.build_empty_tokenizer(lowercase))
        content["model"]["vocab"] = ids = {token: i for i, token in enumerate(tokens)}
        content["model"]["merges"] = build_merges(merged[len(self.special_tokens) :])
        tokenizer = from_json(content)
        tokenizer.add_special_tokens(
            [AddedToken(token, special=True) for token in self.special_tokens.values()]
        )
        sep, cls = self.special_tokens["sep"], self.special_tokens["cls"]
        tokenizer.post_processor = processors.RobertaProcessing(
            (sep, ids[sep]), (cls, ids[cls]), add_prefix_space=False
        )
        return tokenizer

    def save(self, tokens: tuple[str, ...], lowercase: bool, max_length: int, folder: Path) -> None:
        """Write a tokenizer over trained tokens into a model folder."""
        from transformers import PreTrainedTokenizerFast

        roles = {f"{role}_token": token for role, token in self.special_tokens.items()}
        PreTrainedTokenizerFast(
            tokenizer_object=self.build(tokens, lowercase), model_max_length=max_length, **roles
        ).save_pretrained(folder)


def _split_at_bytes(vocabulary: BpeVocabulary, tokens: Iterable[str]) -> list[list[str]]:
    """Split tokens into runs without byte tokens such as <0xE2> and unknown tokens, which cannot be
    parts of merges.
    """
    runs: list[list[str]] = [[]]
    for token in tokens:
        is_byte = len(token) > 1 and vocabulary.is_symbol(token)
        if is_byte or token == vocabulary.unknown:
            runs.append([])
        else:
            runs[-1].append(token)
    return [run for run in runs if run]


def build_merges(tokens: Iterable[str]) -> list[Merge]:
    """Return the merges that make trained tokens, each from those before it."""
    merges = MergeList(())
    for token in tokens:
        merges.append_for(token)
    return merges.merges


def name_tokens(tokens: Sequence[str]) -> str:
    """Return the first tokens of a list, for a message."""
    return ", ".join(map(repr, tokens[:MAX_NAMED]))


def refuse_known_tokens(vocabulary: Vocabulary, tokens: Sequence[str]) -> None:
    """Raise InputError if new tokens are in the vocabulary already, or occur twice: a token would
    get a second id.
    """
    known = [token for token in tokens if token in vocabulary]
    if known:
        raise InputError(
            f"{len(known):,} of {len(tokens):,} new tokens are in the vocabulary already"
            f" ({name_tokens(known)}).",
            "Leave them out.",
        )
    if len(set(tokens)) < len(tokens):
        repeated = [token for i, token in enumerate(tokens) if token in tokens[:i]]
        raise InputError(f"New tokens are repeated ({name_tokens(repeated)}).", "Leave them out.")


def _refuse_unmade_tokens(vocabulary: BpeVocabulary, splitter: Splitter) -> None:
    """Raise InputError if an old token that is a pre-token is not made from its own symbols: with
    `ignore_merges` it would be one token from now on.
    """
    unmade = [
        token
        for token in vocabulary.tokens
        if token not in vocabulary.added
        and not vocabulary.is_merged(token)
        and splitter.can_output(token)
    ]
    if unmade:
        raise InputError(
            f"{len(unmade):,} tokens of the model are never produced by its merges"
            f" ({name_tokens(unmade)}), and adding exact words would change that.",
            "Insert the words into the vocabulary instead (tokenizer mode insertion).",
        )


def _list_all_entries(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the tokenizer as JSON, with every id among the entries of the model.

    The library numbers an added token that is no entry after the entries, wherever it stood before.
    """
    content = to_json(tokenizer)
    content["model"]["vocab"] = {token: i for i, token in enumerate(list_tokens(tokenizer))}
    return content


def _append_entries(content: dict[str, Any], tokens: Sequence[str], first: int) -> None:
    """Add entries with the ids from `first` on."""
    content["model"]["vocab"].update({token: first + i for i, token in enumerate(tokens)})
