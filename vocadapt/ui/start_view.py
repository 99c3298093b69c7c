"""Parts of Home: three ways to begin in a workspace where nothing was made yet."""

import streamlit as st

from vocadapt.lab import jobs
from vocadapt.lab.demo import MODEL, NEWS, news_text, open_demo
from vocadapt.lab.steps import CorpusStep, Spec
from vocadapt.lab.workspace import Workspace
from vocadapt.ui import mistakes

VECTORS_PAGE, ALIGNMENT_PAGE = "pages/words/vectors.py", "pages/words/alignment.py"


def ways_to_begin(workspace: Workspace) -> None:
    """Look at the demo, train on a little text that is at hand, or bring a text of one's own."""
    st.markdown("**This workspace is empty.** Three ways to begin:")
    demo, news, own = st.columns(3, gap="medium")
    with demo, st.container(border=True, height="stretch"):
        st.markdown("**Look first**  \nA small language model and 20 000 biomedical words with vectors, ready to look at.")
        if st.button("Open the demo", type="primary", icon=":material/explore:", key="open_demo"):
            with mistakes.shown():
                open_demo(workspace)
                st.switch_page(ALIGNMENT_PAGE)
    with news, st.container(border=True, height="stretch"):
        st.markdown("**Train it now**  \n300 news stories: each step in seconds, too little to learn from.")
        if st.button("Take in the news", icon=":material/bolt:", key="take_news"):
            with mistakes.shown():
                _take_news(workspace)
                st.switch_page(VECTORS_PAGE)
    with own, st.container(border=True, height="stretch"):
        st.markdown("**Your own text**  \nUpload some megabytes of your domain, or name a file or folder on this machine.")
        st.page_link(VECTORS_PAGE, label="Start with a text", icon=":material/arrow_forward:")


def _take_news(workspace: Workspace) -> None:
    """Start the job that takes the bundled news into the workspace, with the demo's model to count its words by."""
    open_demo(workspace)
    inputs = {"text": (str(news_text()),), "model": (str(workspace.folder(*MODEL)),)}
    jobs.start(workspace, Spec("corpus", CorpusStep(copy=True), inputs), workspace.free_name(*NEWS))
