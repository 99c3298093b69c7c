"""Jobs on the pages.

Read in this order: `panel` (the job of a page, and the button that starts one), `guards` (time and
warnings beside the button), `results` (the part that shows what a job made), `overview` (the jobs in the sidebar
and in the header).
"""

from vocadapt.lab.experiments import STEPS  # a job may be one of any step

__all__ = ["STEPS"]
