"""The part Lessons: the list of lessons, or the lesson named in the address."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from vocadapt.lab.demo import find_demo_artifact, is_demo_installed, open_demo, start_demo_jobs
from vocadapt.lab.jobs import queue
from vocadapt.lab.workspace.lesson_progress import LessonProgress
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes
from vocadapt.ui.components.blocks import draw_heading, draw_link, draw_metrics, draw_note
from vocadapt.ui.parts.lessons import content
from vocadapt.ui.parts.lessons.content import Claim, Lesson, Step
from vocadapt.ui.parts.lessons.progress import find_problem, read_progress, record_progress
from vocadapt.ui.state import address
from vocadapt.ui.state.pages import PAGE_OF_PART, PARTS, NextPart, QueryValue
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count
from vocadapt.ui.text.sources import TITLES, find_sources

LESSON, STEP = address.LESSON, "lesson_step"  # query parameters of a page that a step opened
CODE_START = "from pathlib import Path\n\nworkspace = Path({root!r})\n"
Progress = Mapping[str, LessonProgress]


def draw(workspace: Workspace) -> NextPart | None:
    """Draw the list of lessons, or the open lesson, which leads back to the list."""
    lessons = content.load_lessons(content.choose_language(st.context.locale))
    progress = read_progress(workspace)
    problem = find_problem(workspace)
    if problem:
        st.warning(
            "Your progress is kept until you close this browser tab, because it cannot be saved:"
            f" {plain(problem)}",
            icon=":material/lock:",
        )
    lesson = content.find_lesson(lessons, st.query_params.get("lessons_lesson", ""))
    if lesson is None:
        draw_list(lessons, progress)
        return None
    draw_lesson(workspace, lessons, lesson, progress)
    return NextPart("lessons", "See all lessons and your progress.")


def is_finished(lesson: Lesson, progress: Progress) -> bool:
    """Return whether the check of a lesson was answered correctly."""
    return progress.get(lesson.name, LessonProgress()).answer == lesson.check.right


def format_state(lesson: Lesson, progress: Progress) -> str:
    """Format how far a lesson is: done, step 2 of 3, started, or not started."""
    if lesson.name not in progress:
        return "not started"
    if is_finished(lesson, progress):
        return "done"
    seen = min(progress[lesson.name].seen, len(lesson.steps))
    if not seen:
        return "started"
    return f"step {seen} of {count(len(lesson.steps))}"


def list_missing(workspace: Workspace, step: Step) -> list[str]:
    """Return the artifacts that a step needs and the workspace lacks, as kind/name."""
    missing = []
    for place in step.needs:
        kind, _, name = place.partition("/")
        is_here = any(one.name == name for one in workspace.artifacts(kind))
        # An artifact of the demo may have been renamed.
        if not is_here and find_demo_artifact(workspace, (kind, name)) is None:
            missing.append(place)
    return missing


def draw_list(lessons: Sequence[Lesson], progress: Progress) -> None:
    """Draw the lessons with their minutes and questions, and a link to the next one."""
    done = [lesson for lesson in lessons if is_finished(lesson, progress)]
    left = [lesson for lesson in lessons if lesson not in done]
    draw_metrics(
        ("Lessons done", f"{count(len(done))} of {count(len(lessons))}"),
        ("Time left", f"{count(sum(lesson.minutes for lesson in left))} min"),
    )
    if left:
        verb = "Continue with" if left[0].name in progress else "Start with"
        title = f"**{verb} lesson {left[0].number}**: {left[0].title}"
        draw_link("lessons", title, lessons_lesson=left[0].name)
    for lesson in lessons:
        _draw_list_entry(lesson, progress)


def draw_lesson(
    workspace: Workspace, lessons: Sequence[Lesson], lesson: Lesson, progress: Progress
) -> None:
    """Draw a lesson: question and guess, then the steps, then what they show, and the check.

    Each section appears when the one before it is done.
    """
    own = progress.get(lesson.name, LessonProgress())
    draw_link("lessons", "All lessons", icon=":material/arrow_back:")
    draw_heading(f"{lesson.number} · {lesson.title}")
    draw_note(f"{lesson.minutes} minutes · {format_state(lesson, progress)}")

    # 1. The question, and a guess.
    guess = _draw_choices(
        workspace, lesson, "guess", f"**{lesson.question}**", lesson.guesses, own.guess
    )
    if guess is None:
        draw_note("Make a guess first: then the steps appear.")
        return

    # 2. The steps in the lab.
    for number, step in enumerate(lesson.steps, start=1):
        _draw_step(workspace, lesson, number, step, own)
    if own.seen < len(lesson.steps):
        st.button(
            "I have seen enough: show the answer",
            key="lessons_skip",
            type="tertiary",
            on_click=record_progress,
            args=(workspace, lesson.name, LessonProgress(seen=len(lesson.steps))),
        )
        return

    # 3. What they have shown, and the check.
    _draw_reveal(lesson, guess)
    _draw_check(workspace, lessons, lesson, own)


def _draw_check(
    workspace: Workspace, lessons: Sequence[Lesson], lesson: Lesson, own: LessonProgress
) -> None:
    """Draw the check with feedback on the answer; after the right one, the sentence to remember and
    a link to the next lesson.
    """
    check = lesson.check
    answers = [choice.answer for choice in check.choices]
    answer = _draw_choices(
        workspace, lesson, "answer", f"**Check: {check.question}**", answers, own.answer
    )
    if answer is None:
        return
    feedback = check.choices[answer].feedback
    if answer != check.right:
        st.warning(feedback, icon=":material/replay:")
        return
    st.success(feedback, icon=":material/check_circle:")
    st.info(f"**Remember:** {lesson.remember}", icon=":material/bookmark:")
    later = [one for one in lessons if one.number > lesson.number]
    if later:
        title = f"Lesson {later[0].number}: {later[0].title}"
        draw_link("lessons", title, lessons_lesson=later[0].name)


def draw_step_link(lesson: Lesson, number: int, label: str) -> None:
    """Draw the link that opens the page of a step, in the state that the step describes.

    number: of the step, from 1.
    """
    step = lesson.steps[number - 1]
    query: dict[str, QueryValue] = {LESSON: lesson.name, STEP: str(number)}
    query |= {key: list(values) for key, values in step.set.items()}
    draw_link(step.part, label, icon=":material/arrow_forward:", **query)


def draw_missing(workspace: Workspace, missing: Sequence[str], key: str) -> None:
    """Draw a sentence that names the missing artifacts of a step, with a button that opens the
    demo.
    """
    places = [place.split("/") for place in missing]
    names = ", ".join(plain(name) for _, name in places)
    if all(name in queue.list_promised_names(workspace, kind) for kind, name in places):
        st.markdown(
            f":material/hourglass_empty: This step needs {names}, which a job of the demo is making"
            " now. Come back when it is done."
        )
        return
    st.markdown(
        f":material/info: This step is about the demo, and this workspace lacks {names}. Open the"
        " demo to add what is missing; nothing else changes."
    )
    if is_demo_installed() and st.button("Open the demo", key=key, icon=":material/explore:"):
        with mistakes.show_errors():
            open_demo(workspace)
            start_demo_jobs(workspace)
            st.rerun()


def build_code(step: Step, root: Path) -> str:
    """Build the Python code of a step for a workspace."""
    return CODE_START.format(root=str(root)) + "\n" + step.code.strip() + "\n"


def _use_new_names(code: str, step: Step, workspace: Workspace) -> str:
    """Replace the original names of renamed demo artifacts in the code of a step."""
    for place in step.needs:
        kind, _, name = place.partition("/")
        found = find_demo_artifact(workspace, (kind, name))
        if found is not None:
            code = code.replace(f'"{name}"', f'"{found.name}"')
    return code


def _draw_list_entry(lesson: Lesson, progress: Progress) -> None:
    """Draw a lesson of the list: link and question, minutes, and how far it is."""
    with st.container(border=True):
        about, minutes, state = st.columns([7, 1, 1.4], vertical_alignment="center")
        title = f"**{lesson.number} · {lesson.title}**"
        draw_link("lessons", title, about, ":material/school:", lessons_lesson=lesson.name)
        draw_note(lesson.question, about)
        minutes.markdown(f"{lesson.minutes} min")
        text = format_state(lesson, progress)
        if text == "done":
            text = ":green[:material/check_circle: done]"
        state.markdown(text)


def _draw_choices(
    workspace: Workspace,
    lesson: Lesson,
    name: str,
    question: str,
    answers: Sequence[str],
    chosen: int | None,
) -> int | None:
    """Draw a question with its answers; return the number of the chosen one, None if none is
    chosen.

    name: "guess" or "answer", the field of the progress.
    """
    if chosen is not None and chosen >= len(answers):
        chosen = None
    key = f"lessons_{name}_{lesson.name}"
    # The saved progress is shown, also after a reset or a choice in another tab.
    st.session_state[key] = chosen
    st.radio(
        question,
        range(len(answers)),
        index=None,
        format_func=answers.__getitem__,
        key=key,
        on_change=lambda: record_progress(
            workspace, lesson.name, LessonProgress(**{name: st.session_state[key]})
        ),
    )
    return chosen


def _draw_step(
    workspace: Workspace, lesson: Lesson, number: int, step: Step, own: LessonProgress
) -> None:
    """Draw a step: what to do, the link to its page, and the step as code."""
    with st.container(border=True):
        sign = ":material/radio_button_unchecked:"
        if number <= own.seen:
            sign = ":green[:material/check_circle:]"
        st.markdown(f"{sign} **Step {number} of {count(len(lesson.steps))}.** {step.say}")
        missing = list_missing(workspace, step)
        if missing:
            draw_missing(workspace, missing, f"lessons_demo_{number}")
        draw_step_link(lesson, number, f"Open {_name_place(step)}")
        with st.expander("The same as code", icon=":material/code:"):
            code = _use_new_names(build_code(step, workspace.root), step, workspace)
            st.code(code, language="python", wrap_lines=True)


def _name_place(step: Step) -> str:
    """Return the title of the page of a step, with its tab if it has several."""
    page = PAGE_OF_PART[step.part]
    if len(page.parts) == 1:
        return page.title
    return f"{page.title}, tab {PARTS[step.part].title}"


def _draw_reveal(lesson: Lesson, guess: int) -> None:
    """Draw what the steps have shown, next to the guess, and the published results."""
    draw_heading("What you have seen")
    verdict = ":green[:material/check_circle: **Right.**]"
    if guess != lesson.right:
        verdict = ":violet[:material/cancel: **Not right.**]"
    st.markdown(f"{verdict} You guessed: *{lesson.guesses[guess]}*")
    if guess != lesson.right:
        st.markdown(f"{lesson.answer_source}: *{lesson.guesses[lesson.right]}*")
    st.markdown(lesson.reveal)
    for claim in lesson.claims:
        st.markdown(format_claim(claim))


def format_claim(claim: Claim) -> str:
    """Format a published result with its source and the title of the work, as Markdown."""
    titles = "; ".join(f"*{TITLES[citation]}*" for citation in find_sources([claim.source]))
    return f":material/menu_book: {claim.says} :small[:gray[({claim.source}: {titles})]]"
