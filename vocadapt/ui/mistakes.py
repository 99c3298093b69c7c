"""A mistake of the user's, as a message where it happened."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.uploads import as_uploaded


@contextmanager
def shown() -> Iterator[None]:
    """Show the InputError of a block as a message; any other exception passes and keeps its trace."""
    try:
        yield
    except InputError as error:
        with st.container(border=True):
            st.error("This did not work.", icon=":material/error:")
            for line in filter(None, (error.problem, error.remedy)):
                st.text(named(line))  # plain: it may quote a file


def named(message: str) -> str:
    """A message that calls an upload by its name, not by its place in the workspace."""
    from vocadapt.ui.frame import workspace  # the frame shows mistakes, too

    try:
        return as_uploaded(message, workspace())
    except InputError:  # the mistake may be the workspace itself
        return message
