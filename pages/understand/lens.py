"""Page Tokenizer lens: how models split a text, and the size of their vocabularies."""

from vocadapt.ui.frame import frame
from vocadapt.ui.lens import page as lens_part
from vocadapt.ui.vocabulary import page as vocabulary_part

frame.draw_page("lens", {"lens": lens_part.draw, "vocabulary": vocabulary_part.draw})
