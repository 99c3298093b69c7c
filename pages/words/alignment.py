"""Alignment: a map from the domain's words into the model's wordpieces, judged on held-out words,
and its neighbours.
"""

import streamlit as st

from vocadapt.lab.spec import AlignmentStep, Spec
from vocadapt.spaces.maps import AlignmentSettings
from vocadapt.ui import alignment_view, cache, choose, frame, job_panel, maps

workspace = frame.workspace()
st.title("Alignment")
st.markdown(
    "Fit a map from your :orange[**domain words**] into the model's :blue[**wordpieces**], "
    "and see what each new word lands next to."
)
job_panel.job_panel(workspace, ["alignment"])

found = workspace.artefacts("vectors")
if not found:
    choose.nothing_yet(
        "There are no word vectors to align yet.",
        "An alignment needs the words of your domain with vectors, and a language model.",
        "pages/words/vectors.py",
        "Make word vectors",
    )
    st.stop()

figures, controls = st.columns([2, 1], gap="large")
with controls, st.container(horizontal=True):
    vectors = choose.pick("Word vectors", found, "alignment_vectors")
    name = choose.pick_model(
        workspace, "alignment_model", default=choose.model_behind(vectors, workspace)
    )
model = cache.model_of(name)
alignments = maps.alignments_of(workspace, vectors, model)
judged = maps.judged_maps(alignments)
anchors = cache.anchors_of(vectors, name)
offered = maps.offered(cache.space_of(vectors), model.space, anchors, judged)
with controls:
    chosen = choose.pick_name("Map", list(offered), "alignment_map", next(iter(offered)))
settings, first = offered[chosen], next(iter(offered.values()))
detail = maps.detailed(alignments, settings)
waiting = maps.slow(settings) and not detail
spaces = cache.crossing(
    vectors, name, first if waiting else settings, detail
)  # first: for the number of anchors alone
with figures:
    alignment_view.headline({} if waiting else judged, chosen, spaces.alignment.anchors)
    if first != AlignmentSettings():
        alignment_view.without_the_papers_map(first, anchors, spaces.words.dim)
choose.stale_note(vectors, workspace)


def judge(which: AlignmentSettings, compare: bool) -> None:
    """Start a job that judges a map in detail, and all others beside it where asked."""
    inputs = {"vectors": (str(vectors.folder),), "model": (str(model.path),)}
    name = workspace.free_name("alignments", f"{vectors.name}-{which.method}")
    job_panel.start(
        workspace, Spec("alignment", AlignmentStep(which, compare=compare), inputs), name
    )


if waiting:
    alignment_view.not_fitted_yet(settings, judge)
else:
    alignment_view.neighbours(spaces, model, vectors, workspace)
alignment_view.held_out(judged, spaces, settings, detail, judge)
