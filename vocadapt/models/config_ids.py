"""The token ids in config.json and generation_config.json: which keys hold them, in one list, and
how they follow their tokens when a vocabulary changes.

A key that is not in this list may still hold ids. In generation_config.json, whose lists of
integers are nearly all ids, an unknown list of integers is an error; in config.json, whose lists of
integers are mostly sizes of layers, only one whose name contains token, word or id.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.models.embedding_matrix.padding import MatrixRows
from vocadapt.models.model_files import (
    ADDED_TOKENS,
    CONFIG,
    GENERATION,
    ModelFiles,
    list_chat_templates,
)
from vocadapt.system.files import read_json_object, show_path
from vocadapt.vocabulary.families.files.tokenizer_checks import SPECIAL_MAP, TOKENIZER_CONFIG
from vocadapt.vocabulary.plan.plan import VocabularyPlan

# Keys of an id, of a list of ids, of a list of sequences of ids, or of an object from names to ids.
# XLM names its special tokens by pad_index; Whisper and SeamlessM4T list languages in lang_to_id.
IDS = re.compile(
    r"(?:.+_)?token_(?:ids?|index)|(?:bos|eos|pad|unk|mask|sep|cls)_index"
    r"|(?:begin_)?suppress_tokens|(?:bad|force)_words_ids|(?:.+_)?(?:lang|task)_to_(?:code_)?id"
)
# Keys of a list of pairs, and the place of the ids in a pair: [position, id] and [ids, bias].
PAIRS = {"forced_decoder_ids": 1, "sequence_bias": 0}
# Keys of ids of other vocabularies: units and codes of speech.
OTHER_VOCABULARIES = re.compile(r"(?:t2u|vocoder|codec|codebook|tts_codec)_.+")
# Lists of integers in a generation_config.json that are no ids: layers and heads, a start and a
# factor, temperatures to try.
NO_IDS = ("alignment_heads", "dola_layers", "exponential_decay_length_penalty", "temperature")
# Names of lists in config.json that hold ids of tokens; local_layer_ids and the like do not.
LIKE_IDS = re.compile(r"(?:.+_)?(?:tokens?|words?|ids)(?:_.+)?")
NO_TOKEN_IDS = re.compile(r"num_.+|.*(?:layer|hook|head|expert|block).*")

Json = Mapping[str, Any]
KeyPath = tuple[str, ...]  # keys of a value in a file
Rename = Callable[[int], Any]  # from an id to what replaces it; None if its token is removed


@dataclass(frozen=True)
class RenamedIds:
    """A config with other ids.

    dropped: the removed ids, by the keys that held them, such as ("suppress_tokens",).
    """

    content: dict[str, Any]
    dropped: dict[KeyPath, list[int]]


def rename_ids(content: Json, rename: Rename) -> RenamedIds:
    """Return a config in which every id is renamed.

    A removed id is dropped from its list, and so is a sequence of ids with a removed one; a single
    id, and a list of which nothing is left, become None.

    Example, without 7 and with 8 → 7: suppress_tokens [7, 8] → [7], bad_words_ids [[8], [7, 8]] →
    [[7]], eos_token_id 7 → None.
    """
    renamed = deepcopy(dict(content))
    dropped = dict[KeyPath, list[int]]()
    for path, holder in _list_entries(renamed):
        key = path[-1]
        gone = [i for i in _read_ids(key, holder[key]) if rename(i) is None]
        if gone:
            dropped[path] = gone
        holder[key] = _rename_value(key, holder[key], rename)
    return RenamedIds(renamed, dropped)


def list_ids(content: Json) -> dict[KeyPath, list[int]]:
    """Return the ids in a config, by their keys."""
    return {path: _read_ids(path[-1], holder[path[-1]]) for path, holder in _list_entries(content)}


def find_unknown_lists(content: Json, file: str) -> dict[KeyPath, list[int]]:
    """Return the lists of integers that may be ids, but whose keys are not known to hold them.

    file: CONFIG or GENERATION.
    """
    found = {}
    for path, holder in _list_values(content):
        key = path[-1]
        value = holder.get(path[-1])
        may_hold_ids = key not in NO_IDS
        if file == CONFIG:
            may_hold_ids = bool(LIKE_IDS.fullmatch(key)) and not NO_TOKEN_IDS.fullmatch(key)
        if may_hold_ids and not _holds_ids(key) and isinstance(value, list):
            numbers = list(_flatten(value))
            if numbers and all(type(number) is int for number in numbers):
                found[path] = numbers
    return found


def read_config_files(model: ModelFiles) -> dict[str, Json]:
    """Return the contents of config.json and generation_config.json, by the names of the files."""
    return {CONFIG: model.config, GENERATION: model.generation}


def check_ids(model: ModelFiles, plan: VocabularyPlan, rows: MatrixRows) -> None:
    """Raise InputError for ids in the files of a model that a plan would change wrongly: ids that a
    new token would take, and, if tokens move, lists that may be ids.
    """
    reserved = frozenset(plan.base.ids[token] for token in plan.reserved_tokens)
    check_free_ids(model, rows, reserved)
    if plan.order is None:
        return
    for file, content in read_config_files(model).items():
        unknown = find_unknown_lists(content, file)
        if unknown:
            raise InputError(
                f"{show_path(model.path / file)}: {'.'.join(min(unknown))} is a list of integers,"
                " and it is not known whether these are ids of tokens, which this plan moves.",
                "Remove the entry, or choose a plan that only adds tokens.",
            )


def check_free_ids(
    model: ModelFiles, rows: MatrixRows, reserved: frozenset[int] = frozenset()
) -> None:
    """Raise InputError if a file of a model names an id that a new token would take: that of a row
    without a token, or of a reserved token that is replaced.
    """
    for file, content in read_config_files(model).items():
        for path, ids in (list_ids(content) | find_unknown_lists(content, file)).items():
            taken = [i for i in ids if rows.tokens <= i < rows.new_tokens or i in reserved]
            if taken:
                raise InputError(
                    f"{show_path(model.path / file)}: {'.'.join(path)} is {taken[0]:,}, and a new"
                    " token would take this id, which no token of the tokenizer uses.",
                    "Correct the id, or add that token to the tokenizer first.",
                )


def find_named_tokens(
    folder: Path, tokens: tuple[str, ...], candidates: tuple[str, ...]
) -> frozenset[str]:
    """Return the candidates that the files of a model name: by their ids in config.json or
    generation_config.json, or by themselves in a chat template or in the tokenizer's settings.

    tokens: of the model, by id.
    """
    if not candidates:
        return frozenset()
    # 1. Ids.
    named = set[str]()
    for file in (CONFIG, GENERATION):
        if (folder / file).is_file():
            content = read_json_object(folder / file)
            for ids in (list_ids(content) | find_unknown_lists(content, file)).values():
                named.update(tokens[i] for i in ids if 0 <= i < len(tokens))

    # 2. Tokens. The settings list all added tokens by id, which gives none of them a use.
    texts = [
        file.read_text(encoding="utf-8", errors="replace") for file in list_chat_templates(folder)
    ]
    for file in (TOKENIZER_CONFIG, SPECIAL_MAP):
        if (folder / file).is_file():
            content = read_json_object(folder / file)
            content.pop(ADDED_TOKENS, None)
            texts.append(json.dumps(content, ensure_ascii=False))
    named.update(token for token in candidates if any(token in text for text in texts))
    return frozenset(named)


def make_renaming(plan: VocabularyPlan, rows: MatrixRows) -> Rename:
    """Return the function from an old id to the new one, None for a removed token.

    A row without a token moves with the others; an id beyond the rows is unchanged.
    """

    def rename(i: int) -> int | None:
        if plan.order is None or i < 0 or i >= rows.rows:
            return i
        if i < rows.tokens:
            return plan.after.ids.get(plan.base.tokens[i])
        moved = i - rows.tokens + rows.new_tokens
        return moved if moved < rows.new_rows else None

    return rename


def _holds_ids(key: str) -> bool:
    if OTHER_VOCABULARIES.fullmatch(key):
        return False
    return key in PAIRS or IDS.fullmatch(key) is not None


def _list_entries(content: Any) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield the keys of each value that holds ids, and the object that contains it."""
    for path, holder in _list_values(content):
        if _holds_ids(path[-1]) and holder.get(path[-1]) is not None:
            yield path, holder


