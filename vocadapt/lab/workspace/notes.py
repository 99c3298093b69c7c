"""Notes and tags on items of a workspace, in `<workspace>/notes.jsonl`, one item per line.

The id of an error-ledger entry depends only on its example and unit, so a note on it appears in
every comparison.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime

from vocadapt.errors import InputError
from vocadapt.files import read_document
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.locks import wait_for_lock
from vocadapt.lab.workspace.workspace import Workspace

FILE = "notes.jsonl"
# Characters of a note, tags of a note, characters of a tag.
MAX_NOTE_LENGTH, MAX_TAGS, MAX_TAG_LENGTH = 10_000, 20, 60


@dataclass(frozen=True)
class Note:
    """Text and tags of a note, the item's title, and the time of the last change."""

    text: str
    tags: tuple[str, ...] = ()
    about: str = ""
    changed: str = ""

    def __post_init__(self) -> None:
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


def load_notes(workspace: Workspace) -> dict[str, Note]:
    """Return all notes of a workspace by item id; raises InputError for an invalid file."""
    path = workspace.root / FILE
    if not os.path.lexists(path):
        return {}
    lines = read_document(path).split("\n")
    return dict(
        _read(line, f"{path}, line {number:,}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )


def save_note(
    workspace: Workspace, id: str, text: str, tags: Iterable[str] = (), about: str = ""
) -> Note | None:
    """Save a note on an item, replacing an earlier one; without text and tags, remove the note.

    Concurrent processes do not lose each other's notes. Raises InputError for a note that is too
    long.
    """
    # 1. Normalize spaces in tags, and remove duplicates.
    unique_tags = tuple(dict.fromkeys(filter(None, (" ".join(tag.split()) for tag in tags))))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    note = Note(text.strip(), unique_tags, about, now)

    # 2. Replace the note under the lock of the workspace. A changed note moves to the end.
    with convert_write_errors(workspace.root):
        workspace.root.mkdir(parents=True, exist_ok=True)
    with convert_write_errors(workspace.root / FILE), wait_for_lock(workspace.root):
        notes = load_notes(workspace)
        notes.pop(id, None)
        if note.text or note.tags:
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
    names = {"id", *(one.name for one in fields(Note))}
    if (
        not isinstance(value.get("id"), str)
        or not set(value) <= names
        or not isinstance(value.get("tags", []), list)
    ):
        raise InputError(
            f"{where}: expected a note with id, text and tags.", "Correct or remove the line."
        )
    texts = {name: str(value.get(name, "")) for name in ("text", "about", "changed")}
    return value["id"], Note(tags=tuple(map(str, value.get("tags", []))), **texts)
