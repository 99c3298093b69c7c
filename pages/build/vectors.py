"""Page Word vectors: train or import them, and align them with a model."""

from vocadapt.ui.alignment import page as alignment_part
from vocadapt.ui.frame import frame
from vocadapt.ui.vectors import page as vectors_part

frame.draw_page("vectors", {"vectors": vectors_part.draw, "alignment": alignment_part.draw})
