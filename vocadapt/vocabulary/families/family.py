"""TokenizerFamily: what differs between kinds of tokenizers, and the registry of the families.

A family reads, builds, trains and edits the tokenizers of one kind; its Vocabulary spells tokens
and tokenizes words. To add a family, derive both classes in a new module and call
`register_family`. No other module names a family.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.progress import Progress, silent
from vocadapt.spaces.space import NO_KINDS, TokenKinds
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import TokenizerErrors
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    CONVERT,
    TOKENIZER,
    Json,
    check_tokenizer_files,
)
from vocadapt.vocabulary.families.files.tokenizer_json import read_parts
from vocadapt.vocabulary.families.files.tokenizer_trial import try_parts
from vocadapt.vocabulary.families.files.vocab_file import Fault
from vocadapt.vocabulary.vocabulary import Vocabulary

DEFAULT = "wordpiece"  # family of a bare vocabulary file, and of words without a model
REMEDY = "Choose a BERT-type model, such as bert-base-uncased."


class Trainer(Protocol):
    """A way to train a vocabulary, as described in menus and help."""

    @property
    def about(self) -> str:
        """Explanation, for menus and help."""

    @property
    def source(self) -> str:
        """Publication or library that it comes from."""


class TokenizerFamily(ABC):
    """A kind of tokenizer.

    name: its key in FAMILIES; title: its name in messages.
    trainers: ways to train a vocabulary, by name; empty if the family has none.
    exceptions: places where exact-word tokenization departs from its rule, as part of a sentence.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    exceptions: ClassVar[str] = ""
    trainers: Mapping[str, Trainer] = {}

    # Recognize and read

    @abstractmethod
    def recognizes(self, content: Json) -> bool:
        """Return whether a tokenizer is of this family, from its tokenizer.json.

        content: has the normalizer, the pre-tokenizer, the decoder, and at least the model's type.
        """

    @abstractmethod
    def check_model(self, model: Json) -> dict[str, int]:
        """Check the model of a tokenizer.json before a library reads it; return its ids by token.

        Raises UnfitError (of `tokenizer_checks`) if the model is invalid.
        """

    @abstractmethod
    def read_vocabulary(self, tokenizer: Tokenizer) -> Vocabulary:
        """Return the vocabulary of a tokenizer, with its added tokens."""

    def read_token(self, token: str) -> str:
        """Return the text that a token, given without its mark, spells."""
        return token

    def make_splitter(self, tokenizer: Tokenizer) -> Splitter:
        """Return the splitter of a tokenizer, which splits a text into words without marks."""
        return Splitter.from_tokenizer(read_parts(tokenizer, ("normalizer", "pre_tokenizer")))

    def splits_exactly(self, tokenizer: Tokenizer) -> bool:
        """Return whether no token crosses the boundaries of the splitter's pre-tokens."""
        return True

    def explain_unusable(self, tokenizer: Tokenizer) -> str | None:
        """Return why a model cannot use a tokenizer; None if it can."""
        return None

    def build_from_folder(self, folder: Path, lowercase: bool | None = None) -> Tokenizer | None:
        """Build the tokenizer of a folder without a tokenizer.json; return None if the folder lacks
        the family's own files.

        lowercase: casing of the text if no file of the folder states it; None to infer it.
        """
        return None

    def states_casing(self, folder: Path) -> bool:
        """Return whether the files of a folder without a tokenizer.json state the casing."""
        return True

    def explain_casing(self, folder: Path) -> str:
        """Return how a folder that does not state its casing is read, and how it could be read
        otherwise; "" if there is no doubt.
        """
        return ""

    def build_from_file(self, path: Path, lowercase: bool | None = None) -> Tokenizer:
        """Build a tokenizer from a bare vocabulary file; raises InputError for another file."""
        raise InputError(f"{path}: {self.title} has no vocabulary file.", "Give a model folder.")

    def inspect_file(
        self, path: Path, lowercase: bool | None = None
    ) -> tuple[Vocabulary, Splitter, tuple[Fault, ...]]:
        """Read a bare vocabulary file and list its faults, without raising an error for them."""
        raise InputError(f"{path}: {self.title} has no vocabulary file.", "Give a model folder.")

    def find_word_kinds(self, words: Sequence[str]) -> TokenKinds:
        """Return the token kinds of words, some of which may be tokens of this family."""
        return NO_KINDS

    # Edit

    def check_exact_words(self, tokenizer: Tokenizer) -> None:
        """Raise InputError if exact words would change how other words are tokenized."""
        return None

    def prepare_exact_words(self, tokenizer: Tokenizer) -> Tokenizer | None:
        """Return a copy that is ready for exact words, with the same tokens and ids; None if exact
        words need no preparation.

        `check_exact_words` accepts the copy, so a text must show that its tokens are the same.
        """
        return None

    @abstractmethod
    def add_exact_words(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy in which each of `tokens`, as a whole word, is one token with the next
        free id, and every other word is tokenized as before. A token that `can_activate` accepts
        keeps its id.
        """

    @abstractmethod
    def insert_tokens(self, tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
        """Return a copy whose vocabulary also has `tokens`, with the next free ids.

        They may also match in longer words. Raises InputError if they cannot be inserted.
        """

    @abstractmethod
    def replace_vocabulary(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> Tokenizer:
        """Return a copy with other tokens and ids; normalizer and template are kept."""

    # Train

    def check_trainer(self, trainer: str) -> None:
        """Raise InputError for a trainer that the family does not have."""
        if trainer not in self.trainers:
            raise self._build_trainer_error(trainer)

    def _build_trainer_error(self, trainer: str) -> InputError:
        return InputError(
            f"{self.title} tokenizers have no trainer {trainer!r}.",
            f"Choose one of: {', '.join(self.trainers) or 'none'}.",
            code="unknown-trainer",
        )

    def make_training_splitter(self, lowercase: bool) -> Splitter:
        """Return the splitter of the tokenizers that `build` makes."""
        return Splitter.bert(lowercase)

    def generate_tokens(
        self, vocabulary: Vocabulary, counts: Mapping[str, int], trainer: str
    ) -> Iterator[str]:
        """Generate tokens trained on the words of a text, best first, without special tokens.

        vocabulary: a vocabulary of this family, whose spelling the tokens use.
        """
        raise self._build_trainer_error(trainer)

    def train(
        self, counts: Mapping[str, int], size: int, trainer: str, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Train a vocabulary of at most `size` tokens, special tokens included."""
        raise self._build_trainer_error(trainer)

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build a tokenizer over trained tokens."""
        raise InputError(f"{self.title} tokenizers are not built from tokens.")

    def save(self, tokens: tuple[str, ...], lowercase: bool, max_length: int, folder: Path) -> None:
        """Write a tokenizer over trained tokens into a model folder, for transformers."""
        raise InputError(f"{self.title} tokenizers are not built from tokens.")


FAMILIES: dict[str, TokenizerFamily] = {}


def register_family(family: TokenizerFamily) -> None:
    """Add a family; raises InputError for a name that is taken or invalid.

    If two families recognize a tokenizer, it belongs to the one that was registered later.
    """
    register(FAMILIES, "a tokenizer family", family.name, family)


def family_of(tokenizer: Tokenizer) -> TokenizerFamily:
    """Return the family of a tokenizer; raises InputError if there is none."""
    found = find_family(_describe_parts(tokenizer))
    if found is None:
        raise _build_unsupported_error("The tokenizer", type(tokenizer.model).__name__)
    return found


def find_family(content: Json) -> TokenizerFamily | None:
    """Return the family of a parsed tokenizer.json; None if there is none."""
    families = reversed(FAMILIES.values())
    return next((family for family in families if family.recognizes(content)), None)


def find_trainer(trainer: str) -> TokenizerFamily:
    """Return the family that a trainer belongs to; raises InputError for an unknown trainer."""
    for family in FAMILIES.values():
        if trainer in family.trainers:
            return family
    raise InputError(
        f"Unknown trainer {trainer!r}.",
        f"Choose one of: {', '.join(list_trainers())}.",
        code="unknown-trainer",
    )


def list_trainers() -> dict[str, Trainer]:
    """Return the trainers of all families, by name."""
    trainers: dict[str, Trainer] = {}
    for family in FAMILIES.values():
        trainers.update(family.trainers)
    return trainers


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the vocabulary of a tokenizer, with its added tokens."""
    return family_of(tokenizer).read_vocabulary(tokenizer)


def read_tokenizer(path: str | Path, lowercase: bool | None = None) -> Tokenizer:
    """Read the fast tokenizer of a model folder, or build one from a bare vocabulary file.

    Stored truncation and padding are switched off.
    lowercase: casing of a bare file, or of a folder whose files do not state it; None to infer it
        from the tokens.
    Raises InputError if there is no vocabulary, or if its family is not supported.
    """
    path = Path(path)
    if not path.is_dir():
        tokenizer = FAMILIES[DEFAULT].build_from_file(path, lowercase)
    elif lowercase is not None and states_casing(path):
        raise InputError(
            f"{path} is a model folder, which stores its casing.",
            "Set the casing only for a vocab.txt.",
            code="stated-casing",
        )
    else:
        tokenizer = _read_folder(path, lowercase)
    problem = family_of(tokenizer).explain_unusable(tokenizer)
    if problem is not None:
        raise InputError(
            f"{path}: {problem}.",
            "Correct the files: no model can use them.",
            code="invalid-tokenizer",
        )
    tokenizer.no_truncation()  # a stored limit (128 in MiniLM) would silently truncate long text
    tokenizer.no_padding()
    return tokenizer


def find_word_kinds(words: Sequence[str]) -> TokenKinds:
    """Return the token kinds of words of a space without a model; some may be tokens."""
    return FAMILIES[DEFAULT].find_word_kinds(words)


def inspect_file(
    path: Path, lowercase: bool | None = None
) -> tuple[Vocabulary, Splitter, tuple[Fault, ...]]:
    """Read a bare vocabulary file and list its faults, without raising an error for them."""
    return FAMILIES[DEFAULT].inspect_file(path, lowercase)


def states_casing(folder: Path) -> bool:
    """Return whether the files of a model folder state the casing: most do."""
    if (folder / TOKENIZER).is_file():
        return True
    return all(family.states_casing(folder) for family in FAMILIES.values())


def explain_casing(path: Path, lowercase: bool | None = None) -> str:
    """Return how a model folder is read that does not state its casing, and what another reading
    would change; "" if there is no doubt.

    lowercase: the casing that was given, if any.
    """
    if lowercase is not None or not path.is_dir() or states_casing(path):
        return ""
    notes = (family.explain_casing(path) for family in FAMILIES.values())
    return " ".join(filter(None, notes))


def _read_folder(folder: Path, lowercase: bool | None) -> Tokenizer:
    """Read the tokenizer.json of a folder, or build a tokenizer from other files of a family."""
    # 1. A tokenizer.json is complete; it is checked and tested before it is loaded.
    content = check_tokenizer_files(folder, _check_model)
    if content is not None:
        if find_family(content) is None:
            raise _build_unsupported_error(
                f"{folder}: its tokenizer", str(content["model"].get("type"))
            )
        try_parts(content)
        with TokenizerErrors(
            f"{folder / TOKENIZER} cannot be read",
            "Download or save the model again.",
            "invalid-tokenizer-file",
        ):
            return Tokenizer.from_file(str(folder / TOKENIZER))
    # 2. Older models have only the files of their family, such as vocab.txt.
    for family in FAMILIES.values():
        tokenizer = family.build_from_folder(folder, lowercase)
        if tokenizer is not None:
            return tokenizer
    # 3. Report what the folder contains instead.
    names = {path.name for path in folder.iterdir() if path.is_file()}
    if "vocab.json" in names or any(name.endswith(".model") for name in names):
        raise InputError(
            f"{folder}: its vocabulary (vocab.json without merges.txt, or a .model file of"
            " SentencePiece) can be read only from a tokenizer.json, and it has none.",
            CONVERT.format(folder=folder),
            code="only-tokenizer-json",
        )
    raise InputError(
        f"{folder}: expected tokenizer.json or vocab.txt, found neither.",
        "Copy the files of the model's tokenizer into the folder.",
        code="no-tokenizer-file",
    )


def _check_model(content: Json) -> dict[str, int] | None:
    """Check the model of a tokenizer.json by its family; return None if no family recognizes it."""
    family = find_family(content)
    if family is None:
        return None
    return family.check_model(content["model"])


def _describe_parts(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return a tokenizer as in tokenizer.json, without the vocabulary: it is slow to serialize."""
    kind = {"type": type(tokenizer.model).__name__}
    return {"model": kind, **read_parts(tokenizer, ("normalizer", "pre_tokenizer", "decoder"))}


def _build_unsupported_error(what: str, kind: str) -> InputError:
    titles = " and ".join(family.title for family in FAMILIES.values())
    return InputError(
        f"{what} is {kind[:40]}, but vocadapt supports only {titles} models.",
        REMEDY,
        code="unsupported-tokenizer",
    )
