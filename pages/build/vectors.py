"""Page Word vectors: train or import them, and align them with a model."""

from vocadapt.ui.shell import frame

frame.draw_page("vectors")
