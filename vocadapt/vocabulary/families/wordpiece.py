"""WordPiece: the tokenizers of BERT, DistilBERT and ELECTRA.

A word is tokenized from the left, always by the longest token that matches; tokens that continue a
word are marked by ##: hypertension → hyper ##tension.

The tokenizer.json of a folder takes precedence over its tokenizer class: transformers 5 rebuilds a
BertTokenizer from the vocabulary, without the custom normalizer that the model may have been
trained with.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

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
from vocadapt.spaces.space import TokenKinds
from vocadapt.system.files import read_optional_json
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.family import TokenizerFamily
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    TOKENIZER_CONFIG,
    Json,
    check_wordpiece_model,
)
from vocadapt.vocabulary.families.files.tokenizer_json import (
    EXACT_WORD,
    fill_id_gaps,
    from_json,
    list_tokens,
    read_flags,
    renumber_added,
    split_added_tokens,
    to_json,
)
from vocadapt.vocabulary.families.files.vocab_file import (
    MAX_WORD_LENGTH,
    SPECIAL_TOKENS,
    is_lowercase,
    read_tokens,
)
from vocadapt.vocabulary.families.tables.longest_match import LongestMatchTable, build_word_table
from vocadapt.vocabulary.families.wordpiece_training import (
    TRAINERS,
    generate_tokens,
    train_wordpiece,
)
from vocadapt.vocabulary.vocabulary import (
    NEVER_ONE_WORD,
    ROLES,
    SPACED,
    SPECIAL,
    TOO_LONG,
    Notation,
    Vocabulary,
)

VOCAB_FILE = "vocab.txt"
NORMALIZER_FLAGS = {  # in tokenizer_config.json, and in BertNormalizer
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
PLACEHOLDER = re.compile(r"\[unused\d+\]")
# Characters before a continuation in a test: a letter and a digit, because a pre-tokenizer may
# split letters from digits.
STEMS = "a0"
MAX_CARRIERS = 8  # word starts to try before a continuation counts as unreachable


@dataclass(frozen=True, eq=False, repr=False)
class WordPieceVocabulary(Vocabulary):
    """A WordPiece vocabulary.

    continuation: prefix of tokens that continue a word.
    """

    family = "wordpiece"
    longest_word: int = MAX_WORD_LENGTH
    unknown: str = "[UNK]"
    continuation: str = "##"

    @property
    def notation(self) -> Notation:
        """Continuations are marked."""
        return Notation(continuation=self.continuation)

    @property
    def continuation_name(self) -> str:
        """What continuations are called in a message."""
        return f"{self.continuation} pieces"

    def continues(self, token: str) -> bool:
        """Return whether a token is a continuation of a word ("##oma")."""
        mark = self.continuation
        if not mark or not token.startswith(mark) or token == mark:
            return False
        return token not in self.special and token not in self.whole

    def body(self, token: str) -> str:
        """Return the text of a token without its mark: "##tension" → "tension"."""
        if not self.continues(token):
            return token
        return token.removeprefix(self.continuation)

    def spell(self, body: str, continues: bool = False) -> str:
        """Return the token with this text: "tension", as a continuation → "##tension"."""
        if continues:
            return self.continuation + body
        return body

    def is_placeholder(self, token: str) -> bool:
        """Return whether a token is one of BERT's slots [unused0], [unused1], …"""
        return PLACEHOLDER.fullmatch(token) is not None

    @property
    def roles(self) -> Mapping[str, str]:
        """BERT's special tokens by role, unless the model's files declare others."""
        own = {**dict(zip(ROLES, SPECIAL_TOKENS, strict=True)), "unk": self.unknown}
        return {**own, **self.declared_roles}

    @cached_property
    def _wordpiece(self) -> models.WordPiece:
        vocab = {token: i for token, i in self.ids.items() if token not in self.whole}
        return models.WordPiece(
            vocab,
            unk_token=self.unknown,
            max_input_chars_per_word=self.longest_word,
            continuing_subword_prefix=self.continuation,
        )

    def tokenize(self, pretoken: str) -> tuple[str, ...]:
        """Return the wordpieces of one normalized word: "hypertension" → ("hyper", "##tension")."""
        if pretoken in self.whole:
            return (pretoken,)
        return tuple(token.value for token in self._wordpiece.tokenize(pretoken))

    def tokenize_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """Return the wordpieces of a token, in its position: "##oma" → ("##om", "##a")."""
        # 1. Return tokens that longest match never produces: exact words, and the empty token of
        #    SciBERT's published vocabulary.
        if not without and (token in self.whole or (not token and token in self.ids)):
            return (token,)
        # 2. Separate its mark and the text that has to be spelled.
        mark, rest = "", token
        if token.startswith(self.continuation) and token != self.continuation:
            mark = self.continuation
            rest = token.removeprefix(self.continuation)
        # 3. Take the longest entry that matches; all later ones are continuations.
        excluded = token if without else None
        pieces: list[str] = []
        while 0 < len(rest) <= self.longest_word:
            piece = self._find_longest(mark, rest, excluded)
            if piece is None:
                break
            pieces.append(piece)
            rest = rest[len(piece) - len(mark) :]
            mark = self.continuation
        # 4. A token is unknown if no entry matches a rest of it, or if it has no text.
        if rest or not pieces:
            return (self.unknown,)
        return tuple(pieces)

    def _find_longest(self, mark: str, text: str, excluded: str | None) -> str | None:
        for end in range(len(text), 0, -1):
            piece = mark + text[:end]
            if piece in self.ids and piece not in self.whole and piece != excluded:
                return piece
        return None

    def build_word_table(self, counts: Mapping[str, float]) -> LongestMatchTable:
        """Prepare words and their counts for many tokenizations without some of the tokens."""
        return build_word_table(self, counts)

    def build_token_table(self, weights: Mapping[str, float]) -> LongestMatchTable:
        """Prepare a text of each token as a word or a continuation, counted by its weight."""
        starts: dict[str, float] = {}
        continuations: dict[str, float] = {}
        for token, weight in weights.items():
            if self.continues(token):
                continuations[self.body(token)] = weight
            else:
                starts[token] = weight
        return build_word_table(self, starts, continuations)

    def explain_unreachable(
        self, token: str, splitter: Splitter, exact: bool = False
    ) -> str | None:
        """Return why a tokenizer with this vocabulary and splitter can never produce a token; None
        if it can.

        A continuation can be produced if a word can contain it after its first character: "##oma"
        can, "##-" cannot in BERT.
        exact: the token would be an exact-word token; CJK characters can only be WordPiece entries.
        """
        if token in self.special:
            return SPECIAL
        body = token.removeprefix(self.continuation)
        if not body:
            return NEVER_ONE_WORD
        # A continuation follows other characters; one is enough for the test.
        words = [body]
        if body != token:
            words = [stem + body for stem in STEMS]
        if len(words[0]) > self.longest_word:
            return TOO_LONG
        if not any(map(splitter.can_output, words)):
            return NEVER_ONE_WORD
        if exact and not splitter.leaves_unchanged(token):
            return SPACED
        return None

    def find_unreachable(
        self, splitter: Splitter, tokens: Iterable[str] | None = None
    ) -> tuple[str, ...]:
        """Return the tokens that no text can produce, given normalizer, pre-tokenizer and longest
        match.

        tokens: the tokens to examine (None: all). Special tokens always count as reachable.

        - A word start is reachable if the splitter keeps it as one word.
        - A continuation is reachable if the splitter keeps a carrier followed by it as one word. A
          carrier is a word start that is no prefix of a longer one: longest match takes the carrier
          first, and then the whole continuation.
        - A token longer than `longest_word` is never reachable.

        Example: "##oma" after the carrier "tachy": tachyoma → tachy ##oma.
        """
        carriers = self._find_carriers(splitter)
        examined = self.tokens if tokens is None else tokens
        return tuple(
            token for token in examined if not self._is_reachable(token, splitter, carriers)
        )

    def _is_reachable(self, token: str, splitter: Splitter, carriers: tuple[str, ...]) -> bool:
        place = self.position(token)
        if place == "special":
            return True
        if place == "whole word":
            return splitter.leaves_unchanged(token)
        words = [token]
        if place == "continuation":
            words = [carrier + self.body(token) for carrier in carriers]
        return any(len(word) <= self.longest_word and splitter.can_output(word) for word in words)

    def _find_carriers(self, splitter: Splitter) -> tuple[str, ...]:
        """Return up to MAX_CARRIERS word starts of letters and digits that are no prefix of another
        word start: ASCII ones first, then the shortest.
        """
        # In alphabetical order, a word start comes directly before those of which it is a prefix.
        starts = sorted(token for token in self.tokens if self.position(token) == "word start")
        carriers: list[str] = []
        for token, following in pairwise([*starts, ""]):
            is_prefix = following.startswith(token)
            if not is_prefix and token.isalnum() and splitter.can_output(token):
                carriers.append(token)
        carriers.sort(key=lambda token: (not token.isascii(), len(token), token))
        return tuple(carriers[:MAX_CARRIERS])

    def can_activate(self, token: str, splitter: Splitter) -> bool:
        """Return whether a token that the tokenizer never produces can become an exact word: an
        added token, which matches the normalized text before it is split ("covid-19").
        """
        return self.position(token) == "word start" and splitter.is_normalized(token)

    def find_parts(self, tokens: Collection[str]) -> frozenset[str]:
        """Return the wordpieces of the exact words among these tokens: next to symbols, these words
        are split into wordpieces.
        """
        parts = set[str]()
        for token in self.whole.intersection(tokens):
            parts.update(self.tokenize_token(token, without=True))
        return frozenset(parts.intersection(self.ids))

    def is_irreplaceable(self, token: str) -> bool:
        """Return whether single characters, which are never removed, cannot spell the token."""
        continues = self.continues(token)
        for character in self.body(token):
            if self.spell(character, continues) not in self.ids:
                return True
            continues = True
        return False


