"""Everything that knows how a tokenizer is written down: a folder or vocab.txt → tokenizer →
Vocabulary.

WordPiece today. Byte-level BPE and Unigram will come here and nowhere else; until then they are
refused by name. The tokenizer.json of a folder is believed before its tokenizer class: transformers
5 rebuilds a BertTokenizer from the vocabulary and would drop a custom normalizer that the model was
trained with.
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
    SPECIAL_TOKENS as SPECIAL_TOKENS,  # others take it from here
)
from vocadapt.vocabulary.families.vocab_file import read_listing, said

NORMALIZER_FLAGS = {  # in tokenizer_config.json, and in BertNormalizer
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
LONGEST_WORD = 100  # characters; BERT cuts nothing longer


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a model by id, and how they cut a word.

    `whole` holds the tokens that only match a whole word (exact-word additions); the rest is a
    WordPiece vocabulary.
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
        """Token to id."""
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
        """Whether a token goes on with a word ("##oma"), and so stands in the class of
        continuations.
        """
        marked = (
            bool(self.continuation)
            and token.startswith(self.continuation)
            and len(token) > len(self.continuation)
        )
        return marked and token not in self.special and token not in self.whole

    def cut(self, word: str) -> tuple[str, ...]:
        """The wordpieces of one word that is already normalized: "hypertension" → ("hyper",
        "##tension").
        """
        if word in self.whole:
            return (word,)
        return tuple(token.value for token in self._wordpiece.tokenize(word))

    def cut_token(self, token: str, without: bool = False) -> tuple[str, ...]:
        """The wordpieces of a token: a continuation is cut as one, "##oma" → ("##om", "##a"), and
        never as the start of a word.

        `without` leaves the token itself out: what it was made of before it came. What cannot be
        spelled is ("[UNK]",).
        """
        if token in self.whole and not without:
            return (token,)
        if not token:  # the empty token of a faulty published vocabulary: no wordpiece spells it
            return (token,) if token in self.ids and not without else (self.unknown,)
        body = token.removeprefix(self.continuation) or token
        mark, pieces = "" if body == token else self.continuation, list[str]()
        while body and len(body) <= self.longest_word:
            piece = self._longest(mark, body, token if without else None)
            if piece is None:
                break
            pieces.append(piece)
            mark, body = self.continuation, body[len(piece) - len(mark) :]
        return tuple(pieces) if not body else (self.unknown,)

    def _longest(self, mark: str, text: str, never: str | None) -> str | None:
        """The longest wordpiece that `text` begins with."""
        starts = (mark + text[:end] for end in range(len(text), 0, -1))
        return next(
            (
                piece
                for piece in starts
                if piece in self.ids and piece not in self.whole and piece != never
            ),
            None,
        )

    def lacking(self, tokens: Collection[str]) -> "Vocabulary":
        """The vocabulary that never had these tokens; the ids behind them close up."""
        left = tuple(token for token in self.tokens if token not in tokens)
        return replace(
            self,
            tokens=left,
            special=self.special.intersection(left),
            whole=self.whole.intersection(left),
        )

    def words_with(self, piece: str, words: Iterable[str]) -> list[str]:
        """Those of `words` whose cut holds a wordpiece: "##chy" → ["tachycardia"]."""
        body = piece.removeprefix(self.continuation)
        return [word for word in words if body in word and piece in self.cut(word)]


def read_tokenizer(path: str | Path, lowercase: bool | None = None) -> Tokenizer:
    """Read the fast tokenizer of a model folder, or build one from a bare vocab.txt; stored
    truncation and padding are off.

    `lowercase` says the casing of a bare vocab.txt, which is inferred from its tokens otherwise; a
    folder stores its own. Raises InputError when there is no vocabulary, or when the tokenizer is
    not WordPiece.
    """
    path = Path(path)
    if path.is_dir() and lowercase is not None:
        raise InputError(
            f"{path} stores its own casing.", "Give the casing for a bare vocab.txt only."
        )
    tokenizer = (
        _from_folder(path) if path.is_dir() else tokenizer_of_tokens(read_tokens(path), lowercase)
    )
    _check_kind(path, type(tokenizer.model).__name__)
    if tokenizer.token_to_id(tokenizer.model.unk_token) is None:
        raise InputError(
            f"{path}: its vocabulary lacks {tokenizer.model.unk_token}, the token of what it cannot"
            " read.",
            "Mend the files: no model is made with them.",
        )
    tokenizer.no_truncation()  # a stored truncation (128 in MiniLM) would silently cut long text
    tokenizer.no_padding()
    return tokenizer


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """The Vocabulary of a WordPiece tokenizer, its added tokens included; an id without a token is
    named `[no token 7]`.
    """
    model = tokenizer.model
    ids = tokenizer.get_vocab(with_added_tokens=True)
    tokens = [f"[no token {i}]" for i in range(max(ids.values(), default=-1) + 1)]
    for token, i in ids.items():
        tokens[i] = token
    added, pieces = (
        tokenizer.get_added_tokens_decoder().values(),
        tokenizer.get_vocab(with_added_tokens=False),
    )
    return Vocabulary(
        tuple(tokens),
        special=frozenset(token.content for token in added if token.special),
        whole=frozenset(
            token.content for token in added if not token.special and token.content not in pieces
        ),
        continuation=model.continuing_subword_prefix,
        unknown=model.unk_token,
        longest_word=model.max_input_chars_per_word,
    )


def read_tokens(path: Path) -> tuple[str, ...]:
    """The lines of a vocab.txt, in the order of their ids.

    Raises InputError when the file is missing, not UTF-8, empty, does not look like a WordPiece
    vocabulary, or has a faulty line (`vocadapt.vocabulary.families.vocab_file`): empty, repeated, a special
    token in lower case, the last one cut off.
    """
    listing = read_listing(path)
    if "[UNK]" not in listing.lines:
        raise InputError(
            f"{path}: expected a WordPiece vocab.txt, one token a line, [UNK] among them;"
            f" {said(listing.faults[::-1])}.",
            "Give a model folder, a hub name, or a vocab.txt.",
        )
    if listing.faults:
        raise InputError(
            f"{path}: {said(listing.faults)}.",
            "Mend the file: no model is made with it. `vocabulary compare` looks at it as it is.",
        )
    return listing.lines


def tokenizer_of_tokens(
    tokens: tuple[str, ...], lowercase: bool | None = None, **flags: bool
) -> Tokenizer:
    """Build BERT's tokenizer over `tokens`; where `lowercase` is not given it is inferred from
    them.

    `flags`: strip_accents and handle_chinese_chars, as BertNormalizer takes them.
    """
    lowercase = is_lowercase(tokens) if lowercase is None else lowercase
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
    """Whether a vocabulary is uncased: no token but bracketed ones holds a capital letter."""
    return not any(token != token.lower() for token in tokens if not token.startswith("["))


def _from_folder(folder: Path) -> Tokenizer:
    """The tokenizer.json of a folder, else BERT's tokenizer over its vocab.txt."""
    content = check_tokenizer_files(folder)
    if content is not None:
        _check_kind(folder, str(content["model"].get("type", "WordPiece")))
        try_parts(content)
        with TokenizerErrors(
            f"{folder / TOKENIZER} cannot be read", "Download or save the model again."
        ):
            return Tokenizer.from_file(str(folder / TOKENIZER))
    if (folder / "vocab.txt").is_file():
        return tokenizer_of_tokens(read_tokens(folder / "vocab.txt"), **_stored_flags(folder))
    kinds = Counter(path.suffix for path in folder.iterdir() if path.is_file())
    if (folder / "vocab.json").is_file() or kinds[".model"]:
        raise InputError(
            f"{folder}: its vocabulary is byte-level BPE or SentencePiece, and vocadapt works with"
            " WordPiece (BERT-type) models: others, not yet.",
            "Choose a BERT-type model, such as bert-base-uncased.",
        )
    raise InputError(
        f"{folder}: expected tokenizer.json or vocab.txt, found neither.",
        "A model folder without its vocabulary cannot be used: copy the tokenizer's files beside"
        " the weights.",
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
