"""Page Your text: import a text, and advice on new words for it."""

from vocadapt.ui.parts.advise import page as advise_part
from vocadapt.ui.parts.text import page as text_part
from vocadapt.ui.shell import frame

frame.draw_page("text", {"text": text_part.draw, "advise": advise_part.draw})
