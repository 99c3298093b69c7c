"""Page Studies: grids of variants, tasks and seeds, and searches of settings."""

from vocadapt.ui.shell import frame

frame.draw_page("studies")
