"""TokenizerPatch: the difference between two tokenizers, as steps on the JSON of tokenizer.json.

A patch does not depend on the tokenizer family, only on the places of tokens in a tokenizer.json.
There are three kinds of steps:

    add     entries of an object: {"path": ["model", "vocab"], "add": {"tachycardia": 30522}}
    append  items of a list: merges, the pieces of a Unigram model, added tokens
    change  a value, such as a setting: {"path": ["model", "ignore_merges"], "change": [false, true]}

Several patches of one base can follow each other: the ids of new tokens are given when a patch is
applied, and a token that an earlier patch added is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from vocadapt.errors import InputError

ADD, APPEND, CHANGE = "add", "append", "change"
VALUE_TYPES: dict[str, type] = {ADD: dict, APPEND: list, CHANGE: list}
VOCABULARY, ADDED = ("model", "vocab"), ("added_tokens",)
LISTS_OF_TOKENS = (VOCABULARY, ADDED, ("model", "merges"))  # a patch only appends to them
MAX_STEPS = 1_000
REMEDY = "Make the pack from a model that only adds tokens."
MAKE_AGAIN = "Make the pack again."

Path = tuple[str, ...]
Json = Mapping[str, Any]


@dataclass(frozen=True)
class PatchStep:
    """A step of a patch.

    path: keys of the changed value. kind: ADD, APPEND or CHANGE. value: the new entries or items;
    for CHANGE, the old and the new value.
    """

    path: Path
    kind: str
    value: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON values."""
        return {"path": list(self.path), self.kind: self.value}


@dataclass(frozen=True)
class TokenizerPatch:
    """The difference between two tokenizers."""

    steps: tuple[PatchStep, ...]

    def to_list(self) -> list[dict[str, Any]]:
        """Return the patch as JSON values."""
        return [step.to_dict() for step in self.steps]

    @property
    def settings(self) -> dict[str, Any]:
        """The new values of changed settings, by their paths: {"model.ignore_merges": True}."""
        return {".".join(one.path): one.value[1] for one in self.steps if one.kind == CHANGE}


def make_patch(before: Json, after: Json) -> TokenizerPatch:
    """Return the difference between two parsed tokenizer.json.

    Raises InputError if tokens, pieces or merges were removed, reordered or changed.
    """
    return TokenizerPatch(tuple(_compare(before, after, ())))


def _compare(before: Any, after: Any, path: Path) -> Iterator[PatchStep]:
    """Yield the steps from one value to another."""
    if type(before) is type(after) and before == after:
        return
    # 1. An object that keeps its type and its entries: compare the entries, and add new ones.
    if isinstance(before, dict) and isinstance(after, dict) and _keeps_entries(before, after):
        for key in before:
            yield from _compare(before[key], after[key], (*path, key))
        added = {key: value for key, value in after.items() if key not in before}
        if added:
            yield PatchStep(path, ADD, added)
        return
    # 2. A list that keeps its items: append new ones.
    if isinstance(before, list) and isinstance(after, list) and after[: len(before)] == before:
        yield PatchStep(path, APPEND, after[len(before) :])
        return
    # 3. Anything else must be a setting: change it.
    if not _is_setting(path):
        raise InputError(
            f"The adapted tokenizer changes or removes entries of {'.'.join(path[:2])}.", REMEDY
        )
    yield PatchStep(path, CHANGE, [before, after])


def _keeps_entries(before: Json, after: Json) -> bool:
    return before.keys() <= after.keys() and before.get("type") == after.get("type")


def _is_setting(path: Path) -> bool:
    """Return whether a value contains no tokens, so that it may be replaced."""
    holds_tokens = path in ((), ("model",))
    return not holds_tokens and path[:1] != ADDED and path[:2] not in LISTS_OF_TOKENS


def read_patch(value: Any, place: str) -> TokenizerPatch:
    """Read the output of `TokenizerPatch.to_list`; raises InputError, whose message begins with
    `place`, if it is invalid.
    """
    if not isinstance(value, list) or len(value) > MAX_STEPS:
        raise InputError(f"{place}: its tokenizer patch is not a list of steps.", MAKE_AGAIN)
    return TokenizerPatch(tuple(_read_step(one, place) for one in value))


