"""Notes of a workspace are saved, changed and removed atomically; hostile text and broken files."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from vocadapt.errors import InputError
from vocadapt.lab.workspace.notes import FILE, MAX_NOTE_LENGTH, list_tags, load_notes, save_note


def test_a_note_is_kept_changed_and_removed(workspace):
    assert load_notes(workspace) == {}
    save_note(
        workspace,
        "a",
        " gold is wrong ",
        ["boundary", "boundary", "  two   words "],
        "10369876 · sentence 4",
    )
    note = load_notes(workspace)["a"]
    assert note.text == "gold is wrong"
    assert note.tags == ("boundary", "two words")
    assert note.about == "10369876 · sentence 4"
    save_note(workspace, "b", "", ["rare"])
    save_note(workspace, "a", "no, it is right")
    assert load_notes(workspace)["a"].text == "no, it is right"
    assert list_tags(load_notes(workspace)) == ["rare"]
    assert save_note(workspace, "a", "  ") is None and list(load_notes(workspace)) == ["b"]
    assert [path.name for path in workspace.root.iterdir()] == [FILE]  # no draft is left


def test_hostile_text_comes_back_as_it_was(workspace):
    text = "<script>alert(1)</script> \u202e [link](x) \x00 $x$"
    save_note(workspace, text, text, ["<b>"])
    assert load_notes(workspace)[text].text == text and list_tags(load_notes(workspace)) == ["<b>"]


def test_each_note_is_a_line_whatever_is_in_it(workspace):
    for id, text in (("a", "two\nlines"), ("b", "\u2028 \x85 \r")):
        save_note(workspace, id, f"[{text}]")
    lines = (workspace.root / FILE).read_bytes().decode("utf-8").split("\n")
    assert [json.loads(line)["id"] for line in lines[:-1]] == ["a", "b"] and lines[-1] == ""
    assert [note.text for note in load_notes(workspace).values()] == [
        "[two\nlines]",
        "[\u2028 \x85 \r]",
    ]


def test_many_writers_lose_nothing(workspace):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: save_note(workspace, str(n), f"note {n}"), range(40)))
    assert {key: note.text for key, note in load_notes(workspace).items()} == {
        str(n): f"note {n}" for n in range(40)
    }


@pytest.mark.parametrize(
    ("text", "tags"),
    [("x" * (MAX_NOTE_LENGTH + 1), ()), ("x", ["t" * 100]), ("x", [str(n) for n in range(50)])],
)
def test_what_is_too_long_is_refused_and_nothing_is_written(workspace, text, tags):
    with pytest.raises(InputError):
        save_note(workspace, "a", text, tags)
    assert not (workspace.root / FILE).exists()


@pytest.mark.parametrize(
    "content",
    [
        "x",
        "[1]",
        '{"a": 1}',
        '{"text": "x"}',
        '{"id": 1}',
        '{"id": "a", "tags": "y"}',
        "\udcff",
        '{"id": "a"} {"id": "b"}',
    ],
)
def test_a_file_that_holds_something_else_is_a_message(workspace, content):
    workspace.root.mkdir(parents=True)
    (workspace.root / FILE).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        load_notes(workspace)
    assert FILE in caught.value.problem


def test_a_note_of_an_older_form_lacks_nothing(workspace):
    workspace.root.mkdir(parents=True)
    (workspace.root / FILE).write_text(
        '{"id": "b"}\n\n' + json.dumps({"id": "a", "text": "x"}), encoding="utf-8"
    )
    assert load_notes(workspace)["a"].tags == () and list(load_notes(workspace)) == ["b", "a"]
