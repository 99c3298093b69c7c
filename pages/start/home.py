"""Page Home: the five steps of the walk, what the workspace holds, and the demo."""

from vocadapt.ui.parts.home import page as home_part
from vocadapt.ui.shell import frame

frame.draw_page("home", {"home": home_part.draw})
