"""Byte-level BPE: the tokenizers of RoBERTa, ModernBERT, GPT-2, Llama 3 and Qwen.

A regular expression splits a text into pre-tokens. Each byte is spelled by a printable character, a
space by Ġ, and merges join the characters: " hypertension" → Ġhypertension → Ġhyper tension. A token
with Ġ starts a word. One without is inside a word, or at its start if no space comes before it.

A word becomes one token, and no other pre-token changes, by an entry of the vocabulary without merges
and the setting `ignore_merges`: a pre-token that is an entry is not merged at all. The forms of a
word (Ġword, word, ĠWord, …) are different pre-tokens, so each of them needs an entry.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.family import TokenizerFamily
from vocadapt.vocabulary.families.merges import Merge, MergeList, keep_merges
from vocadapt.vocabulary.families.tokenizer_checks import Json, check_merges, check_vocabulary
from vocadapt.vocabulary.families.tokenizer_json import (
    from_json,
    join_pre_tokenizers,
    list_parts,
    list_tokens,
    renumber_special,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.families.vocabulary import (
    NEVER_ONE_WORD,
    SPECIAL,
    Notation,
    Vocabulary,
    WordTable,
)
from vocadapt.vocabulary.families.wordpiece_training import Pieces, Trainer, merge_best_pairs

SPACE = "Ġ"
# The regular expression of GPT-2, which the pre-tokenizer ByteLevel applies.
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MAX_NAMED = 3  # tokens that a message lists
# Special tokens of a tokenizer that is trained from scratch, by role, as in RoBERTa.
SPECIAL_TOKENS = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
TRAINER = "byte-level-bpe"
MIN_COUNT = 2  # a pair that occurs only once is never merged


def build_byte_alphabet() -> str:
    """Return the character that spells each of the 256 bytes (Radford et al. 2019).

    Printable characters of Latin-1 spell themselves; the n-th of the others is spelled by 256 + n.
    """
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    codes = {byte: 256 + n for n, byte in enumerate(others)}
    return "".join(chr(codes.get(byte, byte)) for byte in range(256))


BYTE_ALPHABET = build_byte_alphabet()


def spell_bytes(text: str) -> str:
    """Return the spelling of a text: " naïve" → "ĠnaÃ¯ve"."""
    return "".join(BYTE_ALPHABET[byte] for byte in text.encode("utf-8", errors="replace"))


@dataclass(frozen=True, eq=False)
class ByteLevelVocabulary(Vocabulary):
    """A byte-level BPE vocabulary.

    merges: by rank. added: tokens that are matched before pre-tokenization, special ones included.
    """

    family = "byte-level-bpe"
    merges: tuple[Merge, ...] = ()
    added: frozenset[str] = frozenset()

    @property
    def notation(self) -> Notation:
        """Starts of words are marked."""
        return Notation(word_start=SPACE)

    @property
    def continuation_name(self) -> str:
        """What continuations are called in a message."""
        return f"tokens without {SPACE}"

    def continues(self, token: str) -> bool:
        """Return whether a token has no Ġ: "tension"."""
        return not token.startswith(SPACE) and token not in self._undivided

    def read(self, pretoken: str) -> str:
        """Return the text of a pre-token without the space before it: "ĠnaÃ¯ve" → "naïve"."""
        return self._reader.read_pretoken(pretoken).removeprefix(" ")

    def body(self, token: str) -> str:
        """Return the text of a token without the space before it: "Ġnaïve" → "naïve".

        A byte that is no whole character is written \\xe2.
        """
        return token if token in self.added else self.read(token)

    def spell(self, body: str, continues: bool = False) -> str:
        """Return the token with this text after a space, or without one: "tension" → "Ġtension"."""
        return spell_bytes(body if continues else f" {body}")

    def find_form(self, pretoken: str, words: Sequence[str]) -> str | None:
        """Return the token that a pre-token of a single word would be: the pre-token itself."""
        return pretoken if len(words) == 1 else None

    def fold_word(self, word: str) -> str:
        """Return what the forms of a word have in common: its spelling in lower case."""
        return word.lower()

    def tokenize(self, pretoken: str) -> tuple[str, ...]:
        """Return the tokens of a pre-token: "Ġhypertension" → ("Ġhyper", "tension")."""
        return tuple(token.value for token in self._bpe.tokenize(pretoken))

    def tokenize_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """Return the tokens that spell a token."""
        if token in self.added:
            return (token,)
        if not without:
            return self.tokenize(token)
        others = (merge for merge in self.merges if "".join(merge) != token)
        return tuple(MergeList(others).apply(token))

    def build_token_table(self, weights: Mapping[str, float]) -> WordTable:
        """Prepare a text that contains each of some tokens alone, with a weight."""
        return self.build_word_table(weights)

    def build_word_table(
        self, counts: Mapping[str, float], continuations: Mapping[str, float] | None = None
    ) -> WordTable:
        """Prepare pre-tokens and their counts for many tokenizations without some of the tokens."""
        from vocadapt.vocabulary.families.merge_table import build_merge_table

        return build_merge_table(
            self.ids, self.merges, counts, continuations, bool(self.whole - self.added)
        )

    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this vocabulary and splitter can never produce a token; None
        if it can.
        """
        if token in self.added:
            return SPECIAL
        if splitter.can_output(token) or (not exact and _is_part_of_character(token)):
            return None
        return NEVER_ONE_WORD

    def find_unreachable(
        self, splitter: Splitter, tokens: Iterable[str] | None = None
    ) -> tuple[str, ...]:
        """Return the tokens that no text can produce: merges never make them from their characters,
        or they are an entry that the pre-tokenizer never outputs.
        """
        unreachable: list[str] = []
        for token in self.tokens if tokens is None else tokens:
            if token in self.added:
                continue
            is_made = self.tokenize(token) == (token,)
            if not is_made or (token in self.whole and not splitter.can_output(token)):
                unreachable.append(token)
        return tuple(unreachable)

    def is_irreplaceable(self, token: str) -> bool:
        """Return whether a token spells a single byte."""
        return len(token) == 1

    def find_parts(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the tokens that merges of some tokens need, directly or indirectly."""
        parts_of: defaultdict[str, list[str]] = defaultdict(list)
        for left, right in self.merges:
            parts_of[left + right] += [left, right]
        found = set[str]()
        pending = list(tokens)
        while pending:
            new = [part for part in parts_of[pending.pop()] if part not in found]
            found.update(new)
            pending += new
        return frozenset(found)

    def order_removals(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens in the order in which they can be removed: none before the tokens that
        are merged from it.
        """
        from vocadapt.vocabulary.families.leaf_pruning import order_leaf_removals

        return order_leaf_removals(self.merges, tokens, self.tokens)

    def expand_insertions(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return tokens to insert, each after the tokens that its merges make first."""
        merges, expanded = MergeList(self.merges), dict.fromkeys(self.tokens)
        for token in tokens:
            expanded.update(dict.fromkeys([*merges.append_for(token), token]))
        return tuple(expanded)[len(self.tokens) :]

    def with_tokens(self, tokens: Iterable[str], whole: frozenset[str] | None = None) -> Self:
        """Return the vocabulary with other tokens, by id.

        A new token in `whole` (None: every new token) is an entry without merges; merges are
        appended for the others, from the tokens that spell them.
        """
        changed = tuple(tokens)
        known = frozenset(changed)
        new = [token for token in changed if token not in self.ids]
        if whole is None:
            whole = self.whole.intersection(known).union(new)
        merges = MergeList(keep_merges(self.merges, known))
        for token in new:
            if token not in whole:
                merges.append_for(token)
        return replace(
            self,
            tokens=changed,
            special=self.special & known,
            added=self.added & known,
            whole=whole,
            merges=tuple(merges.merges),
        )

    def take_over(self, target: Vocabulary, tokens: tuple[str, ...]) -> Self:
        """Return the first tokens of another vocabulary, with its merges."""
        assert isinstance(target, ByteLevelVocabulary)
        known = frozenset(tokens)
        return replace(
            self,
            tokens=tokens,
            special=self.special & known,
            added=self.added.union(target.added) & known,
            whole=target.whole & known,
            merges=tuple(keep_merges(target.merges, known)),
        )

    @cached_property
    def _undivided(self) -> frozenset[str]:
        return self.added | self.whole

    @cached_property
    def _reader(self) -> Splitter:
        return Splitter("null", "null", "null", SPACE, BYTE_ALPHABET)

    @cached_property
    def _bpe(self) -> models.BPE:
        entries = {token: i for token, i in self.ids.items() if token not in self.added}
        return models.BPE(entries, list(self.merges), ignore_merges=bool(self.whole - self.added))


class ByteLevelFamily(TokenizerFamily):
    """The byte-level BPE tokenizers."""

    name = "byte-level-bpe"
    title = "byte-level BPE (RoBERTa, ModernBERT, GPT-2)"
    trainers: Mapping[str, Trainer] = {
        TRAINER: Trainer(
            lambda pair, left, right: pair,
            "the most frequent pair of the model's tokens is merged first",
            "f(t1 t2)",
            "Sennrich et al. 2016; Radford et al. 2019",
        )
    }

    def recognizes(self, content: Json) -> bool:
        """Return whether the model of a tokenizer is BPE over spelled bytes."""
        model = content["model"]
        if model.get("type", "BPE" if "merges" in model else "") != "BPE":
            return False
        parts = (content.get("normalizer"), content.get("pre_tokenizer"), content.get("decoder"))
        return any(
            one.get("type") == "ByteLevel"
            for part in parts
            if part is not None
            for one in list_parts(part)
        )

    def check_model(self, model: Json) -> dict[str, int]:
        """Check the model of a tokenizer.json; return its ids by token."""
        ids = check_vocabulary(model)
        check_merges(model, ids)
        return ids

    def read_vocabulary(self, tokenizer: Tokenizer) -> ByteLevelVocabulary:
        """Return the vocabulary of a tokenizer; entries without merges match whole pre-tokens."""
        model = to_json(tokenizer)["model"]
        merges = tuple((left, right) for left, right in model["merges"])
        special, _ = split_added_tokens(tokenizer)
        added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
        whole = frozenset(added - special)
        if model["ignore_merges"]:
            whole |= _find_entries_without_merges(model["vocab"], merges, added)
        return ByteLevelVocabulary(
            list_tokens(tokenizer),
            special=special,
            whole=whole,
            unknown=model["unk_token"] or "",
            merges=merges,
            added=frozenset(added),
        )

    def make_splitter(self, tokenizer: Tokenizer) -> Splitter:
        """Return the splitter of a tokenizer."""
        content = json.loads(_without_model(tokenizer))
        parts: list[Mapping[str, Any]] = []
        for part in list_parts(content["pre_tokenizer"] or {"type": "ByteLevel"}):
            if part["type"] != "ByteLevel":
                parts.append(part)
            elif part.get("use_regex", True):
                pattern = {"type": "Split", "pattern": {"Regex": PATTERN}}
                parts.append({**pattern, "behavior": "Isolated", "invert": False})
        return Splitter(
            json.dumps(content["normalizer"], sort_keys=True),
            json.dumps(content["pre_tokenizer"], sort_keys=True),
            join_pre_tokenizers(parts),
            SPACE,
            BYTE_ALPHABET,
        )

    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole pre-token, is one token with the next
        free id: an entry without merges.

        Raises InputError if `ignore_merges` would change how old tokens are made.
        """
        content, vocabulary = _list_all_entries(tokenizer), self.read_vocabulary(tokenizer)
        if not content["model"]["ignore_merges"]:
            _refuse_unmade_tokens(vocabulary, self.make_splitter(tokenizer))
        _append_entries(content, tokens, len(vocabulary))
        content["model"]["ignore_merges"] = True
        return from_json(content)

    def insert_tokens(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy with `tokens`, the next free ids, and merges that make them, after the old
        ones.
        """
        content, vocabulary = _list_all_entries(tokenizer), self.read_vocabulary(tokenizer)
        changed = vocabulary.with_tokens([*vocabulary.tokens, *tokens], vocabulary.whole)
        _append_entries(content, tokens, len(vocabulary))
        content["model"]["merges"] = list(map(list, changed.merges))
        return from_json(content)

    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens, ids and merges; normalizer, pre-tokenizer and template
        are kept.
        """
        assert isinstance(vocabulary, ByteLevelVocabulary)
        content, ids = to_json(tokenizer), vocabulary.ids
        content["model"]["vocab"] = ids
        content["model"]["merges"] = list(map(list, vocabulary.merges))
        if vocabulary.whole - vocabulary.added:
            content["model"]["ignore_merges"] = True
        content["added_tokens"] = sorted(
            (
                {**token, "id": ids[token["content"]]}
                for token in content["added_tokens"]
                if token["content"] in ids
            ),
            key=lambda token: int(token["id"]),
        )
        renumber_special(content["post_processor"], ids)
        return from_json(content)

    # Train

    def make_training_splitter(self, lowercase: bool) -> Splitter:
        """Return the splitter of the tokenizers that `build` makes."""
        return self.make_splitter(_build_empty_tokenizer(lowercase))

    def generate_tokens(
        self, vocabulary: Vocabulary, counts: Mapping[str, int], trainer: str
    ) -> Iterator[str]:
        """Generate tokens by continued BPE: the tokens of the text under the vocabulary are merged
        further, the most frequent pair first.
        """
        self.check_trainer(trainer)
        pretokens = [list(vocabulary.tokenize(pretoken)) for pretoken in counts]
        pieces = Pieces(pretokens, list(counts.values()))
        return merge_best_pairs(pieces, self.trainers[trainer].score, MIN_COUNT, False)

    def train(
        self, counts: Mapping[str, int], size: int, trainer: str, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Train a vocabulary of at most `size` tokens: special tokens, the 256 bytes, merges."""
        self.check_trainer(trainer)
        tokens = dict.fromkeys([*SPECIAL_TOKENS.values(), *sorted(BYTE_ALPHABET)])
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

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build a tokenizer over trained tokens, with the template of RoBERTa."""
        merges = MergeList(())
        for token in tokens[len(SPECIAL_TOKENS) :]:
            merges.append_for(token)
        ids = {token: i for i, token in enumerate(tokens)}
        tokenizer = _build_empty_tokenizer(lowercase)
        tokenizer.model = models.BPE(ids, merges.merges)
        tokenizer.add_special_tokens(
            [AddedToken(token, special=True) for token in SPECIAL_TOKENS.values()]
        )
        sep, cls = SPECIAL_TOKENS["sep"], SPECIAL_TOKENS["cls"]
        tokenizer.post_processor = processors.RobertaProcessing(
            (sep, ids[sep]), (cls, ids[cls]), add_prefix_space=False
        )
        return tokenizer

    def save(self, tokens: tuple[str, ...], lowercase: bool, max_length: int, folder: Path) -> None:
        """Write a tokenizer over trained tokens into a model folder."""
        from transformers import PreTrainedTokenizerFast

        roles = {f"{role}_token": token for role, token in SPECIAL_TOKENS.items()}
        PreTrainedTokenizerFast(
            tokenizer_object=self.build(tokens, lowercase), model_max_length=max_length, **roles
        ).save_pretrained(folder)


def _build_empty_tokenizer(lowercase: bool) -> Tokenizer:
    """Build a tokenizer of this family without tokens."""
    tokenizer = Tokenizer(models.BPE())
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _without_model(tokenizer: Tokenizer) -> str:
    """Return normalizer and pre-tokenizer as JSON text; the vocabulary is slow to serialize."""
    parts: dict[str, Any] = {}
    for name in ("normalizer", "pre_tokenizer"):
        part = getattr(tokenizer, name)
        parts[name] = None if part is None else json.loads(part.__getstate__())
    return json.dumps(parts)


def _find_entries_without_merges(
    entries: Iterable[str], merges: Iterable[Merge], added: set[str]
) -> frozenset[str]:
    """Return the entries of several characters that no merge makes."""
    made = {left + right for left, right in merges}
    return frozenset(
        token for token in entries if len(token) > 1 and token not in made and token not in added
    )


def _is_part_of_character(token: str) -> bool:
    """Return whether the bytes of a token are not whole characters."""
    numbers = {character: byte for byte, character in enumerate(BYTE_ALPHABET)}
    try:
        bytes(numbers[character] for character in token).decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


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


def _refuse_unmade_tokens(vocabulary: ByteLevelVocabulary, splitter: Splitter) -> None:
    """Raise InputError if an old token that is a pre-token is not made from its own characters: with
    `ignore_merges` it would be one token from now on.
    """
    unmade = [
        token
        for token in vocabulary.tokens
        if token not in vocabulary.added
        and vocabulary.tokenize(token) != (token,)
        and splitter.can_output(token)
    ]
    if unmade:
        named = ", ".join(map(repr, unmade[:MAX_NAMED]))
        raise InputError(
            f"{len(unmade):,} tokens of the model are never produced by its merges ({named}), and"
            " adding exact words would change that.",
            "Insert the words into the vocabulary instead (tokenizer mode insertion).",
        )
