"""Page Diagnostics: mean cosines within and between spaces, the geometry of each, and how similar
related words are.
"""

from vocadapt.ui.components import pickers
from vocadapt.ui.diagnostics import cached, relations, view
from vocadapt.ui.frame import frame

workspace = frame.open_page(
    "Diagnostics",
    (
        "Measure the geometry of embedding spaces: mean cosine of two tokens, isotropy, norms,"
        " and how similar related words are."
    ),
    ("embedding", "hubness", "isotropy", "space", "word vectors", "wordpiece"),
)
spaces = view.choose_spaces(workspace)
if not spaces:
    pickers.stop_page(
        "There is no space to diagnose yet.",
        (
            "Select one under *Spaces*, or type the folder of a model on this machine, or a hub"
            " name that was used here before. Word vectors and models that you make in this"
            " workspace are listed there."
        ),
        "pages/words/vectors.py",
        "Make word vectors",
    )

tables = cached.compute_tables(spaces)
view.draw_cosine_tables(spaces, tables)
view.draw_cards(spaces, tables)
view.draw_norms_by_frequency(spaces)
file = relations.draw_relations(workspace, spaces)
files = relations.build_downloads(spaces, file)
view.draw_details(spaces, tables, relations.build_arguments(spaces, file), files)
