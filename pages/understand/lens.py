"""Page Tokenizer lens: how models split a text, and the size of their vocabularies."""

from vocadapt.ui.parts.lens import page as lens_part
from vocadapt.ui.parts.vocabulary import page as vocabulary_part
from vocadapt.ui.shell import frame

frame.draw_page("lens", {"lens": lens_part.draw, "vocabulary": vocabulary_part.draw})
