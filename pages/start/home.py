"""Page Home: the five steps of the walk, what the workspace holds, and the demo."""

from vocadapt.ui.frame import frame
from vocadapt.ui.home import page as home_part

frame.draw_page("home", {"home": home_part.draw})