class WordPieceFamily(TokenizerFamily):
    """The WordPiece tokenizers."""

    name = "wordpiece"
    title = "WordPiece (BERT-type)"
    exceptions = (
        "next to symbols and `_`, where a new word is split as before, or is read inside a longer"
        " word"
    )
    trainers = TRAINERS

    def recognizes(self, content: Json) -> bool:
        """Return whether the model of a tokenizer is WordPiece, which is the default type."""
        return bool(content["model"].get("type", "WordPiece") == "WordPiece")

    def check_model(self, model: Json) -> dict[str, int]:
        """Check the model of a tokenizer.json; return its ids by token."""
        return check_wordpiece_model(model)

    def read_vocabulary(self, tokenizer: Tokenizer) -> WordPieceVocabulary:
        """Return the vocabulary of a tokenizer; added ordinary tokens match whole words."""
        special, whole = split_added_tokens(tokenizer)
        splitter = self.make_splitter(tokenizer)
        added = {
            token.content
            for token in tokenizer.get_added_tokens_decoder().values()
            if read_flags(token) != EXACT_WORD or not splitter.leaves_unchanged(token.content)
        }
        return WordPieceVocabulary(
            list_tokens(tokenizer),
            special=special,
            whole=whole,
            continuation=tokenizer.model.continuing_subword_prefix,
            unknown=tokenizer.model.unk_token,
            longest_word=tokenizer.model.max_input_chars_per_word,
            added=frozenset(added),
        )

    def explain_unusable(self, tokenizer: Tokenizer) -> str | None:
        """Return why a model cannot use a tokenizer: it lacks its unknown token."""
        unknown = tokenizer.model.unk_token
        if tokenizer.token_to_id(unknown) is None:
            return f"its vocabulary lacks {unknown}, its unknown token"
        return None

    def build_from_folder(self, folder: Path, lowercase: bool | None = None) -> Tokenizer | None:
        """Build BERT's tokenizer from the vocab.txt of a folder; None if it has none."""
        if not (folder / VOCAB_FILE).is_file():
            return None
        flags: dict[str, Any] = {"lowercase": lowercase} | read_normalizer_flags(folder)
        return build_tokenizer(read_tokens(folder / VOCAB_FILE), **flags)

    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole word, is one token: an added token
        that matches single words. An entry of the vocabulary keeps its id, others get the next free
        ones.
        """
        vocabulary = self.read_vocabulary(tokenizer)
        within = [token for token in tokens if vocabulary.continues(token)]
        if within:
            raise InputError(
                f"{len(within):,} of {len(tokens):,} new tokens are continuations, {within[0]!r}"
                " first: exact-word adds whole words only.",
                "Choose insertion.",
                code="not-whole-words",
            )
        changed = from_json(fill_id_gaps(tokenizer))
        changed.add_tokens([AddedToken(token, **EXACT_WORD) for token in tokens])
        return changed

    def insert_tokens(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy whose WordPiece vocabulary also has `tokens`, with the next free ids.

        Raises InputError if there are exact-word tokens: their ids must be higher than those of all
        wordpieces.
        """
        content = fill_id_gaps(tokenizer)
        vocabulary = self.read_vocabulary(tokenizer)
        if vocabulary.whole:
            raise InputError(
                f"The model has {len(vocabulary.whole):,} exact-word tokens, and wordpieces cannot"
                " be inserted after them.",
                'Add words with tokenizer = "exact-word" in the recipe, or start from the model'
                " without exact-word tokens.",
                code="exact-words-before",
            )
        first = len(vocabulary)
        content["model"]["vocab"].update({token: first + i for i, token in enumerate(tokens)})
        return from_json(content)

    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens and ids; normalizer and template are kept.

        Exact-word tokens of the old vocabulary that are kept, and those of the new vocabulary, are
        exact-word tokens of the copy.
        """
        content = to_json(tokenizer)
        ids, whole = vocabulary.ids, vocabulary.whole
        before = self.read_vocabulary(tokenizer).whole
        content["model"]["vocab"] = {token: i for token, i in ids.items() if token not in whole}
        added = [
            token for token in content["added_tokens"] if token["content"] not in before - whole
        ]
        added += [{"content": token, **EXACT_WORD} for token in whole - before]
        content["added_tokens"] = added
        renumber_added(content, ids)
        return from_json(content)

    def generate_tokens(
        self, vocabulary: Vocabulary, counts: Mapping[str, int], trainer: str
    ) -> Iterator[str]:
        """Generate the alphabet, then the merged tokens."""
        self.check_trainer(trainer)
        return generate_tokens(counts, trainer, vocabulary.notation.continuation)

    def train(
        self, counts: Mapping[str, int], size: int, trainer: str, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Train a vocabulary of at most `size` tokens."""
        self.check_trainer(trainer)
        return train_wordpiece(counts, size, trainer, progress)

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build BERT's tokenizer over trained tokens."""
        return build_tokenizer(tokens, lowercase)

    def save(self, tokens: tuple[str, ...], lowercase: bool, max_length: int, folder: Path) -> None:
        """Write BERT's tokenizer over trained tokens and its vocab.txt into a model folder."""
        from transformers import BertTokenizer

        lines = "".join(f"{token}\n" for token in tokens)
        (folder / VOCAB_FILE).write_text(lines, encoding="utf-8")
        tokenizer = BertTokenizer(
            vocab={token: i for i, token in enumerate(tokens)}, do_lower_case=lowercase
        )
        tokenizer.model_max_length = max_length
        tokenizer.save_pretrained(folder)


