"""Build the byte-level BPE tokenizer of a folder from its vocabulary and its merges, which older
models store in two files: vocab.json and merges.txt, or encoder.json and vocab.bpe.

The files contain neither the regular expression that splits a text nor the special tokens around
it: both depend on the class of the tokenizer, or the type of the model. LAYOUTS has those of
RoBERTa and GPT-2; transformers must convert all others. It is not called here, for it ignores the
declared ids of added tokens: it numbers them after the last entry of the vocabulary.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.system.files import (
    check_line_count,
    read_json_object,
    read_optional_json,
    read_whole,
    show_path,
)
from vocadapt.vocabulary.families.files.tokenizer_checks import (
    ADDED,
    CONVERT,
    REMEDY,
    SPECIAL_MAP,
    TOKEN_FLAGS,
    TOKENIZER_CONFIG,
    Json,
    UnfitError,
    check_merges,
    check_tokenizer,
    check_vocabulary,
)
from vocadapt.vocabulary.families.files.tokenizer_json import from_json
from vocadapt.vocabulary.vocabulary import ROLES

ROLE_NAMES = tuple(f"{role}_token" for role in (*ROLES, "bos", "eos"))
FILES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


@dataclass(frozen=True)
class Layout:
    """Special tokens and template of a kind of tokenizer.

    special: its special tokens by their keys in tokenizer_config.json.
    has_template: whether the template puts `cls_token` and `sep_token` around a text.
    """

    special: Mapping[str, str]
    has_template: bool = False


ROBERTA = Layout(
    {
        **{"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>"},
        **{"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"},
    },
    has_template=True,
)
GPT_2 = Layout(dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>"))
# By the tokenizer class without "Tokenizer" and "TokenizerFast", in lower case; by the model type.
LAYOUTS = {
    **dict.fromkeys(("roberta", "bart", "longformer", "led"), ROBERTA),
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj"), GPT_2),
}


def build_from_merges(folder: Path) -> Tokenizer | None:
    """Build the tokenizer of a folder from its vocabulary and merges; None if it lacks the files.

    Raises InputError for broken files, and for a kind of tokenizer that is not in LAYOUTS.
    """
    named = ((folder / entries, folder / merges) for entries, merges in FILES)
    entries, merges = next((pair for pair in named if all(map(Path.is_file, pair))), (None, None))
    if entries is None or merges is None:
        return None
    settings = _read_settings(folder)
    layout = _choose_layout(folder, settings)
    model = {
        "type": "BPE",
        "vocab": read_json_object(entries),
        "merges": _read_merges(merges),
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }
    try:
        ids = check_vocabulary(model)
        check_merges(model, ids)
        content = _build_content(model, ids, layout, settings)
        check_tokenizer(content, lambda _: dict(content["model"]["vocab"]))
    except UnfitError as error:
        raise InputError(
            f"{show_path(folder)}: {error}.", REMEDY, code="invalid-tokenizer"
        ) from None
    return from_json(content)


def _read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of all files of a folder; tokenizer_config.json takes precedence."""
    settings: dict[str, Any] = {}
    for name in ("config.json", SPECIAL_MAP, TOKENIZER_CONFIG):
        settings |= read_optional_json(folder / name)
    return settings | {ADDED: read_optional_json(folder / ADDED)}


def _choose_layout(folder: Path, settings: Json) -> Layout:
    kind = settings.get("tokenizer_class")
    if isinstance(kind, str):
        kind = kind.removesuffix("Fast").removesuffix("Tokenizer").lower()
    else:
        kind = settings.get("model_type")
    layout = LAYOUTS.get(str(kind))
    if layout is not None and not settings.get("add_bos_token"):
        return layout
    name = str(kind)[:40]
    problem = f"how a tokenizer of the kind {name!r} uses its vocabulary and merges is not known"
    if kind is None:
        problem = "its config.json does not name the type of the model"
    raise InputError(
        f"{show_path(folder)}: it has no tokenizer.json, and {problem} (known:"
        f" {', '.join(LAYOUTS)}).",
        CONVERT.format(folder=folder),
        code="unknown-model-type",
    )


