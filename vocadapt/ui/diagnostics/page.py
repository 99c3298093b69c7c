"""The part Diagnostics: mean cosines within and between spaces, the geometry of each, and how similar
related words are.
"""

from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.components import pickers
from vocadapt.ui.diagnostics import cached, relations, view


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    spaces = view.choose_spaces(workspace)
    if not spaces:
        pickers.draw_empty_state(
            "There is no space to diagnose yet.",
            (
                "Select one under *Spaces*, or type the folder of a model on this machine, or a hub"
                " name that was used here before. Word vectors and models that you make in this"
                " workspace are listed there."
            ),
            "vectors",
            "Make word vectors",
        )
        return

    tables = cached.compute_tables(spaces)
    view.draw_cosine_tables(spaces, tables)
    view.draw_cards(spaces, tables)
    view.draw_norms_by_frequency(spaces)
    file = relations.draw_relations(workspace, spaces)
    files = relations.build_downloads(spaces, file)
    view.draw_details(spaces, tables, relations.build_arguments(spaces, file), files)
