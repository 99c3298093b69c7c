"""Page Try it: what a model makes of a typed sentence."""

from vocadapt.ui.parts.try_it import page as try_it_part
from vocadapt.ui.shell import frame

frame.draw_page("try_it", {"try": try_it_part.draw})
