"""Jobs on the pages.

Read in this order: `panel` (the job of a page), `forms` (the end of a form: the button that starts
a job, and the command), `guards` (time and warnings beside the button), `results` (the part that
shows what a job made), `overview` (the jobs in the sidebar and in the header).
"""

from vocadapt.lab.experiments import STEPS  # a job may be one of any step

__all__ = ["STEPS"]
