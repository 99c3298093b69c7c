"""The part Jobs: progress, logs and results of the long steps of a workspace."""

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.parts.jobs import view


def draw(workspace: Workspace) -> None:
    """Draw the list of jobs, and the results of steps that have no page."""
    view.draw_jobs(workspace)
    view.draw_more_steps(workspace)
