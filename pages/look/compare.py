"""Page Compare spaces: changed neighborhoods, and the geometry of spaces."""

from vocadapt.ui.shell import frame

frame.draw_page("compare")
