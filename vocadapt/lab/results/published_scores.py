"""Our scores of published cells from the runs that a workspace has.

A run belongs to a cell if both are of the same benchmark and the same recipe; whether the two
scores are comparable is decided by `vocadapt.published.comparison`.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.results.runs import RunSet
from vocadapt.lab.workspace.manifest import read_manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.models.model_folder import name_of
from vocadapt.published.base_models import find_contradiction
from vocadapt.published.comparison import Score
from vocadapt.published.tables import PublishedCell, PublishedTable
from vocadapt.training.tasks.benchmarks import cards
from vocadapt.training.tasks.task import TASK, read_task_file

Place = tuple[str, str]  # row and column


@dataclass(frozen=True)
class OwnScore:
    """A score of a run. card: the benchmark of its task; recipe: "" for a model as it is; model:
    the folder of its base model, None for a model of the hub.
    """

    run: str
    card: str
    recipe: str
    score: Score
    model: LanguageModel | None = None


def read_own_scores(runs: Iterable[RunSet], workspace: Workspace) -> list[OwnScore]:
    """Return the scores of the runs whose task is a benchmark, in their order.

    A run whose task or model no longer exists is left out, because its data are not known.
    """
    found = []
    for one in runs:
        with suppress(InputError, OSError):
            if score := _read_own_score(one, workspace):
                found.append(score)
    return found


def match_scores(
    table: PublishedTable, scores: Sequence[OwnScore]
) -> dict[Place, tuple[OwnScore, ...]]:
    """Return the scores that belong to each cell; cells without any are left out."""
    matched = {}
    for cell in table.cells:
        own = tuple(_check_base_model(one, cell) for one in scores if _matches_cell(one, cell))
        if own:
            matched[cell.row, cell.column] = own
    return matched


def _check_base_model(one: OwnScore, cell: PublishedCell) -> OwnScore:
    """Return a score with the published name of its base model, if that is a hub model of this
    name, or a folder of this name whose content fits; otherwise with a name that says why it does
    not.
    """
    published = cell.facts.base_model
    if _shorten(one.score.base_model) != _shorten(published):
        return one
    base_model = published
    if one.model is not None:
        against = find_contradiction(published, one.model)
        if against is None:
            against = "only its name says which model it is"
        if against:
            base_model = f"the folder {one.score.base_model} ({against})"
    return replace(one, score=replace(one.score, base_model=base_model))


def _shorten(model: str) -> str:
    """Return the name of a model without its owner: bert-base-uncased."""
    return model.rpartition("/")[2].lower()


def _matches_cell(one: OwnScore, cell: PublishedCell) -> bool:
    """Return whether a score is of the benchmark and the recipe of a cell, and, for a model as it
    is, of its base model.
    """
    if cell.facts.data not in cards():  # not a benchmark
        return False
    if _name_benchmark(one.card) != _name_benchmark(cell.facts.data):
        return False
    if bool(cell.facts.change_from) != one.score.is_change or one.recipe != cell.facts.recipe:
        return False
    return bool(one.recipe) or _shorten(one.score.base_model) == _shorten(cell.facts.base_model)


def _name_benchmark(card: str) -> str:
    """Return the name of a benchmark in whatever version: linnaeus for bio-lm/LINNAEUS."""
    return card.partition("/")[2].lower()


def _read_own_score(run: RunSet, workspace: Workspace) -> OwnScore | None:
    """Read the score of a run; None if its task is no benchmark, or its test split has no labels."""
    task = run.inputs.get("task")
    model = run.inputs.get("model")
    if task is None or model is None or not run.tokenizations:
        return None
    # 1. The benchmark, and the examples that were tested.
    place = workspace.root / task.paths[0]
    card = read_task_file(place / TASK if os.path.isdir(place) else place).card
    if not card:
        return None
    limit = run.artifact.manifest.settings.get("limit", 0) if run.artifact else 0
    split = f"test, at most {limit:,} examples" if limit else "test"
    # 2. The recipe and the base model; those of an adapted model are in its manifest.
    recipe = ""
    base = model.paths[0]
    folder = workspace.root / model.paths[0]
    with suppress(OSError, InputError):  # a hub name, or a folder without a manifest
        manifest = read_manifest(folder)
        recipe = str(manifest.numbers.get("preset", ""))
        if "model" in manifest.inputs:
            base = manifest.inputs["model"].paths[0]
    base_model, opened = base, None
    if os.path.exists(workspace.root / base):
        opened = open_model(workspace.root / base)
        base_model = opened.hub_name or name_of(Path(base))
        if opened.hub_name:
            opened = None
    # 3. The score.
    summary = run.summary()
    score = Score(
        summary.mean,
        len(run.seeds),
        card,
        split,
        run.scorer.name,
        base_model,
        summary.sd,
        run.metric,
    )
    return OwnScore(run.name, card, recipe, score, opened)
