"""Page Adapt: a model with new words, and the initializers of their embeddings."""

from vocadapt.ui.shell import frame

frame.draw_page("adapt")
