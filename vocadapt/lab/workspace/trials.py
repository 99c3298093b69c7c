"""Whether a sentence was typed on the page Try it, in `<workspace>/tried.json`: the page makes no
artifact, and Home counts its step as done.
"""

from datetime import UTC, datetime

from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import convert_write_errors
from vocadapt.lab.workspace.workspace import Workspace

FILE = "tried.json"


def was_tried(workspace: Workspace) -> bool:
    """Return whether a sentence was typed in this workspace."""
    return (workspace.root / FILE).is_file()


def record_trial(workspace: Workspace) -> None:
    """Record that a sentence was typed, with the time of the first one; never the sentence itself.

    Does nothing if the workspace has no folder yet. Raises InputError if it cannot be written.
    """
    if was_tried(workspace) or not workspace.root.is_dir():
        return
    with convert_write_errors(workspace.root / FILE):
        now = datetime.now(UTC).isoformat(timespec="seconds")
        strict_json.write(workspace.root / FILE, {"first": now})
