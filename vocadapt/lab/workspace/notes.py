"""Notes on items of a workspace, in `<workspace>/notes.jsonl`, one item per line: text, tags, and
the display name of a job. An artifact has none there: its name is that of its folder.

The id of an error-ledger entry depends only on its example and unit, so a note on it appears in
every comparison.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import reserve_space
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.system.files import check_line_count, read_document
from vocadapt.system.json_values import build_value, has_type
from vocadapt.text.splitter import is_encodable

FILE = "notes.jsonl"
# Characters of a note, tags of a note, characters of a tag.
MAX_NOTE_LENGTH, MAX_TAGS, MAX_TAG_LENGTH = 10_000, 20, 60
MAX_NAME_LENGTH = 80  # characters of a display name


@dataclass(frozen=True)
class Note:
    """Text and tags of a note, the item's title, the time of the last change, and the display name
    that the user gave the item; "" if none.
    """

    text: str
    tags: tuple[str, ...] = ()
    about: str = ""
    changed: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if not all(map(is_encodable, (self.text, *self.tags, self.about, self.name))):
            raise InputError("A note holds bytes that are not UTF-8.", "Write it again.")
        if len(self.text) > MAX_NOTE_LENGTH:
            raise InputError(
                f"A note has at most {MAX_NOTE_LENGTH:,} characters, got {len(self.text):,}.",
                "Shorten it.",
            )
        if len(self.tags) > MAX_TAGS or any(
            not 0 < len(tag) <= MAX_TAG_LENGTH for tag in self.tags
        ):
            raise InputError(
                f"A note has at most {MAX_TAGS} tags of 1 to {MAX_TAG_LENGTH} characters.",
                "Remove or shorten some tags.",
            )
        if len(self.name) > MAX_NAME_LENGTH:
            raise InputError(
                f"A name has at most {MAX_NAME_LENGTH} characters, got {len(self.name):,}.",
                "Shorten it.",
                code="long-name",
            )


def load_notes(workspace: Workspace) -> dict[str, Note]:
    """Return all notes of a workspace by item id; raises InputError for an invalid file."""
    path = workspace.root / FILE
    if not os.path.lexists(path):
        return {}
    # A link that leads nowhere is not cached: reading it raises InputError.
    read = _NOTES if path.exists() else _read_notes
    return dict(read(path))


def _read_notes(path: Path) -> dict[str, Note]:
    text = read_document(path)
    check_line_count(text, path)
    lines = text.split("\n")
    return dict(
        _read(line, f"{path}, line {number:,}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )


_NOTES = CachedReader(_read_notes)  # pages look for the names of jobs on every rerun


def find_name(workspace: Workspace, id: str) -> str:
    """Return the display name that the user gave an item; "" if none, or if the notes cannot be
    read: whatever shows the notes reports that error.
    """
    try:
        return load_notes(workspace).get(id, Note("")).name
    except InputError:
        return ""


def save_note(
    workspace: Workspace, id: str, text: str, tags: Iterable[str] = (), about: str = ""
) -> Note | None:
    """Save a note on an item, replacing an earlier one, but not its name; without text, tags and
    name, remove the note.

    Concurrent processes do not lose each other's notes. Raises InputError for a note that is too
    long.
    """
    # Normalize spaces in tags, and remove duplicates.
    unique_tags = tuple(dict.fromkeys(filter(None, (" ".join(tag.split()) for tag in tags))))
    note = Note(text.strip(), unique_tags, about, _format_now())
    room: AbstractContextManager[object] = nullcontext()
    if note.text:  # a note can be removed from a full storage
        room = reserve_space(workspace.root, len(note.text.encode()))
    with room:
        return _change_note(workspace, id, lambda old: replace(note, name=old.name))


def save_name(workspace: Workspace, id: str, name: str) -> str:
    """Save the display name of an item, which keeps its note, and return it without needless
    spaces; "" removes it. Raises InputError for a name that is too long or has control characters.
    """
    name = " ".join(name.split())
    if not name.isprintable():
        raise InputError(
            f"{name[:100]!r} cannot be a name: it has invisible characters.",
            "Remove them.",
            code="invalid-name",
        )
    _change_note(workspace, id, lambda old: replace(old, name=name, changed=_format_now()))
    return name


def replace_note(workspace: Workspace, id: str, note: Note) -> None:
    """Replace the note on an item, with its name; an empty note removes it.

    The caller holds the lock of the workspace.
    """
    with convert_write_errors(workspace.root / FILE):
        _write_changed(workspace, id, lambda _: note)


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _change_note(workspace: Workspace, id: str, change: Callable[[Note], Note]) -> Note | None:
    """Change the note on an item under the lock of the workspace; it moves to the end."""
    with convert_write_errors(workspace.root):
        workspace.root.mkdir(parents=True, exist_ok=True)
    with convert_write_errors(workspace.root / FILE), wait_for_lock(workspace.root):
        return _write_changed(workspace, id, change)


def _write_changed(workspace: Workspace, id: str, change: Callable[[Note], Note]) -> Note | None:
    notes = load_notes(workspace)
    note = change(notes.pop(id, Note("")))
    if note.text or note.tags or note.name:
        notes[id] = note
    lines = [strict_json.dumps({"id": key, **asdict(one)}) for key, one in notes.items()]
    strict_json.replace_text(workspace.root / FILE, "".join(f"{line}\n" for line in lines))
    return notes.get(id)


def list_tags(notes: Mapping[str, Note]) -> list[str]:
    """List every tag in use, sorted."""
    return sorted({tag for note in notes.values() for tag in note.tags})


def _read(line: str, where: str) -> tuple[str, Note]:
    """Parse a line: the id of an item and the note on it."""
    value = strict_json.loads(line, where)
    id = value.pop("id", None)
    with suppress(TypeError):
        note: Note = build_value(Note, {"text": ""} | value)
        if isinstance(id, str) and has_type(note, Note) and isinstance(value.get("tags", []), list):
            return id, note
    raise InputError(
        f"{where}: expected a note with id, text and tags.", "Correct or remove the line."
    )
