"""Parts of the page Home: ways to start in an empty workspace."""

from collections.abc import Callable, Sequence

import streamlit as st

from vocadapt.lab.demo import MODEL, NEWS, find_news_text, is_demo_installed, open_demo
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.frame import address, mistakes

VECTORS_PAGE, ALIGNMENT_PAGE = "pages/words/vectors.py", "pages/words/alignment.py"


def draw_ways_to_begin(workspace: Workspace) -> None:
    """Draw one card per way to start: the demo and a small news text if they are installed, and the
    user's own text.
    """
    st.markdown("**This workspace is empty.** Where to begin:")
    draw_cards(workspace, [_demo, *TEXT_CARDS] if is_demo_installed() else [_own])


def draw_cards(workspace: Workspace, cards: Sequence[Callable[[Workspace], None]]) -> None:
    """Draw cards side by side, at most three."""
    for column, draw in zip(st.columns(3, gap="medium"), cards, strict=False):
        with column, st.container(border=True, height="stretch"):
            draw(workspace)


def _demo(workspace: Workspace) -> None:
    st.markdown(
        "**Explore the demo**  \nTwo small language models, general and biomedical, and"
        " vectors of 20 000 biomedical words."
    )
    if st.button("Open the demo", type="primary", icon=":material/explore:", key="open_demo"):
        with mistakes.show_errors():
            open_demo(workspace)
            address.go_to(ALIGNMENT_PAGE)


def _news(workspace: Workspace) -> None:
    """Draw the card that starts the import of the bundled news text, with word counts for the demo's
    model.
    """
    st.markdown(
        "**Try it on news**  \n300 news stories: each step takes seconds, but the text is too"
        " small for useful vectors."
    )
    if st.button("Import the news", icon=":material/bolt:", key="take_news"):
        with mistakes.show_errors():
            open_demo(workspace)
            inputs = {"text": (str(find_news_text()),), "model": (str(workspace.folder(*MODEL)),)}
            spec = Spec("corpus", CorpusStep(copy=True), inputs)
            queue.start(workspace, spec, workspace.find_free_name(*NEWS))
            address.go_to(VECTORS_PAGE)


def _own(workspace: Workspace) -> None:
    st.markdown(
        "**Your own text**  \nUpload a few megabytes of text from your domain, or give the"
        " path of a file or folder on this machine."
    )
    st.page_link(VECTORS_PAGE, label="Start with a text", icon=":material/arrow_forward:")


TEXT_CARDS = (_news, _own)  # ways to import a text
