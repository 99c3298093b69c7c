"""Page Your text: import a text, and advice on new words for it."""

from vocadapt.ui.shell import frame

frame.draw_page("text")
