"""`vocadapt.system.files` opens every file: which files it accepts, which it refuses, and that it never
blocks."""

import os
import socket
import time

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.system import files


@pytest.fixture
def special(tmp_path, monkeypatch):
    """Paths that are there but are no file: each with what a message calls it."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path may be short only
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("socket")
    yield {"pipe": "a named pipe", "/dev/zero": "a device", "socket": "a socket"}
    listener.close()


@pytest.mark.parametrize(
    "opens",
    [files.check_path, files.check_file, files.open_file, files.read_document, files.read_json],
)
@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "socket"])
def test_a_path_that_is_not_a_regular_file_is_refused_immediately(special, opens, name):
    began = time.monotonic()
    with raises_input_error("special-file", special[name]):
        opens(name)
    assert time.monotonic() - began < 1


def test_a_link_to_a_device_is_a_device(tmp_path):
    (tmp_path / "link").symlink_to("/dev/zero")
    with raises_input_error("special-file", "a device"):
        files.open_file(tmp_path / "link")


def test_a_link_to_a_file_is_that_file(tmp_path):
    (tmp_path / "there.txt").write_text("heart")
    (tmp_path / "link").symlink_to("there.txt")
    assert files.read_document(tmp_path / "link") == "heart"


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    assert files.check_folder(tmp_path) == tmp_path
    with raises_input_error("not-a-file"):
        files.open_file(tmp_path)
    with raises_input_error("not-a-file"):
        files.check_file(tmp_path)
    with raises_input_error("not-a-folder"):
        files.check_folder(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["missing", "x" * 5000, "nul\0byte", "a.txt/below", "loop"])
def test_a_missing_file_gives_a_short_message(tmp_path, name):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError) as told:
        files.open_file(tmp_path / name)
    assert len(told.value.problem) < 400


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_reported(tmp_path):
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    with raises_input_error("no-read-permission"):
        files.open_file(tmp_path / "secret")


def test_a_document_has_a_limit(tmp_path):
    (tmp_path / "a.txt").write_text("heart")
    assert files.read_document(tmp_path / "a.txt", max_bytes=5) == "heart"
    with raises_input_error("file-too-large"):
        files.read_document(tmp_path / "a.txt", max_bytes=4)


def test_json_has_a_depth(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[" * files.MAX_JSON_DEPTH + "]" * files.MAX_JSON_DEPTH)
    assert isinstance(files.read_json(path), list)
    for depth in (files.MAX_JSON_DEPTH + 1, 100_000):
        path.write_text("[" * depth + "1" + "]" * depth)
        with raises_input_error("nested-too-deep", str(files.MAX_JSON_DEPTH)):
            files.read_json(path)


def test_json_objects_only(tmp_path):
    (tmp_path / "a.json").write_text('\ufeff{"a": 1}')
    assert files.read_json_object(tmp_path / "a.json") == {"a": 1}
    (tmp_path / "b.json").write_text("[1]")
    with raises_input_error("not-a-json-object", "list"):
        files.read_json_object(tmp_path / "b.json")
    (tmp_path / "c.json").write_text("{")
    with raises_input_error("invalid-json"):
        files.read_json_object(tmp_path / "c.json")


def test_a_message_never_holds_a_name_that_cannot_be_printed():
    files.show_path(os.fsdecode(b"caf\xe9.txt")).encode("utf-8")
