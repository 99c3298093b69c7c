"""workspace list: the artifacts of a workspace. It imports no step, so that it answers at once."""

from pathlib import Path

from vocadapt.cli.command import Answer, Command, Options
from vocadapt.cli.workspace_options import WORKSPACE
from vocadapt.lab.workspace.listing import Listing, list_workspace
from vocadapt.lab.workspace.workspace import Workspace, describe_hidden
from vocadapt.report.terminal import write_terminal


def _list(options: Options) -> Answer[Listing]:
    workspace = Workspace(Path(options.workspace))
    listing = list_workspace(workspace)
    text = f"There are no artifacts in {workspace.root}."
    if listing.artifacts:
        text = write_terminal(listing.build_table())
    return Answer(listing, "\n".join([text, *describe_hidden(listing.hidden)]))


LIST = Command(_list, (WORKSPACE,))
