"""Sources of a run: its training examples, and the text that its model's new words came from."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.artifacts.corpora import find_training_text, read_corpus
from vocadapt.lab.steps.context import StepContext
from vocadapt.lab.steps.finetune import FinetuneStep, limit_task, load_task
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Artifact, Workspace, explain_change, open_artifact
from vocadapt.progress import silent
from vocadapt.settings import settings_from
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.training.finetune.run_files import SavedRun
from vocadapt.training.tasks.examples import Example


def load_training_examples(run: SavedRun) -> tuple[Example, ...] | None:
    """Load the examples that a run was trained on; None if unknown, or if its files were changed
    since.

    Of a k-fold task each run has a fold of its own.
    """
    artifact = _find_artifact(run.folder)
    if artifact is None:
        return None
    root, inputs = artifact.folder.parent.parent, dict(artifact.manifest.inputs)
    try:
        unchecked = inputs.pop("model", None)
        if any(explain_change(given, Workspace(root)) for given in inputs.values()):
            return None
        if unchecked is not None:
            inputs["model"] = unchecked
        inputs.pop("test", None)  # a large one takes seconds
        settings = settings_from(FinetuneStep, artifact.manifest.settings, str(run.folder))
        settings = replace(settings, fold=run.record.get("fold") or settings.fold)
        paths = {role: (str(root / given.paths[0]),) for role, given in inputs.items()}
        step = StepContext(Spec("finetune", settings, paths), run.folder, root, silent)
        task, _ = limit_task(load_task(step, settings), settings.limit)
        examples = [*task.splits["train"].examples]
        if settings.finetune.with_dev and "dev" in task.splits:
            examples += task.splits["dev"].examples
        return tuple(examples)
    except (InputError, OSError, KeyError):
        return None


def find_corpus(folder: Path) -> Corpus | None:
    """Return the text of a run's adapted model; None if unknown, or if it was changed since."""
    artifact = _find_artifact(folder)
    if artifact is None or "model" not in artifact.manifest.inputs:
        return None
    path = artifact.folder.parent.parent / artifact.manifest.inputs["model"].paths[0]
    model = _find_artifact(path.resolve())
    if model is None:
        return None
    around, inputs = Workspace(model.folder.parent.parent), model.manifest.inputs
    try:
        if "vectors" in inputs:
            return find_training_text(around.root / inputs["vectors"].paths[0])
        if "text" not in inputs or explain_change(inputs["text"], around):
            return None
        paths = [around.root / path for path in inputs["text"].paths]
        stored = model.manifest.settings["corpus"]
        return read_corpus(paths, settings_from(CorpusSettings, stored, str(model.folder)))
    except (InputError, OSError, KeyError):
        return None


def _find_artifact(folder: Path) -> Artifact | None:
    """Return the artifact of a folder, or of its parent if the folder is one seed; None if neither
    is one.
    """
    for place in (folder, folder.parent):
        if (place / MANIFEST).is_file():
            with suppress(InputError):
                return open_artifact(place)
            return None
    return None
