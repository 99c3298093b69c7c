"""Read and build WordPiece tokenizers: a model folder or vocab.txt → tokenizer → Vocabulary.

Only WordPiece is supported; byte-level BPE and Unigram tokenizers are refused with a message. The
tokenizer.json of a folder takes precedence over its tokenizer class: transformers 5 rebuilds a
BertTokenizer from the vocabulary and would drop a custom normalizer that the model was trained
with.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

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
from vocadapt.files import read_json_object
from vocadapt.text.tokenization import TokenizerErrors
from vocadapt.vocabulary.families.tokenizer_checks import CONFIG, TOKENIZER, check_tokenizer_files
from vocadapt.vocabulary.families.tokenizer_trial import try_parts
from vocadapt.vocabulary.families.vocab_file import (
    SPECIAL_TOKENS as SPECIAL_TOKENS,  # re-exported
)
from vocadapt.vocabulary.families.vocab_file import format_faults, read_listing

NORMALIZER_FLAGS = {  # in tokenizer_config.json, and in BertNormalizer
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
LONGEST_WORD = 100  # characters; a longer word is [UNK] in BERT


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a model by id, and how they tokenize a word.

    tokens: by id; special: special tokens.
    whole: exact-word tokens, which only match a whole word; all other tokens are wordpieces.
    continuation: prefix of tokens that continue a word; unknown: the unknown token.
    longest_word: characters of the longest word that is tokenized; longer ones are unknown.
    """

    tokens: tuple[str, ...]
    special: frozenset[str]
    whole: frozenset[str] = frozenset()
    continuation: str = "##"
    unknown: str = "[UNK]"
    longest_word: int = LONGEST_WORD

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self.ids

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each token."""
        return {token: i for i, token in enumerate(self.tokens)}

    @cached_property
    def _wordpiece(self) -> models.WordPiece:
        vocab = {token: i for token, i in self.ids.items() if token not in self.whole}
        return models.WordPiece(
            vocab,
            unk_token=self.unknown,
            max_input_chars_per_word=self.longest_word,
            continuing_subword_prefix=self.continuation,
        )

    def continues(self, token: str) -> bool:
        """Return whether a token is a continuation of a word ("##oma")."""
        mark = self.continuation
        if not mark or not token.startswith(mark) or token == mark:
            return False
        return token not in self.special and token not in self.whole

    def tokenize(self, word: str) -> tuple[str, ...]:
        """Return the wordpieces of one normalized word: "hypertension" → ("hyper", "##tension")."""
        if word in self.whole:
            return (word,)
        return tuple(token.value for token in self._wordpiece.tokenize(word))

    def tokenize_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """Return the wordpieces of a token, in its position: "##oma" → ("##om", "##a").

        A continuation is tokenized as a continuation, never as the start of a word.
        without: leave the token itself out, to see its wordpieces before it was added.
        Returns ("[UNK]",) if no wordpieces spell the token.
        """
        if token in self.whole and not without:
            return (token,)
        if not token:  # the empty token of a faulty published vocabulary: no wordpiece spells it
            return (token,) if token in self.ids and not without else (self.unknown,)
        mark, rest = "", token
        if token.startswith(self.continuation) and token != self.continuation:
            mark, rest = self.continuation, token.removeprefix(self.continuation)
        excluded = token if without else None
        pieces: list[str] = []
        while rest and len(rest) <= self.longest_word:
            piece = self._find_longest(mark, rest, excluded)
            if piece is None:
                break
            pieces.append(piece)
            rest = rest[len(piece) - len(mark) :]
            mark = self.continuation
        return tuple(pieces) if not rest else (self.unknown,)

    def _find_longest(self, mark: str, text: str, excluded: str | None) -> str | None:
        """Return the longest wordpiece that matches at the start of `text`; None if none does."""
        for end in range(len(text), 0, -1):
            piece = mark + text[:end]
            if piece in self.ids and piece not in self.whole and piece != excluded:
                return piece
        return None

    def without(self, tokens: Collection[str]) -> "Vocabulary":
        """Return the vocabulary without some tokens; the ids after them move up."""
        left = tuple(token for token in self.tokens if token not in tokens)
        return replace(
            self,
            tokens=left,
            special=self.special.intersection(left),
            whole=self.whole.intersection(left),
        )

    def find_words_with(self, piece: str, words: Iterable[str]) -> list[str]:
        """Return the words whose wordpieces include `piece`: "##chy" → ["tachycardia"]."""
        body = piece.removeprefix(self.continuation)
        return [word for word in words if body in word and piece in self.tokenize(word)]


def read_tokenizer(path: str | Path, lowercase: bool | None = None) -> Tokenizer:
    """Read the fast tokenizer of a model folder, or build one from a vocab.txt.

    Stored truncation and padding are switched off.
    lowercase: casing of a vocab.txt; None to infer it from the tokens. A folder stores its casing.
    Raises InputError if there is no vocabulary, or if the tokenizer is not WordPiece.
    """
    path = Path(path)
    if path.is_dir():
        if lowercase is not None:
            raise InputError(
                f"{path} stores its own casing.", "Give the casing of a vocab.txt only."
            )
        tokenizer = _read_folder(path)
    else:
        tokenizer = build_tokenizer(read_tokens(path), lowercase)
    _check_kind(path, type(tokenizer.model).__name__)
    if tokenizer.token_to_id(tokenizer.model.unk_token) is None:
        raise InputError(
            f"{path}: its vocabulary lacks {tokenizer.model.unk_token}, its unknown token.",
            "Correct the files: no model can be made from them.",
        )
    tokenizer.no_truncation()  # a stored limit (128 in MiniLM) would silently truncate long text
    tokenizer.no_padding()
    return tokenizer


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the Vocabulary of a WordPiece tokenizer, with its added tokens.

    An id without a token is named `[no token 7]`.
    """
    model = tokenizer.model
    ids = tokenizer.get_vocab(with_added_tokens=True)
    tokens = [f"[no token {i}]" for i in range(max(ids.values(), default=-1) + 1)]
    for token, i in ids.items():
        tokens[i] = token
    pieces = tokenizer.get_vocab(with_added_tokens=False)
    special: set[str] = set()
    whole: set[str] = set()
    for added in tokenizer.get_added_tokens_decoder().values():
        if added.special:
            special.add(added.content)
        elif added.content not in pieces:
            whole.add(added.content)
    return Vocabulary(
        tuple(tokens),
        special=frozenset(special),
        whole=frozenset(whole),
        continuation=model.continuing_subword_prefix,
        unknown=model.unk_token,
        longest_word=model.max_input_chars_per_word,
    )


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read the lines of a vocab.txt, in the order of their ids.

    Raises InputError if the file is missing, not UTF-8, empty, not a WordPiece vocabulary, or has a
    faulty line (see `vocab_file`): empty, repeated, a special token in lower case, a truncated last
    line.
    """
    listing = read_listing(path)
    if "[UNK]" not in listing.lines:
        raise InputError(
            f"{path}: expected a WordPiece vocab.txt, one token per line, [UNK] among them;"
            f" {format_faults(listing.faults[::-1])}.",
            "Give a model folder, a hub name, or a vocab.txt.",
        )
    if listing.faults:
        raise InputError(
            f"{path}: {format_faults(listing.faults)}.",
            "Correct the file: no model can be made from it. `vocabulary compare` reads it as it is.",
        )
    return listing.lines


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
        models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
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


def is_lowercase(tokens: tuple[str, ...]) -> bool:
    """Return whether a vocabulary is uncased: no token but [bracketed] ones has a capital."""
    return not any(token != token.lower() for token in tokens if not token.startswith("["))


def _read_folder(folder: Path) -> Tokenizer:
    """Read the tokenizer.json of a folder, or build BERT's tokenizer from its vocab.txt."""
    content = check_tokenizer_files(folder)
    if content is not None:
        _check_kind(folder, str(content["model"].get("type", "WordPiece")))
        try_parts(content)
        with TokenizerErrors(
            f"{folder / TOKENIZER} cannot be read", "Download or save the model again."
        ):
            return Tokenizer.from_file(str(folder / TOKENIZER))
    if (folder / "vocab.txt").is_file():
        return build_tokenizer(read_tokens(folder / "vocab.txt"), **_stored_flags(folder))
    kinds = Counter(path.suffix for path in folder.iterdir() if path.is_file())
    if (folder / "vocab.json").is_file() or kinds[".model"]:
        raise InputError(
            f"{folder}: its vocabulary is byte-level BPE or SentencePiece, and vocadapt supports only"
            " WordPiece (BERT-type) models.",
            "Choose a BERT-type model, such as bert-base-uncased.",
        )
    raise InputError(
        f"{folder}: expected tokenizer.json or vocab.txt, found neither.",
        "A model needs its vocabulary: copy the tokenizer's files into the folder of the weights.",
    )


def _check_kind(path: Path, kind: str) -> None:
    """Raise InputError unless the model of a tokenizer is WordPiece."""
    if kind != "WordPiece":
        raise InputError(
            f"{path}: its tokenizer is {kind[:40]}, but vocadapt supports only WordPiece"
            " (BERT-type) models.",
            "Choose a BERT-type model, such as bert-base-uncased.",
        )


def _stored_flags(folder: Path) -> dict[str, bool]:
    """Return the settings of BERT's normalizer in tokenizer_config.json, under the normalizer's own
    keys.
    """
    path = folder / CONFIG
    stored = read_json_object(path) if path.exists() else {}
    return {
        name: stored[key]
        for key, name in NORMALIZER_FLAGS.items()
        if isinstance(stored.get(key), bool)
    }
