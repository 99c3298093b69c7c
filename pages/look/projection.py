"""Page Projection: tokens in two dimensions."""

from vocadapt.ui.parts.projection import page as projection_part
from vocadapt.ui.shell import frame

frame.draw_page("projection", {"projection": projection_part.draw})
