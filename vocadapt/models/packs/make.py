"""Make a vocabulary pack from an adapted model that only adds tokens to its base model."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import RECORD
from vocadapt.models.certificate.comparisons import view_bits
from vocadapt.models.embedding_change import has_equal_bits
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings, get_output_bias, get_output_layer, is_tied
from vocadapt.models.packs.pack import (
    EMBEDDINGS,
    NAME,
    OUTPUT,
    OUTPUT_BIAS,
    BaseIdentity,
    VocabularyPack,
    is_texts,
    name_dtype,
)
from vocadapt.models.token_tensors import list_token_tensors
from vocadapt.system.files import read_json_object, show_path
from vocadapt.vocabulary.initializers.materials import Provenance
from vocadapt.vocabulary.plan.plan import KINDS, AddedWord
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

if TYPE_CHECKING:
    import torch
    import transformers

NOT_RECORDED = Provenance("not recorded in the model")
# Parts of a record that a pack keeps.
SOURCES = ("base_model", "recipe", "data", "quality", "pretraining")
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
    has every other token of the base with its id, all other weights bit by bit, and the tokenizer
    that the tokens give.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name[:100]!r} cannot be the name of a pack.",
            "Use at most 100 letters, digits, spaces, points, - and _.",
            code="invalid-name",
        )
    record = _read_record(adapted)
    plan = _get_object(record, "plan")
    tokens = _list_new_tokens(base, adapted)
    silent: Any = plan.get("silent_tokens")
    unreachable = frozenset(silent if is_texts(silent) else ())
    kind = KINDS.get(str(plan.get("kind")))
    lines = plan.get("checked_lines")
    pack = VocabularyPack(
        name,
        identify_base(base),
        str(record.get("tokenizer_mode")),
        "append" if kind is None or kind.rearranges else str(plan["kind"]),
        tuple(_list_words(base, tokens, plan)),
        tuple(_list_provenance(tokens, _get_object(record, "provenance"))),
        _read_tensors(base, adapted, tokens),
        tuple(sorted(base.vocabulary.find_activated(adapted.vocabulary))),
        tuple(token for token in tokens if token in unreachable),
        lines if type(lines) is int else 0,
        {key: record[key] for key in SOURCES if record.get(key) is not None},
    )
    _check_tokenizer(base, adapted, pack)
    return pack


def identify_base(model: LanguageModel) -> BaseIdentity:
    """Return the identity of a model as the base of packs."""
    embeddings = get_embeddings(model.network)
    return BaseIdentity(
        hash_base(model.network, model.fast_tokenizer),
        model.hub_name or model.name,
        str(model.config.get("model_type", "unknown")),
        name_dtype(embeddings),
        embeddings.shape[1],
        len(model.vocabulary),
        model.hub_name is not None,
    )


def hash_base(network: "transformers.PreTrainedModel", tokenizer: Tokenizer) -> str:
    """Return the SHA-256 by which a pack knows its base.

    It covers, in this order: dtype and shape of the input embeddings (a line of JSON), their bytes,
    and the tokenizer in normal form (`normalize_tokenizer`), keys sorted, in compact UTF-8 JSON. It
    does not cover other weights, so a pack also fits the same model with another head.
    """
    embeddings = get_embeddings(network)
    about = {"dtype": name_dtype(embeddings), "shape": list(embeddings.shape)}
    digest = sha256(f"{json.dumps(about)}\n".encode())
    digest.update(view_bits(embeddings).numpy().data)
    content = normalize_tokenizer(tokenizer)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest.update(text.encode("utf-8"))
    return digest.hexdigest()


def normalize_tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the tokenizer.json of a tokenizer without version, truncation and padding, and without
    entries that are null or false.

    A later version of the tokenizers library may write more settings that are off by default.
    """
    content = json.loads(tokenizer.to_str())
    for key in NO_PART_OF_IDENTITY:
        content.pop(key, None)
    return dict(_drop_unset(content))


def _drop_unset(value: Any) -> Any:
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
            code="not-adapted",
        )
    return read_json_object(path)


def _get_object(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    stored = record.get(key)
    return stored if isinstance(stored, dict) else {}


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
            code="removed-tokens",
        )
    kept = [token for token in before.tokens if token in after]
    moved = [token for token in kept if after.ids[token] != before.ids[token]]
    if moved:
        raise InputError(
            f"{adapted.name} gives {len(moved):,} tokens of {base.name} another id, {moved[0]!r}"
            " first.",
            ONLY_ADDED,
            code="moved-tokens",
        )
    added = tuple(token for token in after.tokens if token not in before)
    if not added:
        raise InputError(
            f"{adapted.name} adds no token to {base.name}.", ONLY_ADDED, code="no-added-tokens"
        )
    return added


