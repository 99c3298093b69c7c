"""Check the tokenizer files of a model folder before a library reads them.

The checks cover types, ranges of ids, and that each id has only one token. The effect of
normalizers on text is tested in `tokenizer_trial`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.settings import Bounds
from vocadapt.system.files import read_json_object, show_path

TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
SPECIAL_MAP = "special_tokens_map.json"
ADDED = "added_tokens.json"
MAX_TOKENS = 10_000_000  # upper limit of ids: a list of all tokens by id must fit in memory
# Longest word of WordPiece, whose time grows with the third power of the length.
WORD_LENGTHS = Bounds(1, 1_000)
# Characters of a token: the library frees those of a Unigram model by recursion, a level for each
# byte, so a token of a million ends the process. The longest of Llama 3 has 128.
MAX_TOKEN_LENGTH = 10_000
EXTRA_IDS = Bounds(0, 10_000)  # number of sentinel tokens of T5
MAX_SHOWN = 60  # characters of a value in a message
EXPECTED_ID = f"a whole number below {MAX_TOKENS:,}"
REMEDY = "Correct the file, or download the model again."
CONVERT = (  # remedy for a model without tokenizer.json
    'Save its tokenizer as tokenizer.json: python -c "from transformers import AutoTokenizer;'
    " AutoTokenizer.from_pretrained('{folder}').save_pretrained('{folder}')\" (for a .model file,"
    " install the package sentencepiece before)."
)
# Types of entries that may be missing, with the names of the types in messages.
OBJECT = (dict, "an object")
LIST = (list, "a list")
FLAG = (bool, "true or false")
TOKENIZER_TYPES = {
    **dict.fromkeys(
        ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"),
        OBJECT,
    ),
    "added_tokens": LIST,
}
PROCESSOR_TYPES = {"special_tokens": OBJECT, "processors": LIST}
CONFIG_TYPES = {
    "added_tokens_decoder": (dict, "an object from ids to tokens"),
    "tokenizer_class": (str, "a name"),
    **dict.fromkeys(
        (
            "do_lower_case",
            "keep_accents",
            "split_by_punct",
            "strip_accents",
            "tokenize_chinese_chars",
        ),
        FLAG,
    ),
}
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))  # of byte fallback, by byte
TOKEN_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")

Json = Mapping[str, Any]

is_id = Bounds(0, MAX_TOKENS - 1).accepts  # whether a value can be the id of a token


class UnfitError(Exception):
    """A problem in a file; converted to an InputError that names the file."""


def check_tokenizer_files(
    folder: Path, check_model: Callable[[Json], dict[str, int] | None]
) -> dict[str, Any] | None:
    """Read tokenizer.json of a folder; return None if there is none. Raises InputError if a
    tokenizer file is invalid.

    Also checks tokenizer_config.json, special_tokens_map.json and added_tokens.json, which
    transformers reads.
    check_model: checks the model of a tokenizer.json and returns its ids by token, or None if no
    family recognizes it; the caller raises the error for such a file.
    """
    checks: dict[str, Callable[[Json], None]] = {
        TOKENIZER: lambda content: check_tokenizer(content, check_model),
        TOKENIZER_CONFIG: _check_config,
        SPECIAL_MAP: _check_special,
        ADDED: _check_added,
    }
    found: dict[str, dict[str, Any]] = {}
    for name, check in checks.items():
        path = folder / name
        if not path.exists() and not path.is_symlink():
            continue
        found[name] = read_json_object(path)
        try:
            check(found[name])
        except UnfitError as error:
            raise InputError(
                f"{show_path(path)}: {error}.", REMEDY, code="invalid-tokenizer"
            ) from None
    return found.get(TOKENIZER)


def check_tokenizer(content: Json, check_model: Callable[[Json], dict[str, int] | None]) -> None:
    """Check a parsed tokenizer.json: the model, the added tokens, and tokens named by other parts.

    Raises UnfitError if it is invalid.
    """
    # 1. Check the model, and the types of all parts.
    model = content.get("model")
    _demand(isinstance(model, dict), '"model"', model, "an object")
    _check_types(content, TOKENIZER_TYPES)
    ids = check_model(content)
    if ids is None:
        return

    # 2. Check the added tokens: the library does not check their ids, and none must have two.
    for token in content.get("added_tokens") or ():
        _check_added_token(token, "an added token")
        name = token["content"]
        i = token.get("id")
        _demand(is_id(i), f"the id of {_format_value(name)}", i, EXPECTED_ID)
        known = ids.setdefault(name, i)
        if known != i:
            raise UnfitError(f"the token {_format_value(name)} has two ids, {known:,} and {i:,}")
    _refuse_shared_ids(ids)

    # 3. Check the special tokens that are added to a text.
    _check_post_processor(content.get("post_processor"), ids)


def _check_post_processor(part: Any, ids: Mapping[str, int]) -> None:
    """Check that the special tokens added to a text are in the vocabulary, with its ids."""
    for pair in _list_special_tokens(part):
        is_pair = isinstance(pair, list) and len(pair) == 2
        fits = is_pair and isinstance(pair[0], str) and is_id(pair[1])
        _demand(fits, "a special token", pair, "a token and its id")
        token, i = pair
        if ids.get(token) == i:
            continue
        contradiction = "which the vocabulary lacks"
        if token in ids and i in ids.values():
            contradiction = f"and the vocabulary has it with the id {ids[token]:,}"
        raise UnfitError(
            f'"post_processor" adds {_format_value(token)} with the id {i:,}, {contradiction}'
        )


def check_vocabulary(model: Json) -> dict[str, int]:
    """Check a vocabulary that is an object from tokens to ids; return it."""
    vocabulary = model.get("vocab")
    _demand(isinstance(vocabulary, dict), '"vocab"', vocabulary, "an object from tokens to ids")
    assert isinstance(vocabulary, dict)
    if len(vocabulary) > MAX_TOKENS:
        raise UnfitError(f"{len(vocabulary):,} tokens, more than {MAX_TOKENS:,}")
    for token, i in vocabulary.items():
        _check_length(token)
        if not is_id(i):
            raise UnfitError(
                f"the id of {_format_value(token)} is {_format_value(i)}, expected {EXPECTED_ID}"
            )
    return dict(vocabulary)


def check_merges(model: Json, ids: Mapping[str, int]) -> None:
    """Check the merges of a BPE model: each has two parts and a result in the vocabulary."""
    merges = model.get("merges")
    _demand(isinstance(merges, list), '"merges"', merges, "a list of pairs of tokens")
    assert isinstance(merges, list)
    for rank, merge in enumerate(merges):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        is_pair = isinstance(parts, list) and len(parts) == 2
        fits = is_pair and all(isinstance(part, str) for part in parts)
        _demand(fits, f"merge {rank:,}", merge, "two tokens")
        for token in (*parts, "".join(parts)):
            if token not in ids:
                raise UnfitError(
                    f"merge {rank:,} is {_format_value(parts)}, and the vocabulary lacks"
                    f" {_format_value(token)}"
                )
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        _demand(model.get(key) in (None, ""), f'"{key}"', model.get(key), "none")
    _demand(not model.get("dropout"), '"dropout"', model.get("dropout"), "none: it is random")
    _check_types(
        model, {"ignore_merges": FLAG, "byte_fallback": FLAG, "unk_token": (str, "a text")}
    )


def check_wordpiece_model(model: Json) -> dict[str, int]:
    """Check a WordPiece model; return its ids by token."""
    ids = check_vocabulary(model)
    for key in ("unk_token", "continuing_subword_prefix"):
        _demand(isinstance(model.get(key, ""), str), f'"{key}"', model.get(key), "a text")
    key = "max_input_chars_per_word"
    longest = model.get(key, 100)
    _demand(WORD_LENGTHS.accepts(longest), f'"{key}"', longest, str(WORD_LENGTHS))
    return ids


def check_unigram_model(model: Json) -> dict[str, int]:
    """Check a Unigram model: a list of tokens with scores; return its ids by token."""
    # 1. Each token appears once, with a score.
    pieces = model.get("vocab")
    fits = isinstance(pieces, list) and 0 < len(pieces) <= MAX_TOKENS
    _demand(fits, '"vocab"', pieces, "a list of tokens with their scores")
    assert isinstance(pieces, list)
    ids: dict[str, int] = {}
    for i, piece in enumerate(pieces):
        is_pair = isinstance(piece, list) and len(piece) == 2 and isinstance(piece[0], str)
        if not is_pair:
            raise UnfitError(f"entry {i:,} is {_format_value(piece)}, expected a token and a score")
        token, score = piece
        _check_length(token)
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if not is_number or not math.isfinite(score):
            raise UnfitError(
                f"the score of {_format_value(token)} is {_format_value(score)}, expected a finite"
                " number"
            )
        if ids.setdefault(token, i) != i:
            raise UnfitError(
                f"the token {_format_value(token)} has two ids, {ids[token]:,} and {i:,}"
            )
    # 2. The unknown token and the tokens of bytes are among them.
    unknown = model.get("unk_id")
    is_known = unknown is None or (is_id(unknown) and unknown < len(pieces))
    _demand(is_known, '"unk_id"', unknown, f"a whole number below {len(pieces):,}")
    _check_types(model, {"byte_fallback": FLAG})
    missing = [token for token in BYTE_TOKENS if token not in ids]
    if model.get("byte_fallback") and missing:
        raise UnfitError(f"byte fallback needs the token {missing[0]}, which the vocabulary lacks")
    return ids


def _check_length(token: str) -> None:
    if len(token) > MAX_TOKEN_LENGTH:
        raise UnfitError(
            f"the token {_format_value(token)} has {len(token):,} characters, more than"
            f" {MAX_TOKEN_LENGTH:,}"
        )


def _refuse_shared_ids(ids: Mapping[str, int]) -> None:
    first: dict[int, str] = {}
    for token, i in ids.items():
        other = first.setdefault(i, token)
        if other != token:
            raise UnfitError(
                f"two tokens with one id: {_format_value(other)} and {_format_value(token)} both"
                f" have {i:,}"
            )


def _list_special_tokens(part: Any) -> Iterator[Any]:
    """Yield the [token, id] pairs that a post-processor adds to a text, at any depth."""
    if not isinstance(part, dict):
        return
    _check_types(part, PROCESSOR_TYPES)
    # 1. BertProcessing and RobertaProcessing store the pairs themselves.
    yield from (part[name] for name in ("sep", "cls") if name in part)
    # 2. TemplateProcessing stores lists of tokens and ids.
    for entry in (part.get("special_tokens") or {}).values():
        lists: list[Any] = []
        if isinstance(entry, dict):
            lists = [entry.get("tokens"), entry.get("ids")]
        fits = lists != [] and all(isinstance(one, list) for one in lists)
        fits = fits and len(lists[0]) == len(lists[1])
        _demand(fits, "a special token", entry, "its tokens and as many ids")
        yield from map(list, zip(*lists, strict=True))
    # 3. A Sequence has parts.
    for inner in part.get("processors") or ():
        yield from _list_special_tokens(inner)


def _check_config(content: Json) -> None:
    _check_types(content, CONFIG_TYPES)
    for i, token in (content.get("added_tokens_decoder") or {}).items():
        known = i.isdecimal() and is_id(int(i[:20]))  # int() of a very long string is slow
        _demand(known, 'a key of "added_tokens_decoder"', i, EXPECTED_ID)
        _check_added_token(token, f"the added token {i}")
    longest = content.get("model_max_length", 0)
    is_number = isinstance(longest, int | float) and not isinstance(longest, bool)
    counts = longest is None or (is_number and longest >= 0)
    _demand(counts, '"model_max_length"', longest, "a number of tokens")
    key = "extra_ids"
    _demand(EXTRA_IDS.accepts(content.get(key, 0)), f'"{key}"', content.get(key), str(EXTRA_IDS))
    for key in ("padding_side", "truncation_side"):
        side = content.get(key)
        _demand(side in (None, "left", "right"), f'"{key}"', side, "left or right")
    _check_special(content)


def _check_special(content: Json) -> None:
    """Check the special tokens of tokenizer_config.json and special_tokens_map.json."""
    for role, value in content.items():
        tokens: Iterable[Any] = ()
        if role in ("additional_special_tokens", "extra_special_tokens"):
            _demand(isinstance(value, list | dict | None), f'"{role}"', value, "a list of tokens")
            tokens = value or ()
            if isinstance(value, dict):
                tokens = value.values()
        elif role.endswith("_token") and not role.startswith(("add_", "split_")):
            tokens = [value]
        for token in tokens:
            _demand(isinstance(token, str | dict | None), f'"{role}"', token, "a token")
            if isinstance(token, dict):
                _check_added_token(token, "a token")


def _check_added(content: Json) -> None:
    for token, i in content.items():
        _demand(is_id(i), f"the id of {_format_value(token)}", i, EXPECTED_ID)
    _refuse_shared_ids(content)


def _check_added_token(token: Any, what: str) -> None:
    """Check the content and flags of an AddedToken in JSON; `what` names it in a message."""
    _demand(isinstance(token, dict), what, token, "an object")
    name = token.get("content")
    _demand(isinstance(name, str), "the content of an added token", name, "a text")
    _check_length(name)
    for flag in TOKEN_FLAGS:
        value = token.get(flag, False)
        _demand(isinstance(value, bool), f'"{flag}" of {_format_value(name)}', value, FLAG[1])


def _check_types(content: Json, types: Mapping[str, tuple[type, str]]) -> None:
    for key, (kind, expected) in types.items():
        value = content.get(key)
        _demand(value is None or isinstance(value, kind), f'"{key}"', value, expected)


def _demand(holds: bool, what: str, value: Any, expected: str) -> None:
    if not holds:
        raise UnfitError(f"{what} is {_format_value(value)}, expected {expected}")


def _format_value(value: Any) -> str:
    """Format a value for a message: a shortened text or number, or the type of a list or object."""
    text = repr(value)
    if isinstance(value, dict | list):
        text = type(value).__name__
    if len(text) > MAX_SHOWN:
        text = f"{text[:MAX_SHOWN]}…"
    return text
