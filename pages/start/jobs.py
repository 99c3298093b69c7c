"""Page Jobs: progress, logs and results of long steps."""

from vocadapt.ui.frame import frame
from vocadapt.ui.jobs import page as jobs_part

frame.draw_page("jobs", {"jobs": jobs_part.draw})