def build_tokenizer(
    tokens: tuple[str, ...], lowercase: bool | None = None, **flags: bool
) -> Tokenizer:
    """Build BERT's tokenizer over `tokens`.

    lowercase: None to infer the casing from the tokens.
    flags: strip_accents and handle_chinese_chars, as BertNormalizer takes them.
    """
    if lowercase is None:
        lowercase = is_lowercase(tokens)
    ids = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(
        models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=MAX_WORD_LENGTH)
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, **flags)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True) for token in SPECIAL_TOKENS if token in ids]
    )
    if "[CLS]" in ids and "[SEP]" in ids:
        tokenizer.post_processor = processors.BertProcessing(
            ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
        )
    return tokenizer


def find_word_kinds(words: Sequence[str]) -> TokenKinds:
    """Return the kinds of words of a space without a model, some of which may be wordpieces:
    ##continuations and [unused] slots.
    """
    # There may be millions of words: examine only those that look like such wordpieces.
    likely = [word for word in words if word.startswith(("##", "["))]
    return WordPieceVocabulary((), frozenset()).find_kinds(likely, likely)


def read_normalizer_flags(folder: Path) -> dict[str, bool]:
    """Read the settings of BERT's normalizer from tokenizer_config.json, by its names for them."""
    stored = read_optional_json(folder / TOKENIZER_CONFIG)
    return {
        name: stored[key]
        for key, name in NORMALIZER_FLAGS.items()
        if isinstance(stored.get(key), bool)
    }
