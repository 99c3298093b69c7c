"""Page Jobs: progress, logs and results of long steps, and everything that the workspace holds."""

from vocadapt.ui.shell import frame

frame.draw_page("jobs")
