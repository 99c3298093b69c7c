"""Page Published results: tables of publications, beside our own scores."""

from vocadapt.ui.frame import frame
from vocadapt.ui.published import page as published_part

frame.draw_page("published", {"published": published_part.draw})
