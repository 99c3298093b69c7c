"""Page Projection: tokens in two dimensions."""

from vocadapt.ui.shell import frame

frame.draw_page("projection")
