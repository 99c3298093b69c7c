"""Page Lessons: eight lessons on the pages of the lab, and the teacher's tab."""

from vocadapt.ui.shell import frame

frame.draw_page("lessons")
