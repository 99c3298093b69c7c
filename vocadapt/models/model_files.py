"""Check the files of a model folder, config.json and weights, before transformers reads them.

`read_headers` lists the stored tensors (files, names, dtypes and shapes) without loading them.
`read_config` checks types and ranges in config.json. `check_network` compares the two before memory
is allocated for the network.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import MEGABYTE, check_file, read_json_object, show_path
from vocadapt.settings import Bounds

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
SUFFIX = ".safetensors"
# Supported dtypes of embeddings: numpy and torch can compute with them on any machine.
NUMBERS = ("F64", "F32", "F16", "BF16")
SAVE_AGAIN = "Download or save the model again."
CONFIG = "config.json"
MAX_CONFIG_BYTES = 16 * MEGABYTE
MAX_SHOWN = 60  # characters of a value in a message
# Other attention functions need kernels of other packages, or download kernels from the hub.
ATTENTION = (None, "eager", "sdpa")
FLOATS = ("float32", "float16", "bfloat16", "float64")
TYPES = (None, "auto", *FLOATS, *(f"torch.{name}" for name in FLOATS))
REMEDY = "Correct the file, or download the model again."
LAYER = re.compile(r"(?:^|\.)(?:encoder|transformer)\.layers?\.(\d+)\.")


@dataclass(frozen=True)
class StoredTensor:
    """File, dtype (in safetensors' notation: "F32") and shape of a tensor."""

    file: Path
    dtype: str
    shape: tuple[int, ...]


def list_weight_files(folder: Path) -> list[Path]:
    """List the safetensors files of a model folder.

    Raises InputError if there are none, or if one of them or the index cannot be read.
    """
    # A large model is stored in several files, which the index lists.
    index = folder / INDEX
    names = _read_shard_names(index) if index.exists() or index.is_symlink() else [WHOLE]
    files = [folder / name for name in names]
    if all(file.exists() for file in files):
        return [check_file(file) for file in files]
    if any(folder.glob("*.bin")):
        raise InputError(
            f"{folder}: its weights are a pickled .bin file, which vocadapt does not load.",
            f"Convert it once (python -m vocadapt convert {folder}), and give the new folder.",
        )
    raise InputError(
        f"{folder}: expected model.safetensors, found no weights.",
        "Give the folder of a saved model.",
    )


def read_headers(folder: Path) -> dict[str, StoredTensor]:
    """Read the headers of all weight files of a model folder; return its tensors by name.

    Raises InputError if a file is not a complete safetensors file, or if two files contain a tensor
    of the same name.
    """
    from safetensors import safe_open

    found: dict[str, StoredTensor] = {}
    for file in list_weight_files(folder):
        try:
            with safe_open(file, "np") as tensors:
                stored = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118 (not a dict)
                headers = {
                    name: StoredTensor(file, one.get_dtype(), tuple(one.get_shape()))
                    for name, one in stored.items()
                }
        except Exception as error:  # safetensors raises its own exception or OSError
            raise InputError(
                f"{show_path(file)} is not a readable safetensors file: {error}.", SAVE_AGAIN
            ) from error
        if twice := found.keys() & headers.keys():
            raise InputError(
                f"{show_path(file)}: the tensor {min(twice)[:200]!r} is also in another file.",
                SAVE_AGAIN,
            )
        found |= headers
    return found


def _read_shard_names(index: Path) -> list[str]:
    """Return the distinct file names in the index of a sharded model."""
    content = read_json_object(index)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise InputError(
            f'{show_path(index)}: expected "weight_map", an object from tensors to files.',
            SAVE_AGAIN,
        )
    if not isinstance(content.get("metadata"), dict):
        raise InputError(f'{show_path(index)}: expected "metadata", an object.', SAVE_AGAIN)
    for tensor, name in shards.items():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(SUFFIX):
            raise InputError(
                f"{show_path(index)}: expected the name of a {SUFFIX} file for {tensor[:200]!r},"
                f" found {str(name)[:200]!r}.",
                "All weight files must be in the folder of the index.",
            )
    return sorted(set(shards.values()))


@dataclass(frozen=True)
class ValueRule:
    """A requirement on a value: its description, and a predicate."""

    expected: str
    holds: Callable[[Any], bool]


def _require_whole(low: int, high: int) -> ValueRule:
    bounds = Bounds(low, high)
    return ValueRule(str(bounds), bounds.accepts)


def _require_number(low: float, high: float) -> ValueRule:
    bounds = Bounds(low, high, whole=False)
    return ValueRule(str(bounds), lambda value: value is None or bounds.accepts(value))


def _require_type(expected: str, *kinds: type) -> ValueRule:
    return ValueRule(expected, lambda value: value is None or isinstance(value, kinds))


def _is_string_list(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _is_token_id(value: Any) -> bool:
    if not isinstance(value, list):
        value = [value]
    return all(item is None or Bounds(-1, MAX_TOKENS - 1).accepts(item) for item in value)


MAX_TOKENS = 10_000_000
TOKEN_ID = ValueRule(f"the id of a token, below {MAX_TOKENS:,}", _is_token_id)
WIDTH, LAYERS, POSITIONS = (
    _require_whole(1, 100_000),
    _require_whole(1, 1_000),
    _require_whole(0, 10_000_000),
)
ABSENT = ValueRule(
    "no such entry: quantized models and other weight formats are not supported",
    lambda value: value is None,
)
RULES = {
    "architectures": ValueRule("a list of names", _is_string_list),
    "model_type": _require_type("a name", str),
    "vocab_size": _require_whole(1, MAX_TOKENS),
    **dict.fromkeys(
        ("hidden_size", "dim", "intermediate_size", "hidden_dim", "embedding_size"), WIDTH
    ),
    **dict.fromkeys(("num_hidden_layers", "n_layers"), LAYERS),
    **dict.fromkeys(("num_attention_heads", "n_heads"), _require_whole(1, 10_000)),
    **dict.fromkeys(("max_position_embeddings", "type_vocab_size"), POSITIONS),
    **dict.fromkeys(
        ("extension_hidden_size", "extension_intermediate_size"), _require_whole(0, 100_000)
    ),
    "extension_vocab_size": _require_whole(0, MAX_TOKENS),
    "gate_start": _require_number(0, 1),
    **dict.fromkeys(
        ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"),
        _require_number(0, 1),
    ),
    **dict.fromkeys(
        ("dropout", "attention_dropout", "seq_classif_dropout", "qa_dropout"), _require_number(0, 1)
    ),
    **dict.fromkeys(("initializer_range", "layer_norm_eps"), _require_number(0, 1_000)),
    **dict.fromkeys(("hidden_act", "activation"), _require_type("the name of an activation", str)),
    **dict.fromkeys(
        ("dtype", "torch_dtype"),
        ValueRule(f"one of {', '.join(map(str, TYPES[1:]))}", lambda value: value in TYPES),
    ),
    **dict.fromkeys(("id2label", "label2id"), _require_type("an object", dict)),
    "num_labels": _require_whole(0, 1_000_000),
    **dict.fromkeys(
        ("is_decoder", "add_cross_attention", "tie_word_embeddings"),
        _require_type("true or false", bool),
    ),
    **dict.fromkeys(
        ("attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
        ValueRule(
            "eager or sdpa: kernels from other packages are not supported",
            lambda value: value in ATTENTION,
        ),
    ),
    **dict.fromkeys(("quantization_config", "compression_config", "transformers_weights"), ABSENT),
}

WIDTHS = ("hidden_size", "dim")
# Keys of a size in config.json, the end of the name of a tensor with this size, and its axis.
STORED_SIZES = (
    (("vocab_size",), "word_embeddings.weight", 0),
    (("embedding_size", "hidden_size", "dim"), "word_embeddings.weight", 1),
    (("max_position_embeddings",), r"(?<!\w)position_embeddings\.weight", 0),
    (("type_vocab_size",), "token_type_embeddings.weight", 0),
    (("intermediate_size",), r"layers?\.0\.intermediate\.dense\.weight", 0),
    (("hidden_dim",), r"layers?\.0\.ffn\.lin1\.weight", 0),
    (("extension_hidden_size",), r"layers?\.0\.extension\.attention\.query\.weight", 0),
    (("extension_intermediate_size",), r"layers?\.0\.extension\.intermediate\.dense\.weight", 0),
)


def read_config(folder: Path) -> dict[str, Any]:
    """Read the config.json of a model folder; raise InputError if a value is invalid."""
    path = folder / CONFIG
    if not path.exists() and not path.is_symlink():
        raise InputError(
            f"{show_path(folder)}: expected a config.json, found none.",
            "Give the folder of a saved model.",
        )
    config = read_json_object(path, MAX_CONFIG_BYTES)
    for key, value in config.items():
        rule = RULES.get(key)
        if rule is None and key.endswith("_token_id"):
            rule = TOKEN_ID
        if rule is not None and not rule.holds(value):
            raise _build_value_error(path, key, value, rule.expected)
    return config


def check_network(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, StoredTensor]
) -> None:
    """Raise InputError if config.json does not match the stored tensors.

    Imports torch, because transformers' table of activations does.
    """
    # 1. Check that config.json is consistent in itself.
    _check_activation(folder / CONFIG, config)
    _check_heads(folder / CONFIG, config)

    # 2. Compare the number of layers with the tensors.
    layers = {found[1] for name in tensors if (found := LAYER.search(name))}
    key, stated = _find_first(config, ("num_hidden_layers", "n_layers"))
    if layers and stated > len(layers):
        raise _build_mismatch_error(
            folder, f"{key} is {stated:,}, but the weights have {len(layers):,} layers"
        )

    # 3. Compare the sizes with the tensors.
    _check_sizes(folder, config, tensors)
    padding, rows = config.get("pad_token_id"), config.get("vocab_size")
    if isinstance(padding, int) and rows is not None and padding >= rows:
        raise _build_mismatch_error(
            folder, f"pad_token_id is {padding:,}, but there are {rows:,} embeddings"
        )


def _check_sizes(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, StoredTensor]
) -> None:
    """Raise InputError if a size in config.json differs from that of its tensor."""
    for keys, ending, axis in STORED_SIZES:
        (key, size), pattern = _find_first(config, keys), re.compile(ending + "$")
        names = filter(pattern.search, tensors)
        stored = [tensors[name].shape for name in names][:1]
        if not key or not stored or len(stored[0]) <= axis:
            continue
        if stored[0][axis] != size:
            raise _build_mismatch_error(
                folder, f"{key} is {size:,}, but the weights have {stored[0][axis]:,}"
            )
    key, width = _find_first(config, WIDTHS)
    sides = set(chain.from_iterable(tensor.shape for tensor in tensors.values()))
    if key and width not in sides:
        raise _build_mismatch_error(folder, f"{key} is {width:,}, but no tensor has this width")


def _check_activation(path: Path, config: Mapping[str, Any]) -> None:
    from transformers.activations import ACT2FN

    for key in ("hidden_act", "activation"):
        name = config.get(key)
        if name is not None and name not in ACT2FN:
            raise _build_value_error(path, key, name, "an activation of transformers, such as gelu")


def _check_heads(path: Path, config: Mapping[str, Any]) -> None:
    """Raise InputError if the hidden size is not a multiple of the number of heads."""
    width, heads = (
        _find_first(config, WIDTHS)[1],
        _find_first(config, ("num_attention_heads", "n_heads"))[1],
    )
    if width and heads and width % heads:
        raise InputError(
            f"{show_path(path)}: the hidden size {width:,} is not a multiple of the {heads:,}"
            " attention heads.",
            REMEDY,
        )


def _find_first(config: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, int]:
    """Return the first of these keys that config.json has, and its value; "" and 0 if it has
    none.
    """
    return next(((key, config[key]) for key in keys if config.get(key) is not None), ("", 0))


def _build_value_error(path: Path, key: str, value: Any, expected: str) -> InputError:
    shown = repr(value)
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]}…"
    return InputError(f"{show_path(path)}: {key} is {shown}, expected {expected}.", REMEDY)


def _build_mismatch_error(folder: Path, problem: str) -> InputError:
    return InputError(
        f"{show_path(folder)}: config.json and weights do not match: {problem}.", REMEDY
    )
