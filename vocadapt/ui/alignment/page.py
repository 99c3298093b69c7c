"""The part Alignment: align domain words with the model's wordpieces, evaluate the alignment on held-out
words, and show neighbors.
"""

import streamlit as st

from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.ui.alignment import methods, view
from vocadapt.ui.components import pickers
from vocadapt.ui.frame import cache
from vocadapt.ui.jobs import panel


def draw(workspace: Workspace) -> None:
    """Draw the part."""
    found = workspace.artifacts("vectors")
    if not found:
        pickers.draw_empty_state(
            "There are no word vectors to align yet.",
            "An alignment needs the words of your domain with vectors, and a language model.",
            "vectors",
            "Make word vectors",
        )
        return

    # 1. Vectors, model and method; evaluated methods show their scores.
    figures, controls = st.columns([2, 1], gap="large")
    with controls, st.container(horizontal=True):
        vectors = pickers.pick("Word vectors", found, "alignment_vectors")
        name = pickers.pick_model(
            workspace, "alignment_model", default=pickers.model_behind(vectors, workspace)
        )
    model = cache.model_of(name)
    alignments = methods.list_alignments(workspace, vectors, model)
    evaluated = methods.list_evaluated_methods(alignments)
    anchors = cache.anchors_of(vectors, model)
    offered = methods.list_methods(cache.space_of(vectors), model.word_space, anchors, evaluated)
    with controls:
        chosen = pickers.pick_name("Method", list(offered), "alignment_method", next(iter(offered)))
    settings, first = offered[chosen], next(iter(offered.values()))
    # 2. The alignment: a saved one, or one that is fitted now, unless fitting is slow.
    detail = methods.find_detailed(alignments, settings)
    waiting = methods.is_slow(settings) and not detail
    spaces = cache.cross_space_of(
        vectors, model, first if waiting else settings, detail
    )  # first: for the number of anchors alone
    with figures:
        view.draw_headline({} if waiting else evaluated, chosen, spaces.alignment.anchors)
        if first != AlignmentSettings():
            view.explain_missing_default(first, anchors, spaces.words.dim)
    pickers.warn_if_stale(vectors, workspace)

    def evaluate(which: AlignmentSettings, compare: bool) -> None:
        """Start a job that evaluates an alignment method in detail; `compare`: all methods, too."""
        inputs = {"vectors": (str(vectors.folder),), "model": (str(model.path),)}
        name = workspace.find_free_name("alignments", f"{vectors.name}-{which.method}")
        spec = Spec("alignment", AlignmentStep(which, compare=compare), inputs)
        panel.start(workspace, spec, name, work=methods.estimate_seconds(spaces, compare))

    # 3. Neighbors, or the offer to fit; then the held-out results.
    if waiting:
        view.offer_fit(settings, evaluate)
    else:
        view.draw_neighbors(spaces, model, vectors, workspace)
    view.draw_held_out(evaluated, spaces, settings, detail, evaluate)
