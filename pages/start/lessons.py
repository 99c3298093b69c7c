"""Page Lessons: eight lessons on the pages of the lab, and the teacher's tab."""

from vocadapt.ui.parts.lessons import page as lessons_part
from vocadapt.ui.parts.lessons import teacher as teacher_part
from vocadapt.ui.shell import frame

frame.draw_page("lessons", {"lessons": lessons_part.draw, "teacher": teacher_part.draw})
