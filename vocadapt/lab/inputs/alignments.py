"""Saved alignments of word vectors to a model, and their held-out scores."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.file_cache import CachedReader
from vocadapt.lab.workspace.manifest import read_saved_settings
from vocadapt.lab.workspace.workspace import Artifact, Workspace, find_artifact_root, open_artifact
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.alignment.evaluation import (
    EvaluatedAlignment,
    HeldOutScores,
    RankingScores,
    StackedScores,
)
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.system.json_values import build_value

TABLE = "heldout.json"  # file of the evaluated methods in the folder of an alignment


@dataclass(frozen=True)
class Ranking:
    """The ranking of an evaluation that fits neighbor lists: by CSLS or by cosine, and among all
    wordpieces or only those of the anchors.
    """

    csls: bool
    all_pieces: bool

    @property
    def column(self) -> str:
        """Attribute of `AnchorScore` that holds the ranks."""
        name = "all_rank" if self.all_pieces else "rank"
        return f"csls_{name}" if self.csls else name

    def choose_scores(self, held_out: HeldOutScores) -> RankingScores:
        """Return P@k and chance of this ranking from the held-out scores of an alignment."""
        scores = held_out.csls if self.csls else held_out
        return scores.all_pieces if self.all_pieces else scores


def list_alignments(
    workspace: Workspace, vectors: Artifact, model: LanguageModel
) -> list[Artifact]:
    """Return the saved alignments of this model and this version of the vectors, newest first."""
    alignments = []
    for found in workspace.artifacts("alignments"):
        inputs = found.manifest.inputs
        folder = (workspace.root / inputs["model"].paths[0]).resolve()
        if folder == model.path.resolve() and inputs["vectors"].stamp == vectors.stamp:
            alignments.append(found)
    return alignments


def load_table(folder: Path) -> tuple[EvaluatedAlignment, ...]:
    """Return the evaluated methods of a saved alignment, the chosen one first, without its anchors.

    Cached until the file changes. Raises InputError if it cannot be read, or was made by a version
    with other settings.
    """
    try:
        return _TABLES(folder / TABLE)
    except (OSError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{folder}: expected an evaluated alignment, {TABLE} is missing or damaged.",
            "Fit it again.",
            code="no-evaluation",
        ) from None


def load_score_lines(alignments: list[Artifact]) -> list[EvaluatedAlignment]:
    """Return the evaluated methods of saved alignments, in their order, but no unreadable ones."""
    lines: list[EvaluatedAlignment] = []
    for found in alignments:
        with suppress(InputError):
            lines += load_table(found.folder)
    return lines


def find_saved_scores(
    vectors: Path, model: LanguageModel, settings: AlignmentSettings
) -> EvaluatedAlignment | None:
    """Return the newest evaluation of an alignment in the workspace of its vectors; None if there
    is none, or if the vectors are not in a workspace.
    """
    for line in _load_lines_of_vectors(vectors, model):
        # Only directions are evaluated, so any length is the same.
        if replace(line.settings, vector_length=settings.vector_length) == settings:
            return line
    return None


def find_saved_stacked(vectors: Path, model: LanguageModel) -> StackedScores | None:
    """Return the newest scores of stacked embeddings on these vectors; None if there are none."""
    lines = _load_lines_of_vectors(vectors, model)
    return next((line.held_out.stacked for line in lines if line.held_out.stacked), None)


def _load_lines_of_vectors(vectors: Path, model: LanguageModel) -> list[EvaluatedAlignment]:
    """Return the evaluated methods of these vectors; [] if they are not in a workspace."""
    workspace = find_workspace_of_vectors(vectors)
    if workspace is None:
        return []
    return load_score_lines(list_alignments(workspace, open_artifact(vectors.resolve()), model))


def find_workspace_of_vectors(vectors: Path) -> Workspace | None:
    """Return the workspace of word vectors; None if they are not in one."""
    root = find_artifact_root(vectors, "vectors")
    return None if root is None else Workspace(root)


def _read_table(path: Path) -> tuple[EvaluatedAlignment, ...]:
    """Read the evaluated methods; raises InputError if this version lacks their settings."""
    lines = strict_json.read(path)["alignments"]
    for line in lines:
        read_saved_settings(AlignmentSettings, line["settings"], path.parent.name)
    return tuple(build_value(EvaluatedAlignment, line) for line in lines)


_TABLES = CachedReader(_read_table)  # a workspace may hold hundreds of evaluations
