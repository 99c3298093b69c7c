"""Show user errors as messages where they occurred."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.jobs.uploads import hide_upload_paths
from vocadapt.lab.workspace.limits import ReadOnlyError
from vocadapt.text.display import shorten_text
from vocadapt.ui.components.setting_inputs import add_label
from vocadapt.ui.state import paths
from vocadapt.ui.state.address import workspace
from vocadapt.ui.text.number_formats import group_digits

MAX_LINE_LENGTH, MAX_LINES = 600, 20  # characters of a line of a message, lines of a message


@contextmanager
def show_errors() -> Iterator[None]:
    """Show the InputError of a block as a message; any other exception propagates."""
    try:
        yield
    except ReadOnlyError as refusal:
        st.info(f"{refusal.problem} {refusal.remedy}", icon=":material/lock:")
    except InputError as found:
        error = add_label(found)
        with st.container(border=True):
            st.error("This did not work.", icon=":material/error:")
            for line in filter(None, (error.problem, error.remedy)):
                st.text(format_message(line))  # no Markdown: the message may quote a file


def replace_error_message() -> None:
    """Let Streamlit call `draw_unexpected_error` if an exception stops a page or a part of it.

    Its own message names a cloud service that the lab does not run in. It still logs the traceback.
    """
    from streamlit import error_util

    def show(ex: BaseException) -> None:
        with suppress(Exception):  # if it cannot be drawn, the original exception is still logged
            draw_unexpected_error()

    error_util.show_uncaught_app_exception = show


def draw_unexpected_error() -> None:
    """Draw a message after an exception that is not a user error; the exception is not shown."""
    with st.container(border=True):
        st.error("An unexpected error stopped this part of the page.", icon=":material/error:")
        st.text(
            "If a result shown here was changed by hand or comes from another program, delete it on"
            " the page Workspace and create it again. Otherwise this is an error in vocadapt:"
            " please report it with the traceback that the server has printed."
        )


def format_in_one_line(error: InputError) -> str:
    """Format an error for a page: problem and remedy in one line."""
    error = add_label(error)
    return format_message(f"{error.problem} {error.remedy}".strip())


def format_message(message: str) -> str:
    """Format a message for a page: shorten it, escape invisible characters, group the digits of
    numbers, and replace the paths of uploads by their names.

    Messages may quote input, files or the address. Long lines are shortened in the middle, because
    the end often has the remedy.
    """
    with suppress(InputError):  # the error may be about the workspace itself
        message = paths.hide_server_paths(hide_upload_paths(message, workspace()))
    return "\n".join(
        shorten_text(group_digits(line), MAX_LINE_LENGTH)
        for line in message.splitlines()[:MAX_LINES]
    )
