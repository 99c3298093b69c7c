"""Find the special token of each role (padding, mask, …) in the files of a model."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from vocadapt.system.files import read_optional_json
from vocadapt.vocabulary.families.files.tokenizer_checks import SPECIAL_MAP, TOKENIZER_CONFIG
from vocadapt.vocabulary.families.files.tokenizer_json import read_parts
from vocadapt.vocabulary.vocabulary import ROLES

# Keys of tokenizer_config.json by role, the first one first.
ROLE_KEYS = {
    **{role: (f"{role}_token",) for role in ROLES},
    "cls": ("cls_token", "bos_token"),
    "sep": ("sep_token", "eos_token"),
}
# Keys of config.json by role.
CONFIG_IDS = {
    "pad": ("pad_token_id",),
    "cls": ("cls_token_id", "bos_token_id"),
    "sep": ("sep_token_id", "eos_token_id"),
}
# Usual names of special tokens that no file of the model declares.
NAMES = {"mask": ("<mask>", "[MASK]"), "pad": ("<pad>", "[PAD]")}

RoleTokens = Iterator[tuple[str, str]]  # pairs of role and token


def read_roles(path: Path, tokenizer: Tokenizer) -> dict[str, str]:
    """Return the special token of each role of a model folder; {} for a bare vocabulary file."""
    if not path.is_dir():
        return {}
    declared = {
        **read_optional_json(path / SPECIAL_MAP),
        **read_optional_json(path / TOKENIZER_CONFIG),
    }
    return find_roles(tokenizer, declared, read_optional_json(path / "config.json"))


def find_roles(
    tokenizer: Tokenizer, declared: Mapping[str, Any], config: Mapping[str, Any]
) -> dict[str, str]:
    """Return the special token of each role, of ROLES; a role without a token is left out.

    declared: tokenizer_config.json (or special_tokens_map.json); config: config.json.

    The first source that names a token of the vocabulary decides:
    1. `mask_token` and the other keys of ROLE_KEYS in `declared`;
    2. the unknown token of the tokenizer's model, if the model stores its name (a Unigram model
       stores its id: see `Vocabulary.unknown`);
    3. the tokens that the post-processor puts around a text;
    4. the ids in config.json;
    5. the usual names.
    """
    found: dict[str, str] = {}
    for source in (
        _read_declared(declared),
        _read_model(tokenizer),
        _list_around_text(read_parts(tokenizer, ("post_processor",))["post_processor"] or {}),
        _read_config(tokenizer, config),
        ((role, name) for role, names in NAMES.items() for name in names),
    ):
        for role, token in source:
            if tokenizer.token_to_id(token) is not None:
                found.setdefault(role, token)
    return found


def _read_declared(declared: Mapping[str, Any]) -> RoleTokens:
    """Yield the tokens that tokenizer_config.json names."""
    for role, keys in ROLE_KEYS.items():
        for key in keys:
            token = declared.get(key)
            if isinstance(token, dict):
                token = token.get("content")
            if isinstance(token, str):
                yield role, token


def _read_model(tokenizer: Tokenizer) -> RoleTokens:
    token = getattr(tokenizer.model, "unk_token", None)
    if token:
        yield "unk", token


def _list_around_text(part: Mapping[str, Any]) -> RoleTokens:
    """Yield the tokens that a post-processor puts before and after a single text."""
    # 1. BertProcessing and RobertaProcessing name the two tokens.
    for role in ("cls", "sep"):
        if role in part:
            yield role, part[role][0]
    # 2. TemplateProcessing lists them around the text.
    role = "cls"
    for item in part.get("single") or ():
        if "SpecialToken" in item:
            yield role, item["SpecialToken"]["id"]
        else:
            role = "sep"
    # 3. A Sequence has parts.
    for inner in part.get("processors") or ():
        yield from _list_around_text(inner)


def _read_config(tokenizer: Tokenizer, config: Mapping[str, Any]) -> RoleTokens:
    """Yield the tokens whose ids config.json has; of a list of ids, the first one."""
    for role, keys in CONFIG_IDS.items():
        for key in keys:
            i = config.get(key)
            if isinstance(i, list):
                i = next(iter(i), None)
            if not isinstance(i, int) or isinstance(i, bool):
                continue
            token = tokenizer.id_to_token(i) if 0 <= i < tokenizer.get_vocab_size() else None
            if token:
                yield role, token
