"""Page Lessons: eight lessons on the pages of the lab, and the teacher's tab."""

from vocadapt.ui.frame import frame
from vocadapt.ui.lessons import page as lessons_part
from vocadapt.ui.lessons import teacher as teacher_part

frame.draw_page("lessons", {"lessons": lessons_part.draw, "teacher": teacher_part.draw})
