"""TokenizerFamily: what differs between kinds of tokenizers, and the registry of the families.

A family reads, builds, trains and edits the tokenizers of one kind; its Vocabulary spells tokens
and tokenizes words. To add a family, derive both classes in a new module and call
`register_family`. No other module names a family.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.extensions import register
from vocadapt.progress import Progress, silent
from vocadapt.text.splitter import Splitter
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    Json,
)
from vocadapt.vocabulary.families.files.tokenizer_json import read_parts
from vocadapt.vocabulary.vocabulary import Vocabulary

DEFAULT = "wordpiece"  # family of a bare vocabulary file, and of words without a model
# Special tokens of RoBERTa and XLM-R, by role.
ROBERTA_TOKENS = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
REMEDY = "Choose a BERT-type model, such as bert-base-uncased."


@dataclass(frozen=True)
class Trainer:
    """A way to train a vocabulary, with its explanation and source, for menus and help."""

    about: str
    source: str


class TokenizerFamily(ABC):
    """A kind of tokenizer.

    name: its key in FAMILIES; title: its name in messages.
    trainers: ways to train a vocabulary, by name; empty if the family has none.
    exceptions: places where exact-word tokenization departs from its rule, as part of a sentence.
    special_tokens: special tokens of a tokenizer that is trained from scratch, by role, in the
        order of ids.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    exceptions: ClassVar[str] = ""
    trainers: Mapping[str, Trainer] = {}
    special_tokens: Mapping[str, str] = ROBERTA_TOKENS

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
            raise InputError(
                f"{self.title} tokenizers have no trainer {trainer!r}.",
                f"Choose one of: {', '.join(self.trainers) or 'none'}.",
                code="unknown-trainer",
            )

    def make_training_splitter(self, lowercase: bool) -> Splitter:
        """Return the splitter of the tokenizers that `build` makes."""
        return Splitter.bert(lowercase)

    # A family without trainers does not override these.

    def generate_tokens(
        self, vocabulary: Vocabulary, counts: Mapping[str, int], trainer: str
    ) -> Iterator[str]:
        """Generate tokens trained on the words of a text, best first, without special tokens.

        vocabulary: a vocabulary of this family, whose spelling the tokens use.
        """
        raise NotImplementedError

    def train(
        self, counts: Mapping[str, int], size: int, trainer: str, progress: Progress = silent
    ) -> tuple[str, ...]:
        """Train a vocabulary of at most `size` tokens, special tokens included."""
        raise NotImplementedError

    def build(self, tokens: tuple[str, ...], lowercase: bool) -> Tokenizer:
        """Build a tokenizer over trained tokens."""
        raise NotImplementedError

    def save(self, tokens: tuple[str, ...], lowercase: bool, max_length: int, folder: Path) -> None:
        """Write a tokenizer over trained tokens into a model folder, for transformers."""
        from transformers import PreTrainedTokenizerFast

        roles = {f"{role}_token": token for role, token in self.special_tokens.items()}
        PreTrainedTokenizerFast(
            tokenizer_object=self.build(tokens, lowercase), model_max_length=max_length, **roles
        ).save_pretrained(folder)


FAMILIES: dict[str, TokenizerFamily] = {}


def register_family(family: TokenizerFamily) -> None:
    """Add a family; raises InputError for a name that is taken or invalid.

    If two families recognize a tokenizer, it belongs to the one that was registered later.
    """
    register(FAMILIES, "a tokenizer family", family.name, family)


def family_of(tokenizer: Tokenizer) -> TokenizerFamily:
    """Return the family of a tokenizer; raises InputError if there is none."""
    kind = type(tokenizer.model).__name__
    # The vocabulary is slow to serialize, and not needed.
    parts = read_parts(tokenizer, ("normalizer", "pre_tokenizer", "decoder"))
    found = find_family({"model": {"type": kind}, **parts})
    if found is None:
        raise build_unsupported_error("The tokenizer", kind)
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


def build_unsupported_error(what: str, kind: str) -> InputError:
    """Return the error for a tokenizer of no family."""
    titles = " and ".join(family.title for family in FAMILIES.values())
    return InputError(
        f"{what} is {kind[:40]}, but vocadapt supports only {titles} models.",
        REMEDY,
        code="unsupported-tokenizer",
    )
