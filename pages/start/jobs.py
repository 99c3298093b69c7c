"""Page Jobs: progress, logs and results of long steps, and everything that the workspace holds."""

from vocadapt.ui.frame import frame
from vocadapt.ui.jobs import page as jobs_part
from vocadapt.ui.storage import page as storage_part

frame.draw_page("jobs", {"jobs": jobs_part.draw, "storage": storage_part.draw})
