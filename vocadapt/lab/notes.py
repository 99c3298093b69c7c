"""Notes: what people wrote and tagged on single things of a workspace, in `<workspace>/notes.json`, by the thing's id.

An entry of an error ledger has an id made of its example and its unit, so a note on it is there in every comparison.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab import strict_json
from vocadapt.lab.locks import alone
from vocadapt.lab.workspace import Workspace

FILE = "notes.json"
LONGEST, MOST_TAGS, LONGEST_TAG = 10_000, 20, 60  # characters of a note, tags, characters of a tag


@dataclass(frozen=True)
class Note:
    """What was written on a thing, its tags, what the thing is for people, and when it was last changed."""

    text: str
    tags: tuple[str, ...] = ()
    about: str = ""
    changed: str = ""

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST:
            raise InputError(f"A note of {len(self.text):,} characters: at most {LONGEST:,} are kept.", "Shorten it.")
        if len(self.tags) > MOST_TAGS or any(not 0 < len(tag) <= LONGEST_TAG for tag in self.tags):
            raise InputError(f"A note has at most {MOST_TAGS} tags of 1 to {LONGEST_TAG} characters.", "Leave some out.")


def notes_of(workspace: Workspace) -> dict[str, Note]:
    """Every note of a workspace by the id of its thing; raises InputError where the file holds anything else."""
    path = workspace.root / FILE
    try:
        values = strict_json.loads(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}).", "Remove the file.") from error
    return {key: _checked(value, path) for key, value in values.items()}


def save_note(workspace: Workspace, id: str, text: str, tags: Iterable[str] = (), about: str = "") -> Note | None:
    """Keep a note on a thing, in place of the one it had; without text and tags there is none any more.

    Raises InputError for one that is too long. Two processes that write at once lose nothing of each other's.
    """
    kept = tuple(dict.fromkeys(filter(None, (" ".join(tag.split()) for tag in tags))))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    note = Note(text.strip(), kept, about, now)
    workspace.root.mkdir(parents=True, exist_ok=True)
    with alone(workspace.root):
        notes = notes_of(workspace)
        with suppress(KeyError):
            del notes[id]
        if note.text or note.tags:
            notes[id] = note
        strict_json.write(workspace.root / FILE, {key: asdict(value) for key, value in notes.items()})
    return notes.get(id)


def tags_in(notes: Mapping[str, Note]) -> list[str]:
    """Every tag in use, in order."""
    return sorted({tag for note in notes.values() for tag in note.tags})


def _checked(value: object, path: Path) -> Note:
    names = {one.name for one in fields(Note)}
    if not isinstance(value, dict) or not set(value) <= names or not isinstance(value.get("tags", []), list):
        raise InputError(f"{path}: expected notes with text and tags.", "Remove the file.")
    texts = {name: str(value.get(name, "")) for name in ("text", "about", "changed")}
    return Note(tags=tuple(map(str, value.get("tags", []))), **texts)
