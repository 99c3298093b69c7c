from vocadapt.ui.state.pages import Page, Part, register_page


def draw_letters(workspace):
    """Draw how many letters the tallies of a workspace have."""
    import streamlit as st

    for one in workspace.artifacts("tallies"):
        st.metric(one.name, one.manifest.numbers["letters"])


register_page(
    Page("letters", "Letters", "Look", "abc", (Part("letters", "Letters", "Counted letters."),)),
    {"letters": draw_letters},
)