def _list_values(
    content: Any, above: KeyPath = (), size: int | None = None
) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield the keys of each value, and the object that contains it; settings within settings, such
    as task_specific_params, are searched, but not the config of another vocabulary.

    size: number of embeddings that the config states, if it does.
    """
    size = size or content.get("vocab_size")
    for key, value in content.items():
        path = (*above, str(key))  # a loaded config has the numbers of labels as keys
        if not isinstance(value, dict) or _holds_ids(path[-1]):
            yield path, content
        elif size is None or value.get("vocab_size") in (None, size):
            yield from _list_values(value, path, size)


def _read_ids(key: str, value: Any) -> list[int]:
    if key in PAIRS:
        value = [pair[PAIRS[key]] for pair in _check_pairs(key, value)]
    return [i for i in _flatten(value) if type(i) is int]


def _check_pairs(key: str, value: Any) -> Any:
    pairs = value if isinstance(value, list) else [None]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        expected = ("[[ids], bias]", "[position, id]")[PAIRS[key]]
        raise InputError(
            f"{key} in the config of the model is not a list of pairs {expected}.",
            "Correct the entry, or remove it.",
        )
    return pairs


def _flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        yield value
        return
    for one in value:
        yield from _flatten(one)


def _rename_value(key: str, value: Any, rename: Rename) -> Any:
    if key not in PAIRS:
        return _rename_nested(value, rename)
    place = PAIRS[key]
    kept = []
    for pair in value:
        new = _rename_nested(pair[place], rename, within=True)
        if new is not None or pair[place] is None:  # Whisper forces no token where the id is null
            kept.append([*pair[:place], new, *pair[place + 1 :]])
    return kept if kept or not value else None


def _rename_nested(value: Any, rename: Rename, within: bool = False) -> Any:
    """Rename the ids in a value; None if nothing is left of it.

    within: whether the value is part of a list, so that a list of ids in it is a sequence, which a
    removed id makes impossible.
    """
    if isinstance(value, dict):
        renamed = {name: _rename_nested(one, rename) for name, one in value.items()}
        return {name: one for name, one in renamed.items() if one is not None}
    if not isinstance(value, list):
        return rename(value) if type(value) is int else value
    new = [_rename_nested(one, rename, within=True) for one in value]
    kept = [one for one in new if one is not None]
    is_sequence = within and not any(isinstance(one, list) for one in value)
    if value and (not kept or (is_sequence and len(kept) < len(value))):
        return None
    return kept