def _read_step(value: Any, place: str) -> PatchStep:
    problem = InputError(f"{place}: a step of its tokenizer patch is invalid.", MAKE_AGAIN)
    if not isinstance(value, dict) or len(value) != 2 or not isinstance(value.get("path"), list):
        raise problem
    kind = next((kind for kind in VALUE_TYPES if kind in value), None)
    if kind is None or not isinstance(value[kind], VALUE_TYPES[kind]):
        raise problem
    if not all(isinstance(key, str) for key in value["path"]):
        raise problem
    path = tuple(value["path"])
    if kind == CHANGE and (len(value[kind]) != 2 or not _is_setting(path)):
        raise problem
    return PatchStep(path, kind, value[kind])


def apply_patch(
    content: Json, patch: TokenizerPatch, ids: Mapping[str, int], present: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a parsed tokenizer.json after a patch.

    ids: the ids of new tokens, which may differ from those in the patch. present: tokens of the
    patch that the tokenizer has already, from an earlier patch; they are left out.
    Raises InputError if the patch does not fit, or if an earlier patch changed the same setting
    differently.
    """
    changed: dict[str, Any] = deepcopy(dict(content))
    skipped = frozenset(present)
    for step in patch.steps:
        if step.kind == CHANGE:
            _change(_find(changed, step.path[:-1]), step)
            continue
        place = _find(changed, step.path)
        if step.kind == ADD and isinstance(place, dict):
            _add(place, step, ids, skipped)
        elif step.kind == APPEND and isinstance(place, list):
            _append(place, step, ids, skipped)
        else:
            raise _build_misfit(step.path)
    return changed


def _find(content: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(content, dict) or key not in content:
            raise _build_misfit(path)
        content = content[key]
    return content


def _change(place: Any, step: PatchStep) -> None:
    """Change a setting, unless an earlier patch has made the same change."""
    before, after = step.value
    key = step.path[-1]
    if not isinstance(place, dict) or key not in place:
        raise _build_misfit(step.path)
    if not _is_same(place[key], before) and not _is_same(place[key], after):
        raise InputError(
            f"Two packs change {'.'.join(step.path)} of the tokenizer differently.",
            "Use one of them, or make one pack of all words.",
        )
    place[key] = deepcopy(after)


def _add(
    place: dict[str, Any], step: PatchStep, ids: Mapping[str, int], skipped: frozenset[str]
) -> None:
    """Add entries to an object; entries of a vocabulary get the ids of new tokens."""
    for key, value in step.value.items():
        if step.path == VOCABULARY:
            if key in skipped:
                continue
            value = ids.get(key, value)
        if key in place and not _is_same(place[key], value):
            raise _build_misfit((*step.path, key))
        place[key] = deepcopy(value)


def _append(
    place: list[Any], step: PatchStep, ids: Mapping[str, int], skipped: frozenset[str]
) -> None:
    """Append the items that a list lacks; added tokens get the ids of new tokens."""
    names = {_name_item(item) for item in place}
    if step.path in (VOCABULARY, ADDED):
        names |= skipped
    for item in step.value:
        name = _name_item(item)
        if name in names:
            continue
        item = deepcopy(item)
        if step.path == ADDED and isinstance(item, dict) and name in ids:
            item["id"] = ids[name]
        place.append(item)


def _name_item(item: Any) -> str:
    """Return the key of an item: the token of an added token or of a piece with its score, or the
    whole item, such as a merge.
    """
    if isinstance(item, dict) and isinstance(item.get("content"), str):
        return str(item["content"])
    if isinstance(item, list) and len(item) == 2:
        first, second = item
        if isinstance(first, str) and not isinstance(second, str):
            return first
    return repr(item)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values have the same type and are equal: 1 and true are not."""
    return type(one) is type(other) and bool(one == other)


def _build_misfit(path: Path) -> InputError:
    return InputError(
        f"The tokenizer patch of the pack does not fit the tokenizer, at {'.'.join(path)[:80]}.",
        MAKE_AGAIN,
    )
