"""Page Error analysis: the examples on which two runs disagree."""

from vocadapt.ui.shell import frame

frame.draw_page("errors")
