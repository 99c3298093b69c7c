"""Page Projection: tokens in two dimensions."""

from vocadapt.ui.frame import frame
from vocadapt.ui.projection import page as projection_part

frame.draw_page("projection", {"projection": projection_part.draw})
