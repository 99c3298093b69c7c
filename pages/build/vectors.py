"""Page Word vectors: train or import them, and align them with a model."""

from vocadapt.ui.parts.alignment import page as alignment_part
from vocadapt.ui.parts.vectors import page as vectors_part
from vocadapt.ui.shell import frame

frame.draw_page("vectors", {"vectors": vectors_part.draw, "alignment": alignment_part.draw})
