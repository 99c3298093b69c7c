"""Entry point of the app: the navigation with all pages in the order of work, the workspace picker
and the job status.
"""

from pathlib import Path

import streamlit as st

from vocadapt.ui.frame import frame

# A local file: Streamlit would load other icons from the network.
ICON = Path(__file__).parent / "assets" / "icon.png"
st.set_page_config(page_title="vocadapt", page_icon=str(ICON), layout="wide")

# Without url_path: the name of a page's file is its address.
page = st.navigation(
    {
        "": [
            st.Page("pages/start/home.py", title="Home", icon=":material/home:", default=True),
            st.Page("pages/start/advise.py", title="Advise", icon=":material/lightbulb:"),
            st.Page("pages/start/jobs.py", title="Jobs", icon=":material/pending_actions:"),
        ],
        "Words": [
            st.Page("pages/words/vectors.py", title="Word vectors", icon=":material/scatter_plot:"),
            st.Page("pages/words/alignment.py", title="Alignment", icon=":material/join_inner:"),
        ],
        "Vocabulary": [
            st.Page(
                "pages/vocabulary/lens.py",
                title="Tokenizer lens",
                icon=":material/center_focus_strong:",
            ),
            st.Page(
                "pages/vocabulary/vocabulary.py", title="Vocabulary", icon=":material/data_usage:"
            ),
            st.Page(
                "pages/vocabulary/initializers.py", title="Initializers", icon=":material/start:"
            ),
            st.Page("pages/vocabulary/adapt.py", title="Adapt", icon=":material/library_add:"),
        ],
        "See": [
            st.Page("pages/see/projection.py", title="Projection", icon=":material/map:"),
            st.Page(
                "pages/see/diagnostics.py",
                title="Diagnostics",
                icon=":material/compass_calibration:",
            ),
            st.Page(
                "pages/see/change.py",
                title="Neighborhood change",
                icon=":material/compare_arrows:",
            ),
        ],
        "Train": [
            st.Page("pages/train/pretraining.py", title="Pretraining", icon=":material/menu_book:"),
            st.Page("pages/train/finetune.py", title="Fine-tune", icon=":material/play_circle:"),
            st.Page("pages/train/results.py", title="Results", icon=":material/bar_chart:"),
            st.Page(
                "pages/train/errors.py", title="Error analysis", icon=":material/troubleshoot:"
            ),
            st.Page("pages/train/try_it.py", title="Try it", icon=":material/edit_note:"),
        ],
    },
    expanded=True,  # otherwise the last sections would be hidden behind "View more"
)
frame.draw(page)
