"""Page Your text: import a text, and advice on new words for it."""

from vocadapt.ui.advise import page as advise_part
from vocadapt.ui.frame import frame
from vocadapt.ui.text import page as text_part

frame.draw_page("text", {"text": text_part.draw, "advise": advise_part.draw})
