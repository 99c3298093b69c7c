"""Make a vocabulary pack from an adapted model that only adds tokens to its base model."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import RECORD
from vocadapt.models.embedding_matrix.stored import find_embeddings
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer, is_tied
from vocadapt.models.packs.pack import (
    EMBEDDINGS,
    NAME,
    OUTPUT,
    OUTPUT_BIAS,
    BaseIdentity,
    StoredRows,
    VocabularyPack,
    is_texts,
)
from vocadapt.models.packs.stored_weights import read_header, read_tensor
from vocadapt.models.packs.tokenizer_patch import TokenizerPatch, apply_patch, make_patch
from vocadapt.models.token_tensors import list_token_tensors
from vocadapt.system.files import read_json_object, show_path
from vocadapt.vocabulary.plan.plan import KINDS, AddedWord, VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

if TYPE_CHECKING:
    import torch
    import transformers

NOT_RECORDED = "not recorded in the model"
SOURCES = (
    "base_model",
    "recipe",
    "data",
    "quality",
    "pretraining",
)  # parts of a record that a pack keeps
# Entries of a tokenizer.json that do not affect its tokens.
NO_PART_OF_IDENTITY = ("version", "truncation", "padding")
# Entries of a config that saving a model may change.
UNCOMPARED = frozenset(
    {"vocab_size", "transformers_version", "_name_or_path", "dtype", "torch_dtype"}
)
ONLY_ADDED = (
    "A pack is made from a model that only adds tokens to its base, with exact-word or insertion."
)


def make_pack(base: LanguageModel, adapted: LanguageModel, name: str) -> VocabularyPack:
    """Make a pack of the tokens that an adapted model has and its base lacks.

    In a pack, all new tokens follow those of the base, even if they took the ids of reserved tokens
    (such as BERT's unused ones) in the adapted model. Raises InputError unless the adapted model
    has every other token of the base with its id, and all other weights bit by bit.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name[:100]!r} cannot be the name of a pack.",
            "Use at most 100 letters, digits, spaces, points, - and _.",
        )
    record = _read_record(adapted)
    tokens = _list_new_tokens(base, adapted)
    rows, mode = _read_rows(base, adapted, tokens), str(record.get("tokenizer_mode"))
    return VocabularyPack(
        name,
        identify_base(base),
        tokens,
        mode,
        _make_patch(base, adapted, tokens, mode),
        rows,
        _collect_plan(base, tokens, record),
        _collect_provenance(tokens, record),
        {key: record[key] for key in SOURCES if record.get(key) is not None},
    )


