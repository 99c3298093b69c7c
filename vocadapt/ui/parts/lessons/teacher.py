"""The part Teacher: the plan of an hour, the answers, questions to ask, and the progress of the
class.
"""

from collections.abc import Sequence

import streamlit as st

from vocadapt.lab.workspace.lesson_progress import LessonProgress
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import draw_heading, draw_link, draw_note, draw_table
from vocadapt.ui.parts.lessons import content
from vocadapt.ui.parts.lessons.content import Hour, Lesson
from vocadapt.ui.parts.lessons.page import Progress, format_claim, format_state
from vocadapt.ui.parts.lessons.progress import find_problem, read_progress, reset
from vocadapt.ui.text.markup import plain


def draw(workspace: Workspace) -> None:
    """Draw the plan of an hour, the progress of the class, and the notes on each lesson."""
    language = content.choose_language(st.context.locale)
    lessons = content.load_lessons(language)
    progress = read_progress(workspace)
    _draw_hour(lessons, content.load_hour(language))
    _draw_progress(workspace, lessons, progress)
    draw_heading("Answers and questions")
    for lesson in lessons:
        _draw_notes(lesson)


def plan_hour(lessons: Sequence[Lesson], hour: Hour) -> list[tuple[int, int, str]]:
    """Return the plan of an hour: start minute, minutes, and activity."""
    by_name = {lesson.name: lesson for lesson in lessons}
    plan, start = [], 0
    for item in hour.items:
        minutes, say = item.minutes, item.say
        if item.lesson:
            lesson = by_name[item.lesson]
            minutes = lesson.minutes
            say = f"Lesson {lesson.number}: {lesson.title}"
        plan.append((start, minutes, say))
        start += minutes
    return plan


def _draw_hour(lessons: Sequence[Lesson], hour: Hour) -> None:
    draw_heading("One-hour plan")
    st.markdown(hour.prepare)
    rows = [
        {"start": f"{start // 60}:{start % 60:02}", "minutes": minutes, "activity": say}
        for start, minutes, say in plan_hour(lessons, hour)
    ]
    draw_table(rows, width="stretch", height="content")


def _draw_progress(workspace: Workspace, lessons: Sequence[Lesson], progress: Progress) -> None:
    """Draw how far each lesson is, what was guessed and answered, and the reset."""
    draw_heading("Progress of the class")
    problem = find_problem(workspace)
    if problem:
        st.warning(plain(problem), icon=":material/lock:")
    rows = []
    for lesson in lessons:
        own = progress.get(lesson.name, LessonProgress())
        answers = [choice.answer for choice in lesson.check.choices]
        rows.append(
            {
                "lesson": f"{lesson.number} · {lesson.title}",
                "state": format_state(lesson, progress),
                "guess": _name_choice(lesson.guesses, own.guess),
                "answer": _name_choice(answers, own.answer),
            }
        )
    st.table(rows, hide_index=True)  # its cells wrap: answers are long
    draw_note("Everyone who opens this workspace shares its progress.")
    if progress or problem:
        with st.popover("Reset the class", icon=":material/restart_alt:"):
            st.markdown(
                "This removes the guesses, answers and steps of all lessons in this workspace."
                " Nothing else changes."
            )
            if st.button("Remove the progress", key="teacher_reset", type="primary"):
                with mistakes.show_errors():
                    reset(workspace)
                    st.rerun()


def _draw_notes(lesson: Lesson) -> None:
    """Draw the notes for the teacher on a lesson: times, answers, questions and sources."""
    notes, check = lesson.teacher, lesson.check
    title = f"{lesson.number} · {lesson.title} · {lesson.minutes} min"
    with st.expander(title, icon=":material/school:"):
        st.markdown(f"**Times.** {notes.times}")
        st.markdown(f"**Question.** {lesson.question}")
        right = lesson.guesses[lesson.right].removesuffix(".")
        st.markdown(f"**Answer.** *{right}*. {notes.answer}")
        choices = [
            f"- {choice.answer} :small[:gray[{choice.feedback}]]" for choice in check.choices
        ]
        st.markdown("\n".join([f"**Check.** {check.question}\n", *choices]))
        st.markdown(
            "\n".join(["**Questions to ask.**\n", *(f"- {question}" for question in notes.ask)])
        )
        for claim in lesson.claims:
            st.markdown(format_claim(claim))
        draw_link("lessons", "Open the lesson", lessons_lesson=lesson.name)


def _name_choice(answers: Sequence[str], chosen: int | None) -> str:
    """Return the text of a choice, a dash if none was made."""
    if chosen is None or chosen >= len(answers):
        return "–"
    return answers[chosen]
