"""Page Try it: what a model makes of a typed sentence."""

from vocadapt.ui.frame import frame
from vocadapt.ui.try_it import page as try_it_part

frame.draw_page("try_it", {"try": try_it_part.draw})
