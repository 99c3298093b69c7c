"""Page Published results: tables of publications, next to our own scores."""

from vocadapt.ui.shell import frame

frame.draw_page("published")
