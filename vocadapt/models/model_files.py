"""The weight files of a model folder: its stored tensors (files, names, dtypes and shapes), listed
without loading them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vocadapt.errors import InputError
from vocadapt.system.files import check_file, read_json_object, show_path

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
SUFFIX = ".safetensors"
# Supported dtypes of embeddings: numpy and torch can compute with them on any machine.
NUMBERS = ("F64", "F32", "F16", "BF16")
SAVE_AGAIN = "Download or save the model again."
CONFIG, GENERATION = "config.json", "generation_config.json"
ADDED_TOKENS = "added_tokens_decoder"  # a key of tokenizer_config.json
CHAT_TEMPLATES = ("chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja")
MAX_TOKENS = 10_000_000
MAX_SHOWN = 60  # characters of a value in a message
REMEDY = "Correct the file, or download the model again."


@dataclass(frozen=True)
class StoredTensor:
    """File, dtype (in safetensors' notation: "F32") and shape of a tensor."""

    file: Path
    dtype: str
    shape: tuple[int, ...]


class ModelFiles(Protocol):
    """The properties of a model folder that are needed to find its class and its embeddings."""

    @property
    def path(self) -> Path:
        """The folder."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The content of config.json."""

    @property
    def generation(self) -> Mapping[str, Any]:
        """The content of generation_config.json; empty if there is none."""

    @property
    def architecture(self) -> str:
        """The class that config.json names; "" if it names none."""


def list_chat_templates(folder: Path) -> list[Path]:
    """List the chat templates of a model folder that are files."""
    return sorted(file for pattern in CHAT_TEMPLATES for file in folder.glob(pattern))


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
            code="pickled-weights",
        )
    raise InputError(
        f"{folder}: expected model.safetensors, found no weights.",
        "Give the folder of a saved model.",
        code="no-weights",
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
                f"{show_path(file)} is not a readable safetensors file: {error}.",
                SAVE_AGAIN,
                code="damaged-weights",
            ) from error
        if twice := found.keys() & headers.keys():
            raise InputError(
                f"{show_path(file)}: the tensor {min(twice)[:200]!r} is also in another file.",
                SAVE_AGAIN,
            )
        found |= headers
    return found


def _read_shard_names(index: Path) -> list[str]:
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


def build_value_error(path: Path, key: str, value: Any, expected: str) -> InputError:
    """Return the error for an invalid value in config.json."""
    shown = repr(value)
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]}…"
    return InputError(
        f"{show_path(path)}: {key} is {shown}, expected {expected}.",
        REMEDY,
        code="invalid-config-value",
    )


def build_mismatch_error(folder: Path, problem: str) -> InputError:
    """Return the error for a config.json that does not match the weights."""
    return InputError(
        f"{show_path(folder)}: config.json and weights do not match: {problem}.",
        REMEDY,
        code="config-mismatch",
    )
