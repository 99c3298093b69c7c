"""workspace list: the artifacts of a workspace. It imports no step, so that it answers at once."""

from pathlib import Path
from typing import TypedDict, cast

from vocadapt.cli.command import Answer, Command, Options
from vocadapt.cli.tables import format_table
from vocadapt.cli.workspace_options import WORKSPACE
from vocadapt.lab.workspace.disk_space import measure_files
from vocadapt.lab.workspace.manifest import ARTIFACTS
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.workspace import Workspace, describe_hidden
from vocadapt.report.formats import format_size


class ArtifactRow(TypedDict):
    """An artifact: kind/name, time (UTC), size for people, note."""

    artifact: str
    created: str
    size: str
    note: str


class ListAnswer(TypedDict):
    """The artifacts of a workspace, and those that cannot be read: kind/name → why."""

    artifacts: list[ArtifactRow]
    hidden: dict[str, str]


def _list(options: Options) -> Answer[ListAnswer]:
    workspace = Workspace(Path(options.workspace))
    notes = load_notes(workspace)
    rows = []
    for kind in ARTIFACTS:
        for one in workspace.artifacts(kind):
            note = notes.get(f"{kind}/{one.name}")
            text = ""
            if note:
                text = " ".join(note.text.split())
            size = format_size(measure_files([str(one.folder)]))
            made = format_time(one.manifest.created)
            rows.append((f"{kind}/{one.name}", made, size, text))
    text = f"There are no artifacts in {workspace.root}."
    header = ("artifact", "created", "size", "note")
    if rows:
        text = format_table(header, rows)
    hidden = workspace.list_hidden()
    if hidden:
        text = "\n".join([text, *describe_hidden(hidden)])
    artifacts = [dict(zip(header, row, strict=True)) for row in rows]
    return Answer({"artifacts": cast(list[ArtifactRow], artifacts), "hidden": hidden}, text)


def format_time(iso: str) -> str:
    """Format a time (UTC) to the minute."""
    return iso[:16].replace("T", " ")


LIST = Command(_list, (WORKSPACE,))
