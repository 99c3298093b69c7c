"""Files, names, dtypes and shapes of the tensors of a model folder, read from headers without
loading the weights.
"""

from dataclasses import dataclass
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import check_file, read_json_object, show_path

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
SUFFIX = ".safetensors"
NUMBERS = (
    "F64",
    "F32",
    "F16",
    "BF16",
)  # types of embeddings that numpy and torch can compute with on any machine
AGAIN = "Download or save the model again."


@dataclass(frozen=True)
class StoredTensor:
    """File, dtype (in safetensors' notation: "F32") and shape of a tensor."""

    file: Path
    dtype: str
    shape: tuple[int, ...]


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model folder.

    Raises InputError if there are none, naming other weight files, or if one of them or the index
    cannot be read.
    """
    index = folder / INDEX
    names = _shard_names(index) if index.exists() or index.is_symlink() else [WHOLE]
    files = [folder / name for name in names]
    if all(file.exists() for file in files):
        return [check_file(file) for file in files]
    if any(folder.glob("*.bin")):
        raise InputError(
            f"{folder}: its weights are a pickled .bin, which vocadapt does not load.",
            f"Convert it once (python -m vocadapt convert {folder}), and give the result.",
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
    for file in weight_files(folder):
        try:
            with safe_open(file, "np") as tensors:
                stored = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118 (not a dict)
                headers = {
                    name: StoredTensor(file, one.get_dtype(), tuple(one.get_shape()))
                    for name, one in stored.items()
                }
        except Exception as error:  # safetensors raises its own exception or OSError
            raise InputError(
                f"{show_path(file)} is not a readable safetensors file: {error}.", AGAIN
            ) from error
        if twice := found.keys() & headers.keys():
            raise InputError(
                f"{show_path(file)}: the tensor {min(twice)[:200]!r} is also in another file.",
                AGAIN,
            )
        found |= headers
    return found


def _shard_names(index: Path) -> list[str]:
    """Return the distinct file names in the index of a sharded model."""
    content = read_json_object(index)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise InputError(
            f'{show_path(index)}: expected "weight_map", an object from tensors to files.', AGAIN
        )
    if not isinstance(content.get("metadata"), dict):
        raise InputError(f'{show_path(index)}: expected "metadata", an object.', AGAIN)
    for tensor, name in shards.items():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(SUFFIX):
            problem = (
                f"{show_path(index)}: expected the name of a {SUFFIX} file for {tensor[:200]!r},"
                f" found {str(name)[:200]!r}."
            )
            raise InputError(problem, "Its files must be in the model's own folder.")
    return sorted(set(shards.values()))
