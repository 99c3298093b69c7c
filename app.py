"""Entry point of the app: the navigation, the workspace picker, the job status, and one page."""

from functools import partial
from pathlib import Path
from typing import Literal

import streamlit as st

from vocadapt.ui.shell import frame
from vocadapt.ui.state import visitors
from vocadapt.ui.state.pages import DRAWN, ENTRIES, PAGES

# A local file: Streamlit would load other icons from the network.
ICON = Path(__file__).parent / "assets" / "icon.png"
st.set_page_config(page_title="vocadapt", page_icon=str(ICON), layout="wide")

# Without url_path: the name of a page's file is its address.
sections: dict[str, list[st.Page]] = {}
for one in PAGES:
    icon = f":material/{one.icon}:"
    if one.parts[0].name in DRAWN:
        draw = partial(frame.draw_page, one.name)
        entry = st.Page(draw, title=one.title, icon=icon, url_path=one.name)
        ENTRIES[one.name] = entry
    else:
        entry = st.Page(one.file, title=one.title, icon=icon, default=one.name == "home")
    sections.setdefault(one.section, []).append(entry)
# Before the sign-in there is only the page to sign in.
position: Literal["hidden", "sidebar"] = "sidebar"
if visitors.is_sign_in_required() and not visitors.is_signed_in():
    position = "hidden"
# Expanded: otherwise the last sections would be hidden behind "View more".
page = st.navigation(sections, position=position, expanded=True)
frame.draw(page)
