"""BpeFamily: the base class of the tokenizer families that use byte-pair encoding (BPE).

A pre-token is split into symbols, and merges join them to tokens (`merges`). There are two ways to
add a token:

- as an *exact word*: an entry of the vocabulary without merges. With the setting `ignore_merges`, a
  pre-token that is an entry is not merged at all, so no other pre-token changes;
- by *insertion*: an entry, and merges that make it from the tokens into which it is split now. It
  may also match in other pre-tokens.

Example: Ġhypertension is Ġhyper tension. As an exact word it gets an entry; by insertion it gets an
entry and the merge (Ġhyper, tension).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, processors

from vocadapt.errors import InputError
from vocadapt.progress import Progress, silent
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.bpe_vocabulary import BpeVocabulary
from vocadapt.vocabulary.families.family import TokenizerFamily
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    BYTE_TOKENS,
    Json,
    UnfitError,
    check_merges,
    check_vocabulary,
)
from vocadapt.vocabulary.families.files.tokenizer_json import (
    from_json,
    list_tokens,
    renumber_added,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.families.merges import Merge, MergeList
from vocadapt.vocabulary.families.wordpiece_training import PairTrainer, Pieces, merge_best_pairs
from vocadapt.vocabulary.vocabulary import Vocabulary

MAX_NAMED = 3  # maximum number of tokens that a message lists
MIN_COUNT = 2  # a pair that occurs only once is never merged
TRAINER = PairTrainer(
    "the most frequent pair of the model's tokens is merged first",
    "Sennrich et al. 2016",
    lambda pair, left, right: pair,
)


class BpeFamily(TokenizerFamily):
    """A tokenizer family that uses BPE."""

    trainers: Mapping[str, PairTrainer] = {}

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
        """Return the arguments of the vocabulary class for a tokenizer."""
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
        """Raise InputError if exact words would change how other pre-tokens are tokenized."""
        vocabulary = self.read_vocabulary(tokenizer)
        if vocabulary.ignore_merges:
            return
        unmerged = vocabulary.find_unmerged_tokens(self.make_splitter(tokenizer))
        if unmerged:
            raise InputError(
                f"{len(unmerged):,} tokens of the model are never produced by its merges"
                f" ({name_tokens(unmerged)}), and adding exact words would change that.",
                "Insert the words into the vocabulary instead (tokenizer mode insertion).",
                code="unmerged-tokens",
            )

    def prepare_exact_words(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return a copy with `ignore_merges`: a pre-token that is an entry is one token."""
        content = to_json(tokenizer)
        content["model"]["ignore_merges"] = True
        return from_json(content)

    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole pre-token, is one token with the next
        free id: an entry without merges.

        Raises InputError if `ignore_merges` would change how other pre-tokens are tokenized, and
        for tokens that are in the vocabulary already.
        """
        content = _list_all_entries(tokenizer)
        vocabulary = self.read_vocabulary(tokenizer)
        refuse_known_tokens(vocabulary, tokens)
        self.check_exact_words(tokenizer)
        _append_entries(content, tokens, len(vocabulary))
        content["model"]["ignore_merges"] = True
        return from_json(content)

    def insert_tokens(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy with `tokens`, which get the next free ids, and with merges that make them,
        after the old merges.

        Raises InputError for tokens that are in the vocabulary already, and if the intermediate
        tokens of the new merges are not among `tokens` (see `expand_insertions`).
        """
        content = _list_all_entries(tokenizer)
        vocabulary = self.read_vocabulary(tokenizer)
        refuse_known_tokens(vocabulary, tokens)
        lacking = set(vocabulary.expand_insertions(tokens)) - set(tokens)
        if lacking:
            raise InputError(
                f"Merges make the new tokens from {len(lacking):,} others that are not among them"
                f" ({name_tokens(sorted(lacking))}).",
                "Insert these too.",
                code="missing-parts",
            )
        changed = vocabulary.with_tokens([*vocabulary.tokens, *tokens], vocabulary.whole)
        _append_entries(content, tokens, len(vocabulary))
        content["model"]["merges"] = list(map(list, changed.merges))
        return from_json(content)

    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens, ids and merges; all other parts are kept."""
        assert isinstance(vocabulary, BpeVocabulary)
        content = to_json(tokenizer)
        ids = vocabulary.ids
        content["model"]["vocab"] = ids
        content["model"]["merges"] = list(map(list, vocabulary.merges))
        content["model"]["ignore_merges"] = vocabulary.ignore_merges
        content["model"]["byte_fallback"] = vocabulary.byte_fallback
        renumber_added(content, ids)
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
                f"A vocabulary of {size:,} tokens is too small for the {len(tokens):,} special"
                " tokens and bytes.",
                f"Choose a size of {len(tokens):,} or more.",
                code="too-few-tokens",
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
        mask = self.special_tokens["mask"]
        tokenizer.add_special_tokens(
            [
                AddedToken(token, special=True, lstrip=token == mask)  # it takes the space before
                for token in self.special_tokens.values()
            ]
        )
        sep = self.special_tokens["sep"]
        cls = self.special_tokens["cls"]
        tokenizer.post_processor = processors.RobertaProcessing(
            (sep, ids[sep]), (cls, ids[cls]), add_prefix_space=False
        )
        return tokenizer


def _split_at_bytes(vocabulary: BpeVocabulary, tokens: Iterable[str]) -> list[list[str]]:
    """Split tokens into runs without unknown and byte tokens, which merges cannot join."""
    runs: list[list[str]] = [[]]
    for token in tokens:
        is_byte = len(token) > 1 and vocabulary.is_symbol(token)
        if is_byte or token == vocabulary.unknown:
            runs.append([])
        else:
            runs[-1].append(token)
    return [run for run in runs if run]


def build_merges(tokens: Iterable[str]) -> list[Merge]:
    """Return the merges that make trained tokens, each from the tokens before it."""
    merges = MergeList(())
    for token in tokens:
        merges.append_for(token)
    return merges.merges


def name_tokens(tokens: Sequence[str]) -> str:
    """Format the first tokens of a list for a message."""
    return ", ".join(map(repr, tokens[:MAX_NAMED]))


def refuse_known_tokens(vocabulary: Vocabulary, tokens: Sequence[str]) -> None:
    """Raise InputError if new tokens are known or occur twice: one would get a second id."""
    known = [token for token in tokens if token in vocabulary]
    if known:
        raise InputError(
            f"{len(known):,} of {len(tokens):,} new tokens are in the vocabulary already"
            f" ({name_tokens(known)}).",
            "Leave them out.",
            code="known-tokens",
        )
    if len(set(tokens)) < len(tokens):
        repeated = [token for i, token in enumerate(tokens) if token in tokens[:i]]
        raise InputError(
            f"New tokens are repeated ({name_tokens(repeated)}).",
            "Leave them out.",
            code="repeated-tokens",
        )


def _list_all_entries(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the tokenizer as JSON, with every id among the entries of the model.

    The library gives an added token that is not an entry an id after those of the entries, whatever
    its id was before.
    """
    content = to_json(tokenizer)
    content["model"]["vocab"] = {token: i for i, token in enumerate(list_tokens(tokenizer))}
    return content


def _append_entries(content: dict[str, Any], tokens: Sequence[str], first: int) -> None:
    content["model"]["vocab"].update({token: first + i for i, token in enumerate(tokens)})
