"""The part Jobs: progress, logs and results of the long steps of a workspace."""

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.jobs import view


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    view.draw_jobs(workspace)
    view.draw_more_steps(workspace)
