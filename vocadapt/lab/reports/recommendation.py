"""The recommended adaptation of a model to a text, and the best alignment that was evaluated in the
workspace.

The page Advice, the page Adapt and the command `advise` use it, so their numbers are equal.
"""

from dataclasses import dataclass, replace

from vocadapt.lab.inputs.alignments import list_alignments, load_score_lines
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.presets import PRESETS
from vocadapt.recipe import Recipe
from vocadapt.spaces.alignment.evaluation import EvaluatedAlignment
from vocadapt.spaces.alignment.methods import AlignmentSettings, rank_method
from vocadapt.vocabulary.advice.advice import RECOMMENDED, Advice


@dataclass(frozen=True)
class AlignmentChoice:
    """An alignment and its held-out scores.

    csls_p5, chance: held-out P@5 with CSLS, by which the best alignment is selected, and P@5 by
    chance; None if it was not evaluated. compared: number of alignments that were evaluated on the
    same anchors and folds, this one included.
    """

    settings: AlignmentSettings
    csls_p5: float | None = None
    chance: float | None = None
    compared: int = 0


def find_best_alignment(
    workspace: Workspace, vectors: Artifact, model: LanguageModel
) -> AlignmentChoice | None:
    """Return the best evaluated alignment of these vectors and this model, by held-out P@5 with
    CSLS (`select_best_alignment`); None if none was evaluated.

    Only alignments that were evaluated on the same anchors and folds as the newest one are
    compared. Evaluations of an earlier version of the vectors are left out.
    """
    # 1. The evaluated alignments, newest first; an artifact may hold a comparison of several.
    lines = load_score_lines(list_alignments(workspace, vectors, model))
    if not lines:
        return None

    # 2. The best of those that are comparable with the newest one. An alignment may have been
    #    evaluated several times: the newest evaluation counts.
    comparable: dict[AlignmentSettings, EvaluatedAlignment] = {}
    for line in lines:
        if line.basis == lines[0].basis:
            comparable.setdefault(line.settings, line)
    best = max(
        comparable.values(), key=lambda line: rank_method(line.method, line.held_out.csls.p5)
    )
    scores = best.held_out.csls
    return AlignmentChoice(best.settings, scores.p5, scores.chance5, len(comparable))


def find_text_name(vectors: Artifact) -> str:
    """Return the name of the corpus that word vectors belong to; "" if they were trained on files.

    Imported vectors do not record their text: they belong to the corpus of the same name.
    """
    text = vectors.manifest.inputs.get("text")
    if text is None:
        return vectors.name
    kind, _, name = text.paths[0].partition("/")
    return name if kind == "corpora" else ""


def find_vectors_of_text(
    workspace: Workspace, corpus: Artifact, model: LanguageModel
) -> Artifact | None:
    """Return the newest word vectors of this text for this model; None if there are none."""
    for found in workspace.artifacts("vectors"):
        given = found.manifest.inputs.get("model")
        if given is None or find_text_name(found) != corpus.name:
            continue
        if (workspace.root / given.paths[0]).resolve() == model.path.resolve():
            return found
    return None


def recommend_recipe(advice: Advice) -> Recipe | None:
    """Build the recommended recipe; None if no word can be added."""
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
    )
