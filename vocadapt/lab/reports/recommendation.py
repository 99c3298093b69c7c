"""The recommended adaptation of a model to a text: the words that the advice recommends, and the
best alignment that was evaluated in the workspace.

The page Advice, the page Adapt and the command `advise` use it, so their numbers are equal.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.steps.alignment import load_evaluation
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.presets import PRESETS
from vocadapt.recipe import Recipe
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.vocabulary.advice.advice import RECOMMENDED, SUGGESTED_ALIGNMENT, Advice


@dataclass(frozen=True)
class AlignmentChoice:
    """An alignment and its held-out scores.

    p5, chance: held-out P@5 and P@5 by chance; None if it was not evaluated. compared: number of
    alignments that were evaluated on the same anchors and folds, this one included.
    """

    settings: AlignmentSettings
    p5: float | None = None
    chance: float | None = None
    compared: int = 0


def find_best_alignment(
    workspace: Workspace, vectors: Artifact, model: LanguageModel
) -> AlignmentChoice | None:
    """Return the alignment of these vectors and this model with the highest held-out P@5; None if
    none was evaluated.

    Only alignments that were evaluated on the same anchors and folds as the newest one are
    compared. Evaluations of an earlier version of the vectors are left out.
    """
    # 1. The evaluated alignments, newest first; an artifact may hold a comparison of several.
    lines: list[dict[str, Any]] = []
    for found in workspace.artifacts("alignments"):
        inputs = found.manifest.inputs
        folder = (workspace.root / inputs["model"].paths[0]).resolve()
        if folder == model.path.resolve() and inputs["vectors"].stamp == vectors.stamp:
            lines += _load_lines(found)
    if not lines:
        return None

    # 2. The best of those that are comparable with the newest one. An alignment may have been
    #    evaluated several times: the newest evaluation counts.
    newest = _describe_basis(lines[0])
    comparable: dict[AlignmentSettings, dict[str, Any]] = {}
    for line in lines:
        if _describe_basis(line) == newest:
            settings = build_settings(AlignmentSettings, line["settings"])
            comparable.setdefault(settings, line["held_out"])
    best = max(comparable, key=lambda settings: comparable[settings]["p@5"])
    scores = comparable[best]
    return AlignmentChoice(best, scores["p@5"], scores["chance@5"], len(comparable))


def choose_alignment(
    workspace: Workspace | None, vectors: Artifact | None, model: LanguageModel
) -> AlignmentChoice:
    """Return the best evaluated alignment, or the one that advice suggests if none was evaluated."""
    best = None
    if workspace is not None and vectors is not None:
        best = find_best_alignment(workspace, vectors, model)
    return best or AlignmentChoice(SUGGESTED_ALIGNMENT)


def find_vectors_of_text(
    workspace: Workspace, corpus: Artifact, model: LanguageModel
) -> Artifact | None:
    """Return the newest word vectors of this text that were trained for this model; None if there
    are none.

    Imported vectors do not record their text: they belong to a text of the same name.
    """
    for found in workspace.artifacts("vectors"):
        inputs = found.manifest.inputs
        if "model" not in inputs:
            continue
        for_model = (workspace.root / inputs["model"].paths[0]).resolve() == model.path.resolve()
        texts: tuple[str, ...] = (f"corpora/{found.name}",)
        if "text" in inputs:
            texts = inputs["text"].paths
        if for_model and texts == (f"corpora/{corpus.name}",):
            return found
    return None


def build_recommended_recipe(advice: Advice, alignment: AlignmentChoice) -> Recipe | None:
    """Build the recipe that the advice recommends, with this alignment; None if no word can be
    added.
    """
    words = advice.recommended
    if words is None:
        return None
    preset = PRESETS[words.preset]
    plan = replace(preset.vocabulary, max_added=words.max_added, min_count=words.min_count)
    return replace(
        preset,
        name=RECOMMENDED,
        title="Recommended for this text",
        about=f"{advice.sentence} {words.about}",
        vocabulary=plan,
        alignment=alignment.settings,
    )


def recommend_recipe(
    advice: Advice, root: Path | None, corpus: Artifact | None, model: LanguageModel
) -> Recipe | None:
    """Build the recommended recipe for a text of a workspace, or for other text if `corpus` is None;
    None if no word can be added.
    """
    workspace = vectors = None
    if root is not None and corpus is not None:
        workspace = Workspace(root)
        vectors = find_vectors_of_text(workspace, corpus, model)
    return build_recommended_recipe(advice, choose_alignment(workspace, vectors, model))


def _load_lines(alignment: Artifact) -> list[dict[str, Any]]:
    """Return the evaluations that an alignment holds; [] if they cannot be read."""
    try:
        return list(load_evaluation(alignment.folder).maps)
    except (InputError, OSError):
        return []


def _describe_basis(line: dict[str, Any]) -> tuple[Any, ...]:
    """Return what two evaluations must share to be comparable: anchors and folds."""
    return line["anchors"], line["held_out"]["folds"], str(line["settings"]["anchors"])
