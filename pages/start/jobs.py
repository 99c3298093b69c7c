"""Page Jobs: progress, logs and results of the long steps of a workspace."""

from vocadapt.ui.frame import frame
from vocadapt.ui.jobs import view

workspace = frame.open_page(
    "Jobs",
    (
        "Long steps run in the background and continue when you leave the page. Check their"
        " progress, cancel or resume them here."
    ),
    ("artifact", "job", "step", "workspace"),
)
view.draw_jobs(workspace)
view.draw_more_steps(workspace)
