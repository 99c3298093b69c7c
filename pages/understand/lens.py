"""Page Tokenizer lens: how models split a text, and the size of their vocabularies."""

from vocadapt.ui.shell import frame

frame.draw_page("lens")
