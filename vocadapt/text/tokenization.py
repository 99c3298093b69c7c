"""Calls of the tokenizers library on text: its exceptions and panics become InputError.

Use `encode` and `encode_batch` instead of the methods of the same names, `tokenizer_errors` around
other calls.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from tokenizers import Encoding, Tokenizer

from vocadapt.errors import InputError
from vocadapt.progress import report_block

MAX_TEXTS, MAX_CHARACTERS = 10_000, 4_000_000  # per block: enough to keep all cores busy
LONG_TEXT = 10_000  # characters; a shorter text alone is not reported
MAX_MESSAGE_LENGTH = 200  # characters of a library's message


@dataclass(frozen=True)
class TokenizerErrors:
    """Context manager: convert exceptions and panics of the tokenizers library into an InputError.

    The library raises bare `Exception`; a panic of its Rust code is a `PanicException`, which
    derives from BaseException and cannot be imported, so it is recognized by its name.
    """

    problem: str
    remedy: str
    code: str

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.convert(error)

    def convert(self, error: BaseException) -> None:
        """Raise the InputError for an error of the library; do nothing for others.

        Code that runs for each word calls this, because a context manager would be slower.
        """
        if not isinstance(error, InputError) and is_library_error(error):
            raise InputError(
                f"{self.problem} ({summarize_error(error)}).", self.remedy, code=self.code
            ) from error


tokenizer_errors = TokenizerErrors(
    "The model's tokenizer failed on a text",
    "Check the patterns in its tokenizer.json, or choose another model.",
    "tokenizer-failure",
)


def is_library_error(error: BaseException) -> bool:
    """Return whether an error can come from the tokenizers library: an Exception, or a Rust panic.

    A MemoryError is not caused by a bad file, and has its own message.
    """
    if isinstance(error, MemoryError):
        return False
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def summarize_error(error: BaseException) -> str:
    """Return the beginning of an error message, on one line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:MAX_MESSAGE_LENGTH]


def encode(tokenizer: Tokenizer, text: str, add_special_tokens: bool = True) -> Encoding:
    """Tokenize one text."""
    if len(text) > LONG_TEXT:
        return encode_batch(tokenizer, [text], add_special_tokens)[0]
    try:
        return tokenizer.encode(text, add_special_tokens=add_special_tokens)
    except BaseException as error:
        tokenizer_errors.convert(error)
        raise


def encode_batch(
    tokenizer: Tokenizer, texts: Sequence[str], add_special_tokens: bool = True
) -> list[Encoding]:
    """Tokenize texts block by block; each block is reported to the watchdog."""
    found: list[Encoding] = []
    for block in _split_into_blocks(texts):
        with (
            report_block(f"{len(block):,} texts, the first begins with {block[0][:40]!r}"),
            tokenizer_errors,
        ):
            found += tokenizer.encode_batch(block, add_special_tokens=add_special_tokens)
    return found


def normalize(tokenizer: Tokenizer, text: str) -> str:
    """Normalize a text; without a normalizer, return it unchanged."""
    if tokenizer.normalizer is None:
        return text
    with tokenizer_errors:
        normalized: str = tokenizer.normalizer.normalize_str(text)
        return normalized


def _split_into_blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split texts into blocks of bounded number and total length."""
    block: list[str] = []
    characters = 0
    for text in texts:
        if block and (len(block) == MAX_TEXTS or characters + len(text) > MAX_CHARACTERS):
            yield block
            block, characters = [], 0
        block.append(text)
        characters += len(text)
    if block:
        yield block
