"""Pages that show the results of jobs, and the query parameters that select a result there."""

from collections.abc import Callable
from pathlib import Path

from vocadapt.lab.jobs.queue import Job
from vocadapt.ui.alignment import methods
from vocadapt.ui.components import pickers
from vocadapt.ui.frame.names import label_of, models_of, spaces_of
from vocadapt.ui.projection.controls import NONE

Address = dict[str, str]
SPACE_ROLES = (
    "vectors",
    "target",
)  # inputs that the embeddings of new tokens were transferred from

VECTORS, ALIGNMENT = "pages/words/vectors.py", "pages/words/alignment.py"
LENS, INITIALIZERS, ADAPT = (
    "pages/vocabulary/lens.py",
    "pages/vocabulary/initializers.py",
    "pages/vocabulary/adapt.py",
)
PROJECTION, PRETRAINING, RESULTS = (
    "pages/see/projection.py",
    "pages/train/pretraining.py",
    "pages/train/results.py",
)


def find_result_page(job: Job) -> tuple[str, Address] | None:
    """Return the page that shows the result of a finished job, and its query parameters; None if
    there is none.
    """
    view = VIEWS.get(job.spec.step)
    if view is None:
        return None
    page, address_of = view
    return page, address_of(job)


def _named(key: str) -> Callable[[Job], Address]:
    """Return a function that builds the query parameters that select the artifact in the picker of
    this key.
    """
    return lambda job: {key: job.target.name}


def _corpus(job: Job) -> Address:
    return {"vectors_corpus": job.target.name, **_model(job, "vectors_model")}


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
    return {**target, **_model(job, "initializers_model"), "initializers_board": job.target.name}


def _projection(job: Job) -> Address:
    known, other = spaces_of(job.workspace), job.spec.one("other")
    space = label_of(job.spec.one("space") or "", known)
    return {
        "projection_space": space,
        "projection_other": label_of(other, known) if other else NONE,
        "projection_view": job.target.name,
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


VIEWS: dict[str, tuple[str, Callable[[Job], Address]]] = {
    "corpus": (VECTORS, _corpus),
    "vectors": (VECTORS, _named("vectors_vectors")),
    "contextual": (VECTORS, _named("vectors_vectors")),
    "import": (VECTORS, _named("vectors_vectors")),
    "alignment": (ALIGNMENT, _alignment),
    "model": (ADAPT, _named("adapt_adapted")),
    "leaderboard": (INITIALIZERS, _leaderboard),
    "pretrain": (LENS, _named("lens_models")),
    "continued": (PRETRAINING, _named("pretraining_pretrained")),
    "finetune": (RESULTS, _run),
    "convert": (LENS, _named("lens_models")),
    "projection": (PROJECTION, _projection),
}
