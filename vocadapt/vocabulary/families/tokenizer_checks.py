"""Checks of the tokenizer files of a model folder before a library reads them.

They cover types, bounds of ids, and one token per id. The effect of normalizers on text is tested
in `trial`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import read_json_object, show_path

TOKENIZER, CONFIG, SPECIAL_MAP, ADDED = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
MAX_TOKENS = 10_000_000  # upper limit of ids, so that a list of all tokens by id stays small
MAX_WORD = 1_000  # maximum characters of a word for WordPiece: its time grows with the third power
MAX_SHOWN = 60  # characters of a value in a message
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
_EXPECTED_ID = f"a whole number below {MAX_TOKENS:,}"
REMEDY = "Correct the file, or download the model again."

Json = Mapping[str, Any]


class UnfitError(Exception):
    """A problem in a file; converted to an InputError that names the file."""


def check_tokenizer_files(
    folder: Path, check_model: Callable[[Json], dict[str, int] | None]
) -> dict[str, Any] | None:
    """Read tokenizer.json of a folder, None if there is none; raise InputError if a tokenizer file
    is invalid.

    Also checks tokenizer_config.json, special_tokens_map.json and added_tokens.json, which
    transformers reads.
    check_model: checks the model of a tokenizer.json and returns its ids by token; None if no
    family can read it: such a file is refused later, with its own message.
    """
    checks: dict[str, Callable[[Json], None]] = {
        TOKENIZER: lambda content: _check_tokenizer(content, check_model),
        CONFIG: _check_config,
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
            raise InputError(f"{show_path(path)}: {error}.", REMEDY) from None
    return found.get(TOKENIZER)


def _check_tokenizer(content: Json, check_model: Callable[[Json], dict[str, int] | None]) -> None:
    """Check tokenizer.json: the model, the added tokens, and tokens named by other parts."""
    model = content.get("model")
    _demand(isinstance(model, dict), '"model"', model, "an object")
    for part in PARTS:
        value = content.get(part)
        _demand(value is None or isinstance(value, dict), f'"{part}"', value, "an object")
    ids = check_model(content)
    if ids is None:
        return
    added = content.get("added_tokens") or []
    _demand(isinstance(added, list), '"added_tokens"', added, "a list")
    for token in added:
        _demand(isinstance(token, dict), "an added token", token, "an object")
        _check_added_token(token)
        _demand(
            is_id(token.get("id")),
            f"the id of {_shown(token['content'])}",
            token.get("id"),
            _EXPECTED_ID,
        )
        known = ids.setdefault(token["content"], token["id"])
        if known != token["id"]:
            raise UnfitError(
                f"the token {_shown(token['content'])} has two ids, {known:,} and {token['id']:,}"
            )
    _refuse_shared_ids(ids)
    _check_post_processor(content.get("post_processor"), ids)


def check_vocabulary(model: Json) -> dict[str, int]:
    """Check a vocabulary that is an object from tokens to ids; return it."""
    vocabulary = model.get("vocab")
    _demand(isinstance(vocabulary, dict), '"vocab"', vocabulary, "an object from tokens to ids")
    assert isinstance(vocabulary, dict)
    if len(vocabulary) > MAX_TOKENS:
        raise UnfitError(f"{len(vocabulary):,} tokens, more than {MAX_TOKENS:,}")
    wrong = next((token for token, i in vocabulary.items() if not is_id(i)), None)
    if wrong is not None:
        raise UnfitError(
            f"the id of {_shown(wrong)} is {_shown(vocabulary[wrong])}, expected {_EXPECTED_ID}"
        )
    return dict(vocabulary)


def check_wordpiece_model(model: Json) -> dict[str, int]:
    """Check a WordPiece model; return its ids by token."""
    ids = check_vocabulary(model)
    for key in ("unk_token", "continuing_subword_prefix"):
        _demand(isinstance(model.get(key, ""), str), f'"{key}"', model.get(key), "a text")
    longest = model.get("max_input_chars_per_word", 100)
    bounded = (
        isinstance(longest, int) and not isinstance(longest, bool) and 1 <= longest <= MAX_WORD
    )
    _demand(
        bounded, '"max_input_chars_per_word"', longest, f"a whole number from 1 to {MAX_WORD:,}"
    )
    return ids


def _refuse_shared_ids(ids: Mapping[str, int]) -> None:
    first: dict[int, str] = {}
    for token, i in ids.items():
        other = first.setdefault(i, token)
        if other != token:
            raise UnfitError(
                f"two tokens with one id: {_shown(other)} and {_shown(token)} are both {i:,}"
            )


def _check_post_processor(part: Any, ids: Mapping[str, int]) -> None:
    """Check that the special tokens added to a text are in the vocabulary, with the same ids."""
    largest = max(ids.values(), default=-1)
    for token, i in _special_tokens(part):
        if token not in ids or i > largest:
            raise UnfitError(
                f'"post_processor" adds {_shown(token)} with the id {i:,}, which the vocabulary'
                " lacks"
            )


def _special_tokens(part: Any) -> Iterator[tuple[Any, Any]]:
    """Return the special tokens, with ids, that a post-processor adds to a text."""
    if not isinstance(part, dict):
        return
    pairs = [
        part[name] for name in ("sep", "cls") if name in part
    ]  # BertProcessing, RobertaProcessing
    special = part.get("special_tokens") or {}  # TemplateProcessing
    _demand(isinstance(special, dict), '"special_tokens"', special, "an object")
    for entry in special.values():
        lists = (
            isinstance(entry, dict)
            and isinstance(entry.get("tokens"), list)
            and isinstance(entry.get("ids"), list)
        )
        _demand(
            lists and len(entry["tokens"]) == len(entry["ids"]),
            "a special token",
            entry,
            "its tokens and as many ids",
        )
        pairs += [list(pair) for pair in zip(entry["tokens"], entry["ids"], strict=True)]
    for pair in pairs:
        fits = (
            isinstance(pair, list)
            and len(pair) == 2
            and isinstance(pair[0], str)
            and is_id(pair[1])
        )
        _demand(fits, "a special token", pair, "a token and its id")
        yield pair[0], pair[1]
    inner = part.get("processors") or []  # Sequence
    _demand(isinstance(inner, list), '"processors"', inner, "a list")
    for one in inner:
        yield from _special_tokens(one)


def _check_config(content: Json) -> None:
    """Check the tokens and settings of tokenizer_config.json."""
    decoder = content.get("added_tokens_decoder")
    _demand(
        decoder is None or isinstance(decoder, dict),
        '"added_tokens_decoder"',
        decoder,
        "an object from ids to tokens",
    )
    for i, token in (decoder or {}).items():
        _demand(
            i.isdecimal() and is_id(int(i[:20])), 'a key of "added_tokens_decoder"', i, _EXPECTED_ID
        )
        _demand(isinstance(token, dict), f"the added token {i}", token, "an object")
        _check_added_token(token)
    name, longest = content.get("tokenizer_class"), content.get("model_max_length")
    _demand(name is None or isinstance(name, str), '"tokenizer_class"', name, "a name")
    counted = longest is None or (
        isinstance(longest, int | float) and not isinstance(longest, bool) and longest >= 0
    )
    _demand(counted, '"model_max_length"', longest, "a number of tokens")
    for side in ("padding_side", "truncation_side"):
        _demand(
            content.get(side) in (None, "left", "right"),
            f'"{side}"',
            content.get(side),
            "left or right",
        )
    for flag in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        _demand(
            isinstance(content.get(flag), bool | None),
            f'"{flag}"',
            content.get(flag),
            "true or false",
        )
    _check_special(content)


def _check_special(content: Json) -> None:
    """Check the special tokens of tokenizer_config.json and special_tokens_map.json."""
    for role, value in content.items():
        if role in ("additional_special_tokens", "extra_special_tokens"):
            _demand(
                value is None or isinstance(value, list | dict),
                f'"{role}"',
                value,
                "a list of tokens",
            )
            tokens: Iterable[Any] = value.values() if isinstance(value, dict) else value or ()
        elif role.endswith("_token") and not role.startswith(("add_", "split_")):
            tokens = [value]
        else:
            continue
        for token in tokens:
            _demand(token is None or isinstance(token, str | dict), f'"{role}"', token, "a token")
            if isinstance(token, dict):
                _check_added_token(token)


def _check_added(content: Json) -> None:
    """Check added_tokens.json (token -> id)."""
    for token, i in content.items():
        _demand(is_id(i), f"the id of {_shown(token)}", i, _EXPECTED_ID)
    _refuse_shared_ids(content)


def _check_added_token(token: Json) -> None:
    """Check the content and flags of an AddedToken in JSON."""
    _demand(
        isinstance(token.get("content"), str),
        "the content of an added token",
        token.get("content"),
        "a text",
    )
    for flag in FLAGS:
        value = token.get(flag, False)
        _demand(
            isinstance(value, bool),
            f'"{flag}" of {_shown(token["content"])}',
            value,
            "true or false",
        )


def is_id(value: Any) -> bool:
    """Return whether a value can be the id of a token."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOKENS


def _demand(holds: bool, what: str, value: Any, expected: str) -> None:
    """Raise UnfitError if a value does not have the required form."""
    if not holds:
        raise UnfitError(f"{what} is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    """Format a value for a message."""
    text = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