def identify_base(model: LanguageModel) -> BaseIdentity:
    """Return the identity of a model as the base of packs.

    Its SHA-256 covers, in this order: dtype and shape of the stored input embeddings (a line of
    JSON), their bytes, and the tokenizer in normal form: the tokenizer.json of the tokenizers
    library without version, truncation and padding and without entries that are null or false, keys
    sorted, in compact UTF-8 JSON. It does not cover other weights, so a pack also fits the same
    model with another head.
    """
    name, stored = find_embeddings(model)
    digest = sha256()
    about = {"dtype": stored.dtype, "shape": list(stored.shape)}
    digest.update(f"{json.dumps(about)}\n".encode())
    digest.update(read_tensor(stored.file, read_header(stored.file), name))
    content = json.loads(model.fast_tokenizer.to_str())
    for key in NO_PART_OF_IDENTITY:
        content.pop(key, None)
    normal = json.dumps(
        _drop_unset(content), sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    digest.update(normal.encode("utf-8"))
    return BaseIdentity(
        digest.hexdigest(),
        model.hub_name or model.name,
        str(model.config.get("model_type", "unknown")),
        stored.dtype,
        stored.shape[1],
        len(model.vocabulary),
        model.hub_name is not None,
    )


def _drop_unset(value: Any) -> Any:
    """Return a JSON value without entries of objects that are null or false.

    A later version of the tokenizers library may write more settings that are off by default.
    """
    if isinstance(value, dict):
        return {
            key: _drop_unset(one)
            for key, one in value.items()
            if one is not None and one is not False
        }
    if isinstance(value, list):
        return [_drop_unset(one) for one in value]
    return value


def _read_record(adapted: LanguageModel) -> dict[str, Any]:
    path = adapted.path / RECORD
    if not path.is_file():
        raise InputError(
            f"{show_path(adapted.path)} is not an adapted model: it has no {RECORD}.",
            "Give the folder of a model adapted by vocadapt.",
        )
    return read_json_object(path)


def _list_new_tokens(base: LanguageModel, adapted: LanguageModel) -> tuple[str, ...]:
    """Return the tokens that only the adapted model has, by id.

    Raises InputError if there are none, or if a token of the base was removed or moved.
    """
    before, after = base.vocabulary, adapted.vocabulary
    gone = [token for token in before.tokens if token not in after]
    removed = [token for token in gone if not before.is_placeholder(token)]
    if removed:
        raise InputError(
            f"{adapted.name} lacks {len(removed):,} tokens of {base.name}, {removed[0]!r} first.",
            ONLY_ADDED,
        )
    kept = [token for token in before.tokens if token in after]
    moved = [token for token in kept if after.ids[token] != before.ids[token]]
    if moved:
        raise InputError(
            f"{adapted.name} gives {len(moved):,} tokens of {base.name} another id, {moved[0]!r}"
            " first.",
            ONLY_ADDED,
        )
    added = tuple(token for token in after.tokens if token not in before)
    if not added:
        raise InputError(f"{adapted.name} adds no token to {base.name}.", ONLY_ADDED)
    return added


def _make_patch(
    base: LanguageModel, adapted: LanguageModel, tokens: tuple[str, ...], mode: str
) -> TokenizerPatch:
    """Return the difference between the tokenizers of the base and of the adapted model.

    If new tokens took the ids of reserved tokens, the tokenizer is built again with all new tokens
    at the end.
    """
    tokenizer = adapted.fast_tokenizer
    if adapted.vocabulary.tokens[len(base.vocabulary) :] != tokens:
        added = tuple(AddedWord(token, ()) for token in tokens)
        tokenizer = adapt_tokenizer(
            base.fast_tokenizer, VocabularyPlan(base.vocabulary, added), mode
        )
    before, after = (json.loads(one.to_str()) for one in (base.fast_tokenizer, tokenizer))
    patch = make_patch(before, after)
    ids = {token: len(base.vocabulary) + place for place, token in enumerate(tokens)}
    if apply_patch(before, patch, ids) != after:
        raise AssertionError("the tokenizer patch does not give the adapted tokenizer")
    return patch


def _read_rows(
    base: LanguageModel, adapted: LanguageModel, tokens: tuple[str, ...]
) -> dict[str, StoredRows]:
    """Return the entries of the new tokens, by tensor of a pack.

    Raises InputError if the two networks differ in anything else.
    """
    old, new = base.network, adapted.network
    difference = _find_difference(old, new)
    if difference:
        raise InputError(f"{adapted.name} differs from {base.name} in {difference}.", ONLY_ADDED)
    found = {EMBEDDINGS: get_embeddings(new)}
    output, bias = get_output_layer(new), get_output_bias(new)
    if output is not None and not is_tied(new):
        found[OUTPUT] = output.weight
    if bias is not None:
        found[OUTPUT_BIAS] = bias
    # Check that the entries of old tokens and free rows are unchanged in every token tensor.
    new_ids = [adapted.vocabulary.ids[token] for token in tokens]
    before, is_new = list_token_tensors(old), frozenset(new_ids)
    kept = [row for row in range(len(get_embeddings(old))) if row not in is_new]
    for name, value in list_token_tensors(new).items():
        if not has_equal_bits(value[kept], before[name][kept]):
            raise InputError(
                f"{adapted.name} changes the {name} of tokens of {base.name}.", ONLY_ADDED
            )
    return {role: _store(value[new_ids]) for role, value in found.items()}


def _find_difference(
    old: "transformers.PreTrainedModel", new: "transformers.PreTrainedModel"
) -> str:
    """Return what differs between two networks except for their token tensors; "" if nothing."""
    if type(old) is not type(new):
        return f"its class, {type(new).__name__} instead of {type(old).__name__}"
    settings, changed = old.config.to_dict(), new.config.to_dict()
    for key in sorted(settings.keys() | changed.keys()):
        if key not in UNCOMPARED and settings.get(key) != changed.get(key):
            return f"{key} of its config"
    before, after = old.state_dict(keep_vars=True), new.state_dict(keep_vars=True)
    if before.keys() != after.keys():
        return f"the tensor {min(before.keys() ^ after.keys())}"
    own = [id(value) for value in list_token_tensors(old).values()]
    for name, value in before.items():
        if id(value) not in own and not has_equal_bits(value, after[name]):
            return f"the tensor {name}"
    tokens = list_token_tensors(new)
    for name, value in list_token_tensors(old).items():
        if name not in tokens or tokens[name].dtype != value.dtype:
            return f"the dtype of {name}"
    return ""


def has_equal_bits(one: "torch.Tensor", other: "torch.Tensor") -> bool:
    """Return whether two tensors have the same dtype, shape and bits."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return to_bytes(one) == to_bytes(other)


def to_bytes(value: "torch.Tensor") -> bytes:
    """Return the bytes of a tensor, as safetensors stores them."""
    import torch

    flat = value.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def _store(value: "torch.Tensor") -> StoredRows:
    import torch

    names = {
        torch.float64: "F64",
        torch.float32: "F32",
        torch.float16: "F16",
        torch.bfloat16: "BF16",
    }
    return StoredRows(names[value.dtype], tuple(value.shape), to_bytes(value))


def _collect_plan(
    base: LanguageModel, tokens: tuple[str, ...], record: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the plan of the new tokens, from the record if it lists them."""
    stored = record.get("plan")
    plan: Mapping[str, Any] = stored if isinstance(stored, dict) else {}
    entries = {
        str(entry[0]): entry
        for entry in plan.get("added_tokens", ())
        if isinstance(entry, list) and entry
    }
    added = []
    for token in tokens:
        pieces = list(base.vocabulary.tokenize_token(token))
        added.append(entries.get(token, [token, pieces, None]))
    kind = str(plan.get("kind"))
    if kind not in KINDS or KINDS[kind].rearranges:
        kind = "append"
    silent = frozenset[str]()
    if is_texts(plan.get("silent_tokens")):
        silent = frozenset(plan["silent_tokens"])
    forms = plan.get("forms")
    known: Mapping[str, Any] = forms if isinstance(forms, dict) else {}
    return {
        "kind": kind,
        "added_tokens": added,
        "forms": {token: known[token] for token in tokens if token in known},
        "left_out": plan.get("left_out", {}),
        "silent_tokens": [token for token in tokens if token in silent],
    }


def _collect_provenance(tokens: tuple[str, ...], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of the new tokens, from the record if it lists them."""
    stored = record.get("provenance")
    known: Mapping[str, Any] = stored if isinstance(stored, dict) else {}
    ways = list(known.get("how", ()))
    origins = known.get("tokens", {})
    if not all(token in origins for token in tokens):
        ways.append(NOT_RECORDED)
    return {
        "how": ways,
        "tokens": {token: origins.get(token, [len(ways) - 1, []]) for token in tokens},
    }
