"""Page Published results: tables of publications, beside our own scores."""

from vocadapt.ui.parts.published import page as published_part
from vocadapt.ui.shell import frame

frame.draw_page("published", {"published": published_part.draw})
