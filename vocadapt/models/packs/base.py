"""Keep the base of a model with packs in the folder base/, and restore it.

A folder with packs contains everything that is needed to restore its base byte by byte:

    base/config.json, tokenizer.json, …   the files of the base, unchanged
    base/NAME.safetensors.header          the header of each weight file of the base
    base/free_rows.safetensors            rows of the base without a token that a new token took
    packs/NAME.safetensors                the packs, in the order in which they were applied
    vocadapt.json                         under "packs": the hash of each file of the base

The weights of the base are the first rows of the folder's own weights.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import BASE, RECORD
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_files import SUFFIX
from vocadapt.models.packs.pack import (
    NAME,
    SHA256,
    BaseIdentity,
    StoredRows,
    VocabularyPack,
    load_pack,
)
from vocadapt.models.packs.stored_weights import (
    MAX_HEADER_BYTES,
    Place,
    copy_tensors,
    hash_file,
    lay_out,
    parse_header,
    read_header,
    read_tensor,
    write_tensors,
)
from vocadapt.system.files import read_json_object, read_whole, show_path, temporary_folder

PACKS = "packs"  # folder of the applied packs, and their key in the record
HEADER = ".header"  # suffix of the stored header of a weight file
FREE_ROWS = "free_rows.safetensors"
# Suffixes of the files of a base that are kept. The manifest is not: it describes another artifact.
KEPT_SUFFIXES = (".json", ".txt", ".md", ".model", ".jinja", ".toml")
NOT_KEPT = ("manifest.json",)
APPLY_AGAIN = "Apply the packs to the base model again."


@dataclass(frozen=True)
class AppliedPacks:
    """The packs of a model, as in its record.

    files: SHA-256 of each file of the base, by its path in the base's folder. names: names of the
    packs, in the order in which they were applied.
    """

    base: BaseIdentity
    files: Mapping[str, str]
    names: tuple[str, ...]


def read_applied_packs(model: LanguageModel) -> AppliedPacks | None:
    """Read the packs of a model from its record; None if it has none.

    Raises InputError if the record is damaged.
    """
    path = model.path / RECORD
    if not path.is_file():
        return None
    stored, place = read_json_object(path).get(PACKS), show_path(path)
    if stored is None:
        return None
    problem = InputError(f"{place}: its list of packs is damaged.", APPLY_AGAIN)
    if not isinstance(stored, dict):
        raise problem
    files, applied = stored.get("base_files"), stored.get("applied")
    if not isinstance(files, dict) or not isinstance(applied, list):
        raise problem
    for name, digest in files.items():
        is_hash = isinstance(digest, str) and SHA256.fullmatch(digest)
        if not _is_kept_path(name) or not is_hash:
            raise problem
    names = [str(one.get("name")) for one in applied if isinstance(one, dict)]
    if not names or len(set(names)) < len(applied) or not all(map(NAME.fullmatch, names)):
        raise problem
    return AppliedPacks(BaseIdentity.from_dict(stored.get("base"), place), files, tuple(names))


def load_applied_packs(model: LanguageModel, applied: AppliedPacks) -> list[VocabularyPack]:
    """Read the packs of a model, in the order in which they were applied.

    Raises InputError if a file is missing: a training writes a folder without them.
    """
    files = [model.path / PACKS / f"{name}{SUFFIX}" for name in applied.names]
    for file in files:
        if not file.is_file():
            raise _build_changed_error(model, f"{PACKS}/{file.name}", applied)
    return [load_pack(file) for file in files]


@contextmanager
def open_base(model: LanguageModel) -> Iterator[tuple[LanguageModel, list[VocabularyPack]]]:
    """Yield the base of a model, and the packs that were applied to it.

    A model without packs is its own base. The base of a model with packs is restored in a temporary
    folder.
    """
    applied = read_applied_packs(model)
    if applied is None:
        yield model, []
        return
    packs = load_applied_packs(model, applied)
    with temporary_folder() as name:
        folder = Path(name)
        restore_base(model, applied, folder)
        yield LanguageModel(folder, applied.base.name), packs


def list_base_files(folder: Path) -> list[str]:
    """List the files of a base to keep, by their paths in its folder: small files in it and in its
    subfolders, and all files in base/ of an adapted model.
    """
    found = [*folder.glob("*"), *folder.glob("*/*"), *(folder / BASE).rglob("*")]
    names = {path.relative_to(folder).as_posix() for path in found if path.is_file()}
    return sorted(
        name for name in names - {*NOT_KEPT} if _is_kept_path(name) and not name.endswith(SUFFIX)
    )


def restore_base(model: LanguageModel, applied: AppliedPacks, folder: Path) -> None:
    """Write the files of the base of a model with packs, equal to the original ones byte by byte.

    Raises InputError if a file is missing, or differs from the original one.
    """
    kept = model.path / BASE
    free_rows = _read_free_rows(kept / FREE_ROWS)
    for name, digest in applied.files.items():
        target, header = folder / name, kept / f"{name}{HEADER}"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if name.endswith(SUFFIX):
                parsed = parse_header(read_whole(header, MAX_HEADER_BYTES), header)
                found = copy_tensors(model.path / name, target, parsed, free_rows)
            else:
                target.write_bytes(read_whole(kept / name))
                found = hash_file(target)
        except InputError as error:
            raise _build_changed_error(model, name, applied) from error
        if found != digest:
            raise _build_changed_error(model, name, applied)


def _build_changed_error(model: LanguageModel, name: str, applied: AppliedPacks) -> InputError:
    return InputError(
        f"{show_path(model.path)}: its base model cannot be restored: {name[:100]} is missing or has"
        " changed since the packs were applied, for example by training.",
        f"Use the base model itself, {applied.base.name}.",
    )


def keep_base(
    base: LanguageModel, weights: list[Path], free_rows: Mapping[str, StoredRows], folder: Path
) -> dict[str, str]:
    """Write base/ of a folder with packs; return the SHA-256 of each file of the base.

    weights: the weight files of the base. free_rows: rows without a token, by stored tensor.
    """
    kept = folder / BASE
    kept.mkdir()
    digests = {}
    for name in list_base_files(base.path):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(base.path / name, kept / name)
        digests[name] = hash_file(kept / name)
    for file in weights:
        (kept / f"{file.name}{HEADER}").write_bytes(read_header(file).raw)
        digests[file.name] = hash_file(file)
    if free_rows:
        places = {name: Place(rows.dtype, rows.shape) for name, rows in free_rows.items()}
        data = {name: rows.data for name, rows in free_rows.items()}
        write_tensors(kept / FREE_ROWS, lay_out(places, {}), data)
    return digests


def _read_free_rows(path: Path) -> dict[str, bytes]:
    """Return the bytes of the kept rows without a token, by tensor; {} if there are none."""
    if not path.is_file():
        return {}
    header = read_header(path)
    return {name: read_tensor(path, header, name) for name in header.tensors}


def _is_kept_path(name: Any) -> bool:
    """Return whether a text is a relative path of a file inside the folder of a base."""
    if not isinstance(name, str) or "\\" in name or "\0" in name:
        return False
    parts = name.split("/")
    inside = all(part and not part.startswith(".") for part in parts)
    return inside and Path(name).suffix in (*KEPT_SUFFIXES, SUFFIX)
