"""Page Home: the five steps of the walk, what the workspace holds, and the demo."""

from vocadapt.ui.shell import frame

frame.draw_page("home")
