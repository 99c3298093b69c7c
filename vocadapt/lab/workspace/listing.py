"""What a workspace holds, as a list: artifacts with their time, size and note.

It imports no step, so that a list is shown at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import Note, load_notes
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.table import Column, Table

COLUMNS = (
    Column("created", "Created", "Time at which it was made (UTC; that of a job: local).", "time"),
    Column("bytes", "Size", "Size on the disk.", "size"),
    Column("note", "Note", "Your note on it.", "line"),
)


@dataclass(frozen=True)
class ListedArtifact:
    """An artifact: kind/name, time at which it was made (ISO 8601), size in bytes, and note."""

    artifact: str
    created: str
    bytes: int
    note: str


@dataclass(frozen=True)
class Listing:
    """The artifacts of a workspace, and those that cannot be read: kind/name → why."""

    artifacts: tuple[ListedArtifact, ...]
    hidden: Mapping[str, str]

    def build_table(self) -> Table:
        """Return the artifacts as a table."""
        return Table("", (Column("artifact", "Artifact"), *COLUMNS), self.artifacts)


def list_workspace(workspace: Workspace) -> Listing:
    """List the artifacts of a workspace: by kind, newest first."""
    notes = load_notes(workspace)
    found = []
    for kind in ARTIFACTS:
        for one in workspace.artifacts(kind):
            id = f"{kind}/{one.name}"
            note = notes.get(id, Note("")).text
            size = measure_files([str(one.folder)])
            found.append(ListedArtifact(id, one.manifest.created, size, note))
    return Listing(tuple(found), workspace.list_hidden())
