"""Page Error analysis: the examples on which two runs disagree."""

from vocadapt.ui.parts.errors import page as errors_part
from vocadapt.ui.shell import frame

frame.draw_page("errors", {"errors": errors_part.draw})
