"""Page Jobs: progress, logs and results of long steps, and everything that the workspace holds."""

from vocadapt.ui.parts.jobs import page as jobs_part
from vocadapt.ui.parts.storage import page as storage_part
from vocadapt.ui.shell import frame

frame.draw_page("jobs", {"jobs": jobs_part.draw, "storage": storage_part.draw})
