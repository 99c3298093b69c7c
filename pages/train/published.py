"""Page Published results: tables of publications, beside our own scores."""

from vocadapt.ui.shell import frame

frame.draw_page("published")
