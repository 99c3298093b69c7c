"""Read the tokenizer of a model folder, or of a bare vocab.txt."""

from pathlib import Path

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.text.splitter import Splitter
from vocadapt.text.tokenization import TokenizerErrors
from vocadapt.vocabulary.families.family import (
    FAMILIES,
    build_unsupported_error,
    family_of,
    find_family,
    vocabulary_of,
)
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    CONVERT,
    TOKENIZER,
    TOKENIZER_CONFIG,
    Json,
    check_tokenizer_files,
)
from vocadapt.vocabulary.families.files.tokenizer_trial import try_parts
from vocadapt.vocabulary.families.files.vocab_file import (
    SPECIAL_TOKENS,
    Fault,
    is_lowercase,
    read_listing,
    read_tokens,
)
from vocadapt.vocabulary.families.wordpiece import (
    VOCAB_FILE,
    WordPieceVocabulary,
    build_tokenizer,
    read_normalizer_flags,
)
from vocadapt.vocabulary.vocabulary import Vocabulary


def read_tokenizer(path: str | Path, lowercase: bool | None = None) -> Tokenizer:
    """Read the fast tokenizer of a model folder, or build one from a bare vocabulary file.

    Stored truncation and padding are switched off.
    lowercase: casing of a bare file, or of a folder whose files do not state it; None to infer it
        from the tokens.
    Raises InputError if there is no vocabulary, or if its family is not supported.
    """
    path = Path(path)
    if not path.is_dir():
        tokenizer = build_tokenizer(read_tokens(path), lowercase)
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


def inspect_file(
    path: Path, lowercase: bool | None = None
) -> tuple[Vocabulary, Splitter, tuple[Fault, ...]]:
    """Read a vocab.txt and list its faults, without raising an error for them."""
    listing = read_listing(path)
    if lowercase is None:
        lowercase = is_lowercase(listing.tokens)
    special = frozenset(token for token in listing.tokens if token.upper() in SPECIAL_TOKENS)
    return (
        WordPieceVocabulary(listing.tokens, special),
        Splitter.bert(lowercase),
        listing.faults,
    )


def states_casing(folder: Path) -> bool:
    """Return whether the files of a model folder state the casing: only a vocab.txt needs another
    file for it.
    """
    is_bare = (folder / VOCAB_FILE).is_file() and not (folder / TOKENIZER).is_file()
    return not is_bare or "lowercase" in read_normalizer_flags(folder)


def explain_casing(path: Path, lowercase: bool | None = None) -> str:
    """Return how a folder whose vocab.txt has capital letters is read, and how transformers reads
    it: a BertTokenizer lowercases unless tokenizer_config.json says otherwise. "" if there is no
    doubt.

    lowercase: the casing that was given, if any.
    """
    if lowercase is not None or not path.is_dir() or states_casing(path):
        return ""
    tokens = read_tokens(path / VOCAB_FILE)
    if is_lowercase(tokens):
        return ""
    unreachable: list[int] = []
    for tokenizer in (build_tokenizer(tokens, False), build_tokenizer(tokens, True)):
        splitter = family_of(tokenizer).make_splitter(tokenizer)
        unreachable.append(len(vocabulary_of(tokenizer).find_unreachable(splitter)))
    return (
        f"No file states the casing of {VOCAB_FILE}. It is read as cased: {unreachable[0]:,} of its"
        f" {len(tokens):,} tokens are never produced. transformers reads it as uncased:"
        f" {unreachable[1]:,} are never produced. Give the casing, or set do_lower_case in"
        f" {TOKENIZER_CONFIG}."
    )


def _read_folder(folder: Path, lowercase: bool | None) -> Tokenizer:
    """Read the tokenizer.json of a folder, or build a tokenizer from other files of a family."""
    # 1. A tokenizer.json is complete; it is checked and tested before it is loaded.
    content = check_tokenizer_files(folder, _check_model)
    if content is not None:
        if find_family(content) is None:
            raise build_unsupported_error(
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
        if (tokenizer := family.build_from_folder(folder, lowercase)) is not None:
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
