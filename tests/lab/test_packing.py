"""A folder as a zip file: complete, reproducible byte by byte, and of the announced size."""

import errno
import io
import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.lab.workspace import packing
from vocadapt.lab.workspace.packing import (
    compute_packed_size,
    pack_artifact,
    pack_to_temporary_file,
)


def a_folder(place: Path) -> Path:
    (place / "m" / "base").mkdir(parents=True)
    (place / "m" / "config.json").write_text("{}")
    (place / "m" / "model.safetensors").write_bytes(os.urandom(3_000_000))
    (place / "m" / "base" / "vocab-é.txt").write_text("[UNK]\n")
    (place / "m" / "empty").touch()
    return place / "m"


def test_a_zip_holds_the_whole_folder_and_is_as_large_as_said(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    with pack_to_temporary_file(folder, tmp_path) as file:
        content = file.read()
    assert len(content) == compute_packed_size(folder)
    with ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        files = {
            f"m/{path.relative_to(folder).as_posix()}": path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert {name: archive.read(name) for name in archive.namelist()} == files
    assert [path.name for path in tmp_path.iterdir()] == ["m"]  # the temporary file is gone


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    folder, first, second = a_folder(tmp_path), io.BytesIO(), io.BytesIO()
    pack_artifact(folder, first)
    os.utime(folder / "config.json", (1, 1))
    (folder / "config.json").chmod(0o600)
    pack_artifact(folder, second)
    assert first.getvalue() == second.getvalue()


def test_a_full_disk_is_a_message_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packing, "pack_artifact", full)
    with raises_input_error("disk-full"):
        pack_to_temporary_file(a_folder(tmp_path), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
