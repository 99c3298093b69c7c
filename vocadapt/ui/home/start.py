"""Parts of Home: ways to begin in a workspace where nothing was made yet."""

import streamlit as st

from vocadapt.lab.demo import MODEL, NEWS, find_news_text, is_demo_installed, open_demo
from vocadapt.lab.jobs import queue
from vocadapt.lab.steps.spec import CorpusStep, Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.frame import address, mistakes

VECTORS_PAGE, ALIGNMENT_PAGE = "pages/words/vectors.py", "pages/words/alignment.py"


def ways_to_begin(workspace: Workspace) -> None:
    """A text of one's own; where the demo came along, that to look at and a little text to train on
    too.
    """
    st.markdown("**This workspace is empty.** Where to begin:")
    ways = [_demo, _news, _own] if is_demo_installed() else [_own]
    for column, way in zip(st.columns(3, gap="medium"), ways, strict=False):
        with column, st.container(border=True, height="stretch"):
            way(workspace)


def bring_a_text(workspace: Workspace) -> None:
    """What to do after a look at the demo: a text to train on."""
    st.subheader("Now a text")
    for column, way in zip(st.columns(3, gap="medium"), (_news, _own), strict=False):
        with column, st.container(border=True, height="stretch"):
            way(workspace)


def _demo(workspace: Workspace) -> None:
    st.markdown(
        "**Look first**  \nTwo small language models, general and biomedical, and 20 000 biomedical"
        " words with vectors, ready to look at."
    )
    if st.button("Open the demo", type="primary", icon=":material/explore:", key="open_demo"):
        with mistakes.shown():
            open_demo(workspace)
            address.go_to(ALIGNMENT_PAGE)


def _news(workspace: Workspace) -> None:
    st.markdown(
        "**Train it now**  \n300 news stories: each step in seconds, too little to learn from."
    )
    if st.button("Take in the news", icon=":material/bolt:", key="take_news"):
        with mistakes.shown():
            _take_news(workspace)
            address.go_to(VECTORS_PAGE)


def _own(workspace: Workspace) -> None:
    st.markdown(
        "**Your own text**  \nUpload some megabytes of your domain, or name a file or folder on"
        " this machine."
    )
    st.page_link(VECTORS_PAGE, label="Start with a text", icon=":material/arrow_forward:")


def _take_news(workspace: Workspace) -> None:
    """Start the job that takes the bundled news into the workspace, with the demo's model to count
    its words by.
    """
    open_demo(workspace)
    inputs = {"text": (str(find_news_text()),), "model": (str(workspace.folder(*MODEL)),)}
    queue.start(
        workspace, Spec("corpus", CorpusStep(copy=True), inputs), workspace.free_name(*NEWS)
    )
