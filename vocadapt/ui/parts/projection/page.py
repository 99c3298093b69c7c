"""The part Projection: the tokens of one or two spaces in two dimensions, the neighbors of a token,
regions of the picture, and how tokens moved between two spaces.
"""

import streamlit as st

from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import mistakes, pickers
from vocadapt.ui.parts.projection import controls, isolation, sources
from vocadapt.ui.parts.projection import view as projection_view
from vocadapt.ui.parts.projection.controls import SetUp


@st.fragment
def draw(workspace: Workspace) -> None:
    """Draw the controls, forms and chart; a control reruns only this fragment, not the page."""
    with mistakes.show_errors():
        _draw(workspace)


def _draw(workspace: Workspace) -> None:
    # 1. The row of controls. The projections and colors depend on what is set up after them.
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        first, default_other = controls.pick_first_space(workspace)
    if not first:
        pickers.draw_empty_state(
            "There is no space to project yet.",
            (
                "A projection needs word vectors of your domain or a language model: make"
                " vectors, or choose a model above."
            ),
            "vectors",
            "Make word vectors",
        )
        return
    with row:
        view_place, color_place = st.container(width=220), st.container(width=220)
        set_up = controls.open_set_up()
        isolated_place = st.container(width="content")
    spaces = controls.pick_spaces(workspace, first, default_other, set_up)
    with view_place:
        view = controls.pick_projection(sources.list_projections(workspace, spaces))
    isolated = isolation.read_isolated(workspace, spaces[0])
    with isolated_place:
        isolation.draw_show_all(isolated)
    with set_up.tokens:
        examples = sources.choose_example_words(workspace, spaces[0])
        controls.explain_tokens(view, isolated)
        settings = controls.pick_settings(examples, spaces[0], isolated)

    # 2. The projection: a saved one, or PCA of the selected tokens; its colors and settings.
    if view:
        pickers.warn_if_stale(view, workspace)
        shown = sources.open_saved(spaces, view)
    else:
        shown = sources.project_now(spaces, settings)
    with color_place:
        column = sources.pick_color(workspace, shown)
    _draw_forms(workspace, spaces, settings, set_up)

    # 3. The chart and everything around it.
    projection_view.draw_projection(workspace, shown, column, set_up)


def _draw_forms(
    workspace: Workspace,
    spaces: tuple[sources.NamedSpace, ...],
    settings: ProjectionStep,
    set_up: SetUp,
) -> None:
    """Draw the forms of a new projection and of the user's own files, in their tabs."""
    with set_up.new, mistakes.show_errors():
        n_tokens = sources.count_tokens(spaces, settings)
        controls.draw_form(workspace, spaces, settings, n_tokens)
    with set_up.files:
        with mistakes.show_errors():
            sources.draw_upload_table(workspace)
        with mistakes.show_errors():
            controls.draw_layout_form(workspace, spaces[0])
