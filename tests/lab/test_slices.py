"""Named selections of tokens are saved under their name, loaded again, and written atomically
inside the workspace."""

import json

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.workspace.slices import FOLDER, delete_slice, list_slices, load_slice, save_slice

HOSTILE = (
    "<script>alert(1)</script>",
    "$x$",
    "<s>",
    ":red[x]",
    "שלום",
    "x" * 500,
    "##ing",
    'a"b',
    "\x07",
    "Ġthe",
)


def test_a_slice_comes_back_as_it_was_saved(workspace):
    saved = save_slice(
        workspace,
        "Cancer words",
        ["tumor", "cancer", "tumor"],
        {"space": "model · m", "map": "m-tsne"},
    )
    assert saved.id == "cancer-words" and saved.tokens == ("tumor", "cancer")
    assert load_slice(workspace, "cancer-words") == saved
    assert list_slices(workspace) == [saved]


def test_hostile_tokens_and_names_stay_what_they_are(workspace):
    saved = save_slice(workspace, "<b>$x$</b>", HOSTILE)
    assert load_slice(workspace, saved.id).tokens == HOSTILE
    assert load_slice(workspace, saved.id).name == "<b>$x$</b>"
    json.loads(
        (workspace.root / FOLDER / f"{saved.id}.json").read_text(encoding="utf-8"),
        parse_constant=pytest.fail,
    )


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..", "con", "/", "שלום", "NUL.txt", "a" * 100, "a/b\\c", "x\x00y"]
)
def test_any_name_lies_in_the_folder_of_slices(workspace, name):
    saved = save_slice(workspace, name, ["a"])
    (file,) = (workspace.root / FOLDER).iterdir()
    assert file.stem == saved.id and load_slice(workspace, saved.id) == saved


def test_the_same_name_twice_overwrites_nothing(workspace):
    first, second = save_slice(workspace, "mine", ["a"]), save_slice(workspace, "mine", ["b"])
    assert (first.id, second.id) == ("mine", "mine-2")
    assert [one.tokens for one in list_slices(workspace)] == [("b",), ("a",)]  # the newest first
    delete_slice(workspace, "mine")
    assert list_slices(workspace) == [second]


@pytest.mark.parametrize(
    ("name", "tokens"), [("", ["a"]), ("   ", ["a"]), ("x" * 101, ["a"]), ("empty", [])]
)
def test_a_slice_needs_a_name_and_a_token(workspace, name, tokens):
    with pytest.raises(InputError):
        save_slice(workspace, name, tokens)
    assert not (workspace.root / FOLDER).exists()


@pytest.mark.parametrize("id", ["gone", "../x", "a/b", "", ".hidden", "x\x00"])
def test_what_is_not_there_cannot_be_loaded_or_deleted(workspace, id):
    for use in (load_slice, delete_slice):
        with pytest.raises(InputError):
            use(workspace, id)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"id":"a","name":"a","tokens":[1],"source":{},"created":""}',
        b'{"id":"a","name":"a","tokens":[],"source":{},"created":""}',
        b'{"id":"a","name":NaN,"tokens":["a"],"source":{},"created":""}',
    ],
)
def test_a_file_that_is_none_is_passed_over(workspace, content):
    good = save_slice(workspace, "good", ["a"])
    (workspace.root / FOLDER / "bad.json").write_bytes(content)
    with pytest.raises(InputError):
        load_slice(workspace, "bad")
    assert list_slices(workspace) == [good]


def test_a_link_may_not_lead_out_of_the_workspace(workspace, tmp_path):
    save_slice(workspace, "good", ["a"])
    (tmp_path / "outside.json").write_text((workspace.root / FOLDER / "good.json").read_text())
    (workspace.root / FOLDER / "link.json").symlink_to(tmp_path / "outside.json")
    with raises_input_error("leads-out"):
        load_slice(workspace, "link")
