"""Read a config.json, and check the types and ranges of its values."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.models.config_sizes import HEADS, LAYERS, WIDTHS
from vocadapt.models.model_files import CONFIG, MAX_TOKENS, build_value_error
from vocadapt.settings import Bounds
from vocadapt.system.files import MEGABYTE, read_json_object, show_path

MAX_CONFIG_BYTES = 16 * MEGABYTE
ACTIVATIONS = ("hidden_act", "activation", "activation_function", "hidden_activation")
# Other attention functions need kernels of other packages, or download kernels from the hub.
ATTENTION = (None, "eager", "sdpa")
FLOATS = ("float32", "float16", "bfloat16", "float64")
TYPES = (None, "auto", *FLOATS, *(f"torch.{name}" for name in FLOATS))


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


def _require_whole_or_none(low: int, high: int) -> ValueRule:
    bounds = Bounds(low, high)
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


TOKEN_ID = ValueRule(f"the id of a token, below {MAX_TOKENS:,}", _is_token_id)
WIDTH = _require_whole(1, 100_000)
LAYER_COUNT = _require_whole(1, 1_000)
POSITION_COUNT = _require_whole(0, 10_000_000)
ABSENT = ValueRule(
    "no such entry: quantized models and other weight formats are not supported",
    lambda value: value is None,
)
RULES = {
    "architectures": ValueRule("a list of names", _is_string_list),
    "model_type": _require_type("a name", str),
    "vocab_size": _require_whole(1, MAX_TOKENS),
    **dict.fromkeys((*WIDTHS, "intermediate_size", "hidden_dim", "embedding_size", "d_ff"), WIDTH),
    "n_inner": _require_whole_or_none(1, 100_000),
    **dict.fromkeys(LAYERS, LAYER_COUNT),
    **dict.fromkeys(("num_hidden_groups", "inner_group_num"), LAYER_COUNT),
    **dict.fromkeys(HEADS, _require_whole(1, 10_000)),
    **dict.fromkeys(
        ("num_key_value_heads", "head_dim", "d_kv"), _require_whole_or_none(1, 100_000)
    ),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), POSITION_COUNT),
    **dict.fromkeys(("type_vocab_size", "local_attention"), POSITION_COUNT),
    **dict.fromkeys(("sliding_window", "position_buckets"), _require_whole_or_none(-1, 10_000_000)),
    **dict.fromkeys(("rope_parameters", "rope_scaling"), _require_type("an object", dict)),
    **dict.fromkeys(
        ("rope_theta", "global_rope_theta", "local_rope_theta"), _require_number(1, 1e12)
    ),
    "layer_types": ValueRule("a list of names", _is_string_list),
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
    **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), _require_number(0, 1)),
    **dict.fromkeys(("embedding_dropout", "mlp_dropout"), _require_number(0, 1)),
    **dict.fromkeys(("initializer_range", "layer_norm_eps"), _require_number(0, 1_000)),
    **dict.fromkeys(("norm_eps", "rms_norm_eps", "layer_norm_epsilon"), _require_number(0, 1_000)),
    **dict.fromkeys(ACTIVATIONS, _require_type("the name of an activation", str)),
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


def read_config(folder: Path) -> dict[str, Any]:
    """Read the config.json of a model folder; raise InputError if a value is invalid."""
    path = folder / CONFIG
    if not path.exists() and not path.is_symlink():
        raise InputError(
            f"{show_path(folder)}: expected a config.json, found none.",
            "Give the folder of a saved model.",
            code="no-config",
        )
    config = read_json_object(path, MAX_CONFIG_BYTES)
    for key, value in config.items():
        rule = RULES.get(key)
        if rule is None and key.endswith("_token_id"):
            rule = TOKEN_ID
        if rule is not None and not rule.holds(value):
            raise build_value_error(path, key, value, rule.expected)
    return config