def _check_tokenizer(base: LanguageModel, adapted: LanguageModel, pack: VocabularyPack) -> None:
    """Raise InputError unless the tokens of a pack give the tokenizer of the adapted model.

    They cannot be compared if new tokens took the ids of reserved ones.
    """
    tokenizer = adapt_tokenizer(base.fast_tokenizer, pack.build_plan(base.vocabulary), pack.mode)
    if adapted.vocabulary.tokens[len(base.vocabulary) :] != pack.tokens:
        return
    if normalize_tokenizer(tokenizer) != normalize_tokenizer(adapted.fast_tokenizer):
        raise InputError(
            f"The tokenizer of {adapted.name} is not that of {base.name} with"
            f" {len(pack.tokens):,} tokens added at once by {pack.mode}.",
            "Adapt the base model again, and make the pack of the result.",
            code="other-tokenizer",
        )


def _read_tensors(
    base: LanguageModel, adapted: LanguageModel, tokens: tuple[str, ...]
) -> "dict[str, torch.Tensor]":
    """Return the entries of the new tokens, by tensor of a pack.

    Raises InputError if the two networks differ in anything else.
    """
    old, new = base.network, adapted.network
    difference = _find_difference(old, new)
    if difference:
        raise InputError(
            f"{adapted.name} differs from {base.name} in {difference}.",
            ONLY_ADDED,
            code="other-network",
        )
    found = {EMBEDDINGS: get_embeddings(new)}
    output = get_output_layer(new)
    bias = get_output_bias(new)
    if output is not None and not is_tied(new):
        found[OUTPUT] = output.weight
    if bias is not None:
        found[OUTPUT_BIAS] = bias
    # Check that the entries of old tokens and free rows are unchanged in every token tensor.
    new_ids = [adapted.vocabulary.ids[token] for token in tokens]
    before = list_token_tensors(old)
    is_new = frozenset(new_ids)
    kept = [row for row in range(len(get_embeddings(old))) if row not in is_new]
    for name, value in list_token_tensors(new).items():
        if not has_equal_bits(value[kept], before[name][kept]):
            raise InputError(
                f"{adapted.name} changes the {name} of tokens of {base.name}.",
                ONLY_ADDED,
                code="changed-token-tensor",
            )
    return {role: value.detach()[new_ids] for role, value in found.items()}


def _find_difference(
    old: "transformers.PreTrainedModel", new: "transformers.PreTrainedModel"
) -> str:
    """Return what differs between two networks except for their token tensors; "" if nothing."""
    if type(old) is not type(new):
        return f"its class, {type(new).__name__} instead of {type(old).__name__}"
    settings = old.config.to_dict()
    changed = new.config.to_dict()
    for key in sorted(settings.keys() | changed.keys()):
        if key not in UNCOMPARED and settings.get(key) != changed.get(key):
            return f"{key} of its config"
    before = old.state_dict(keep_vars=True)
    after = new.state_dict(keep_vars=True)
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


def _list_words(
    base: LanguageModel, tokens: tuple[str, ...], plan: Mapping[str, Any]
) -> list[AddedWord]:
    recorded = {
        str(entry[0]): entry
        for entry in plan.get("added_tokens", ())
        if isinstance(entry, list) and len(entry) == 3 and is_texts(entry[1])
    }
    forms = _get_object(plan, "forms")
    words = []
    for token in tokens:
        pieces = base.vocabulary.tokenize_token(token)
        count = None
        if token in recorded:
            _, pieces, count = recorded[token]
        words.append(AddedWord(token, tuple(pieces), count, str(forms.get(token, ""))))
    return words


def _list_provenance(tokens: tuple[str, ...], recorded: Mapping[str, Any]) -> list[Provenance]:
    """List the provenance of the new tokens, as recorded in the format of
    `build_provenance_record`.
    """
    ways = recorded.get("how")
    origins = _get_object(recorded, "tokens")
    if not is_texts(ways):
        return [NOT_RECORDED] * len(tokens)
    return [_read_origin(origins.get(token), ways) for token in tokens]


def _read_origin(recorded: Any, ways: list[str]) -> Provenance:
    if not isinstance(recorded, list) or [type(one) for one in recorded] != [int, list]:
        return NOT_RECORDED
    place, donors = recorded
    if not 0 <= place < len(ways):
        return NOT_RECORDED
    return Provenance(ways[place], donors)