def _read_merges(path: Path) -> list[list[str]]:
    """Return the merges in a file, one from each line; the first line may be a version comment."""
    try:
        text = read_whole(path).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{show_path(path)}: byte {error.start} is not valid UTF-8.", REMEDY, code="not-utf8"
        ) from None
    check_line_count(text, path)
    lines = text.split("\n")
    if lines[0].startswith("#version"):
        del lines[0]
    merges: list[list[str]] = []
    for line in lines:
        if line.strip():
            merges.append(line.split(" "))
    return merges


def _build_content(
    model: dict[str, Any], ids: dict[str, int], layout: Layout, settings: Json
) -> dict[str, Any]:
    """Return the tokenizer.json of a tokenizer.

    Raises UnfitError if a token has two ids.
    """
    added = _list_added_tokens(ids, layout, settings)
    # The library ignores the id of an added token that is no entry, and numbers without gaps.
    entries = {**ids, **{token: int(one["id"]) for token, one in added.items()}}
    taken = set(entries.values())
    gaps = (i for i in range(max(taken, default=0)) if i not in taken)
    entries |= {f"[no token {i}]": i for i in gaps}
    prefix = bool(settings.get("add_prefix_space", False))
    byte_level = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
    pre_tokenizer = {**byte_level, "add_prefix_space": prefix}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added.values(), key=lambda token: int(token["id"])),
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": {**pre_tokenizer, "trim_offsets": False},
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {**model, "vocab": entries},
    }
    if layout.has_template:
        around = {
            name: _read_token(layout, settings, f"{name}_token")[0] for name in ("sep", "cls")
        }
        content["post_processor"] = {
            "type": "RobertaProcessing",
            "trim_offsets": True,
            "add_prefix_space": prefix,
            **{name: [token, added[token]["id"]] for name, token in around.items()},
        }
    return content


def _list_added_tokens(
    ids: Mapping[str, int], layout: Layout, settings: Json
) -> dict[str, dict[str, Any]]:
    """Return the tokens that are matched before pre-tokenization: special tokens, and those of
    added_tokens.json. A token without an id gets the next one.

    Raises UnfitError if a token has two ids.
    """
    decoder: Mapping[str, Any] = settings.get("added_tokens_decoder") or {}
    declared = [*settings[ADDED].items(), *((one["content"], int(i)) for i, one in decoder.items())]
    own = dict(ids)
    for token, i in declared:
        if own.setdefault(token, i) != i:
            raise UnfitError(f"the token {token!r} has two ids, {own[token]:,} and {i:,}")
    plain = {"single_word": False, "lstrip": False, "rstrip": False}
    found: dict[str, dict[str, Any]] = {}
    # 1. The tokens of added_tokens.json and of "added_tokens_decoder".
    for token in settings[ADDED]:
        found[token] = {"content": token, **plain, "normalized": True, "special": False}
    for token in decoder.values():
        found[token["content"]] = {**plain, "normalized": True, "special": False, **token}
    # 2. The special tokens, with the flags that are declared.
    for token, flags in _list_special_tokens(layout, settings):
        known = found.get(token, {})
        own.setdefault(token, max(own.values(), default=-1) + 1)
        found[token] = {"content": token, **plain, "normalized": False, **known, **flags}
        found[token]["special"] = True
    return {token: {**one, "id": own[token]} for token, one in found.items()}


def _list_special_tokens(layout: Layout, settings: Json) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield the special tokens of all roles and the additional ones, with their declared flags."""
    for name in dict.fromkeys([*layout.special, *ROLE_NAMES]):
        if settings.get(name) or name in layout.special:
            yield _read_token(layout, settings, name)
    others = settings.get("additional_special_tokens") or ()
    for declared in others.values() if isinstance(others, dict) else others:
        yield _read_declared(declared)


def _read_token(layout: Layout, settings: Json, name: str) -> tuple[str, dict[str, bool]]:
    """Return a special token, as declared or else that of the layout, and its declared flags."""
    declared = settings.get(name) or layout.special[name]
    token, flags = _read_declared(declared)
    if name == "mask_token" and not isinstance(declared, dict):
        flags = {"lstrip": True}  # the mask of RoBERTa takes the space before it
    return token, flags


def _read_declared(declared: object) -> tuple[str, dict[str, bool]]:
    if not isinstance(declared, dict):
        return str(declared), {}
    flags = {flag: bool(declared[flag]) for flag in TOKEN_FLAGS if flag in declared}
    return str(declared["content"]), flags
