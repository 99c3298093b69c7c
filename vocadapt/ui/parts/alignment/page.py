"""The part Alignment: align domain words with the model's wordpieces, evaluate the alignment on held-out
words, and show neighbors.
"""

import streamlit as st

from vocadapt.lab.inputs.alignments import find_saved_stacked, list_alignments
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.alignment.display_name import describe_method
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.ui.components import pickers
from vocadapt.ui.jobs import forms
from vocadapt.ui.parts.alignment import methods, view
from vocadapt.ui.state import cache


def draw(workspace: Workspace) -> None:
    """Draw the neighbors of a word across an alignment, and the held-out evaluation."""
    found = workspace.artifacts("vectors")
    if not found:
        pickers.draw_empty_state(
            "There are no word vectors to align yet.",
            "An alignment needs the words of your domain with vectors, and a language model.",
            "vectors",
            "Make word vectors",
        )
        return

    # 1. Vectors, model and method; the best evaluated method is selected first.
    with st.container(horizontal=True):
        vectors = pickers.pick("Word vectors", found, "alignment_vectors")
        name = pickers.pick_model(
            workspace, "alignment_model", default=pickers.model_behind(vectors, workspace)
        )
        place = st.container()
    model = cache.model_of(name)
    alignments = list_alignments(workspace, vectors, model)
    evaluated = methods.list_evaluated_methods(alignments)
    anchors = cache.anchors_of(vectors, model)
    offered = methods.list_methods(cache.space_of(vectors), model.word_space, anchors, evaluated)
    default = methods.choose_default(offered, evaluated, alignments)
    with place:
        chosen = pickers.pick_name(
            "Method",
            list(offered),
            "alignment_method",
            default,
            labels=methods.label_methods(offered),
        )
    settings, first = offered[chosen], next(iter(offered.values()))
    # 2. The alignment: a saved one, or one that is fitted now, unless fitting is slow.
    detail = methods.find_detailed(alignments, settings)
    waiting = methods.is_slow(settings) and not detail
    spaces = cache.cross_space_of(
        vectors, model, first if waiting else settings, detail
    )  # first: for the number of anchors alone
    if first != AlignmentSettings():
        view.explain_missing_default(settings, anchors, spaces.words.dim)
    pickers.warn_if_stale(vectors, workspace)
    row = None if waiting else evaluated.get(chosen)
    view.warn_if_at_chance(row)

    def draw_evaluation(which: AlignmentSettings, compare: bool) -> None:
        """Draw the button of the job that evaluates an alignment method in detail; `compare`: all
        methods, too.
        """
        kind: forms.ButtonKind = "secondary"
        label, key = f"Evaluate {describe_method(which)} in detail", "judge_one"
        if compare:
            label, key, kind = "Evaluate all methods", "judge_all", "primary"
        inputs = {"vectors": (str(vectors.folder),), "model": (str(model.path),)}
        spec = Spec(AlignmentStep(which, compare=compare), inputs)
        wish = f"{vectors.name}-{which.method}"
        forms.draw_start(workspace, spec, wish, label, key, kind=kind)

    # 3. Neighbors, or the offer to fit; then the held-out results.
    if waiting:
        view.offer_fit(settings, draw_evaluation)
    else:
        stacked = find_saved_stacked(vectors.folder, model)
        view.draw_neighbors(spaces, model, vectors, workspace, row, detail, stacked)
    view.draw_headline({} if waiting else evaluated, chosen, anchors)
    view.draw_held_out(evaluated, spaces, settings, detail, draw_evaluation)
