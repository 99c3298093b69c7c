"""Page Adapt: a model with new words, and the initializers of their embeddings."""

from vocadapt.ui.parts.adapt import page as adapt_part
from vocadapt.ui.parts.initializers import page as initializers_part
from vocadapt.ui.shell import frame

frame.draw_page("adapt", {"adapt": adapt_part.draw, "initializers": initializers_part.draw})
