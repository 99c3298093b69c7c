"""Page Adapt: a model with new words, and the initializers of their embeddings."""

from vocadapt.ui.adapt import page as adapt_part
from vocadapt.ui.frame import frame
from vocadapt.ui.initializers import page as initializers_part

frame.draw_page("adapt", {"adapt": adapt_part.draw, "initializers": initializers_part.draw})
