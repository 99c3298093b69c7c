"""Compare everything of two models' tokenizers that is not the vocabulary: the entries of their
settings, chat templates, added tokens, truncation and padding.
"""

from typing import Any

from vocadapt.models.certificate.reload_process import RELOADED
from vocadapt.models.edit import Edit
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_files import ADDED_TOKENS, list_chat_templates
from vocadapt.models.transformers_tokenizer import (
    CLASS_ENTRIES,
    keep_tokens,
    read_settings,
)
from vocadapt.vocabulary.families.files.tokenizer_checks import SPECIAL_MAP, TOKENIZER_CONFIG
from vocadapt.vocabulary.families.files.tokenizer_json import EXACT_WORD, read_flags


def compare_tokenizer_settings(edit: Edit) -> tuple[int, list[str]]:
    """Return the number of compared entries of the model before an edit, and those that differ."""
    before, after = edit.before, edit.after
    expected = _list_entries(before)
    found = _list_entries(after)
    vocabularies = before.vocabulary, after.vocabulary
    wrong = [
        name
        for name, value in expected.items()
        if found.get(name) != keep_tokens(value, *vocabularies)
    ]
    return len(expected), wrong


def _list_entries(model: LanguageModel) -> dict[str, Any]:
    """List the entries of a tokenizer by name: as stored, and as transformers loads them.

    Tokens stand for their ids; entries of tokens that the other model lacks are not compared.
    """
    # 1. The files. The class and the ids of added tokens may change.
    entries: dict[str, Any] = {}
    for name in (TOKENIZER_CONFIG, SPECIAL_MAP):
        for key, value in read_settings(model.path, name).items():
            if key not in (*CLASS_ENTRIES, ADDED_TOKENS):
                entries[f"{key} in {name}"] = value
    for file in list_chat_templates(model.path):
        entries[file.relative_to(model.path).as_posix()] = file.read_bytes()
    for name, value in model.limits.items():
        entries[name] = _name_padding(model, value)

    # 2. The loaded tokenizer.
    tokenizer = model.tokenizer
    for name in RELOADED:
        entries[name] = getattr(tokenizer, name, None)
    for role, token in tokenizer.special_tokens_map.items():
        entries[role] = str(token)
    return entries


def compare_added_tokens(edit: Edit) -> list[str]:
    """Return the added tokens whose flags an edit changed, or that are no longer added tokens.

    An exact word may become an ordinary token: the vocabulary of a target may contain it.
    """
    expected = _list_flags(edit.before)
    found = _list_flags(edit.after)
    expected = {
        token: flags for token, flags in expected.items() if token in found or flags != EXACT_WORD
    }
    return [
        token
        for token, flags in expected.items()
        if token in edit.after.vocabulary and found.get(token) != flags
    ]


def _list_flags(model: LanguageModel) -> dict[str, dict[str, bool]]:
    added = model.fast_tokenizer.get_added_tokens_decoder().values()
    return {token.content: read_flags(token) for token in added}


def _name_padding(model: LanguageModel, value: Any) -> Any:
    i = value.get("pad_id")
    tokens = model.vocabulary.tokens
    if isinstance(i, int) and 0 <= i < len(tokens):
        return {**value, "pad_id": tokens[i]}
    return value
