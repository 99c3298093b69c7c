"""Page Try it: what a model makes of a typed sentence."""

from vocadapt.ui.shell import frame

frame.draw_page("try_it")
