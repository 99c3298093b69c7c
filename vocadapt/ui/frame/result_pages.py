"""Pages that show the results of jobs, and the query parameters that select a result there."""

from collections.abc import Callable
from pathlib import Path

from vocadapt.lab.jobs.queue import Job
from vocadapt.ui.alignment import methods
from vocadapt.ui.components import pickers
from vocadapt.ui.frame.names import label_of, models_of, spaces_of
from vocadapt.ui.jobs import panel, step_form
from vocadapt.ui.projection.controls import NONE

Address = dict[str, str]
SPACE_ROLES = (
    "vectors",
    "target",
)  # inputs that the embeddings of new tokens were transferred from


def find_result_page(job: Job) -> tuple[str, Address]:
    """Return the page that shows the result of a finished job, and its query parameters."""
    step = job.spec.declaration
    if not step.page:
        return panel.PAGE, {step_form.STEP: step.about, step_form.RESULT: job.target.name}
    address = {step.selected_by: job.target.name} if step.selected_by else {}
    if step.name in SELECTIONS:
        address |= SELECTIONS[step.name](job)
    return step.page, address


def _corpus(job: Job) -> Address:
    return _model(job, "vectors_model")


def _alignment(job: Job) -> Address:
    chosen = methods.label(job.spec.settings.alignment)
    vectors = Path(job.spec.one("vectors") or "").name
    return {
        "alignment_vectors": vectors,
        **_model(job, "alignment_model"),
        "alignment_method": chosen,
    }


def _leaderboard(job: Job) -> Address:
    given = next(filter(None, map(job.spec.one, SPACE_ROLES)), "")
    target = {"initializers_target": label_of(given, spaces_of(job.workspace))}
    return {**target, **_model(job, "initializers_model")}


def _projection(job: Job) -> Address:
    known, other = spaces_of(job.workspace), job.spec.one("other")
    space = label_of(job.spec.one("space") or "", known)
    return {
        "projection_space": space,
        "projection_other": label_of(other, known) if other else NONE,
    }


def _run(job: Job) -> Address:
    made = [
        one
        for one in pickers.runs_to_pick(job.workspace, by_tokenization=True)
        if one.of.name == job.target.name
    ]
    return {"results_task": made[0].of.task, "results_confused": made[0].name} if made else {}


def _model(job: Job, key: str) -> Address:
    given = job.spec.one("model")
    return {key: label_of(given, models_of(job.workspace))} if given else {}


# By step: what else must be selected on its page to see a result.
SELECTIONS: dict[str, Callable[[Job], Address]] = {
    "corpus": _corpus,
    "alignment": _alignment,
    "leaderboard": _leaderboard,
    "finetune": _run,
    "projection": _projection,
}
