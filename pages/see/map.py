"""Map: the tokens of a space, or of two, in the plane; what is near a token, what a region holds,
what moved.
"""

import streamlit as st

from vocadapt.ui import (
    choose,
    frame,
    job_panel,
    map_controls,
    map_making,
    map_sources,
    map_view,
    mistakes,
)

workspace = frame.workspace()
st.title("Map")
st.markdown(
    "Every point is a token; tokens that the space holds alike lie together, as far as a plane can"
    " show it. **What is near is asked of the space itself**, never of the picture."
)
with st.container():  # always there, so that a job that begins does not move the map to another place, and draw it anew
    job_panel.job_panel(workspace, ["map"])

with st.container(horizontal=True, vertical_alignment="bottom"):
    spaces = map_controls.pick_spaces(workspace)
    if spaces:
        made = map_sources.maps_of(workspace, spaces)
        view = map_controls.pick_view(made)
        with st.popover("Tokens", icon=":material/filter_alt:"):
            choice = map_controls.pick_tokens(view)
        making = map_making.popover()
        st.button(
            map_controls.EXAMPLE,
            icon=":material/travel_explore:",
            on_click=map_controls.show_example,
            help=map_controls.HELP["example"],
        )
if not spaces:
    choose.nothing_yet(
        "There is no space to map yet.",
        "A map needs word vectors of your domain, or a language model: make vectors, or type a"
        " model above.",
        "pages/words/vectors.py",
        "Make word vectors",
    )
    st.stop()

with making, mistakes.shown():
    map_making.make_map(workspace, spaces, choice, len(map_sources.at_once(spaces, choice).words))
with mistakes.shown():
    if view:
        choose.stale_note(view, workspace)
    map_view.explore(
        workspace, map_sources.kept(spaces, view) if view else map_sources.at_once(spaces, choice)
    )
