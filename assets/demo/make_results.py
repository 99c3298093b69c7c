"""Make what the demo ships beside its models and vectors: the best alignment, word counts, a text, a
task, runs without weights, and a study of such runs.

    python assets/demo/make_results.py pretrained WORDS PLAIN
    python assets/demo/make_results.py alignment
    python assets/demo/make_results.py corpora BIOMEDICAL_TEXT…
    python assets/demo/make_results.py task
    python assets/demo/make_results.py runs CHECKPOINTS
    python assets/demo/make_results.py study
    python assets/demo/make_results.py words CHECKPOINTS
    python assets/demo/make_results.py board BIOMEDICAL_TEXT…

Each part replaces what is there. The runs need the adapted model, which is made as the demo's own
job makes it, and removed again. Stopped, they continue from the folder CHECKPOINTS.
"""

import os
import shutil
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from make_task import main as write_task_files
from make_words_task import main as write_words_task_files

from vocadapt.lab.demo import (
    ADAPTED,
    ADAPTED_RUNS,
    BASE_RUNS,
    BEST,
    BOARD,
    COUNTED,
    DEMO,
    MAP,
    MODEL,
    NOTES,
    PLAIN_MODEL,
    RUN_SETTINGS,
    STUDY,
    TASK,
    VECTORS,
    WORDS_ADAPTED_RUNS,
    WORDS_BASE_RUNS,
    WORDS_MODEL,
    WORDS_RUN_SETTINGS,
    WORDS_STUDY,
    WORDS_TASK,
    Place,
    list_demo_jobs,
)
from vocadapt.lab.experiments.studies.saved import FILE
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.inputs.corpora import build_counts_path, read_corpus, write_counts
from vocadapt.lab.inputs.tasks import import_task
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.initializers import BOARD as BOARD_FILE
from vocadapt.lab.steps.initializers import InitializersStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import MANIFEST, Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.settings import build_settings
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.text.words import WordCounts, count_words
from vocadapt.training.finetune.run_files import LOGITS, PREDICTIONS, RUN
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.seen_examples import SEEN

ABOUT = "constructed: shows the page, proves nothing"
WORDS_ABOUT = "constructed so that single words decide"
MIN_COUNT = 5  # rarer words, such as names and misspellings, are not shipped
SEEDS = (1, 2, 3)
WORDS_SEEDS = (1, 2, 3, 4, 5)
KEPT_OF_RUNS = (RUN, PREDICTIONS, LOGITS, SEEN)
KEPT_OF_CELLS = (RUN, PREDICTIONS)


def copy_pretrained(words: str, plain: str) -> None:
    """Copy the two models that were pretrained equally; without their inputs, whose paths are those of
    another machine.
    """
    for source, place in ((Path(words), WORDS_MODEL), (Path(plain), PLAIN_MODEL)):
        shutil.rmtree(Path(*place), ignore_errors=True)
        manifest = Manifest.load(source)
        with open_draft(Path(*place)) as draft:
            ignored = shutil.ignore_patterns(MANIFEST, "README.md", ".*")
            shutil.copytree(source, draft, dirs_exist_ok=True, ignore=ignored)
            replace(manifest, name=place[1], inputs={}, command="", files=()).save(draft)


def make_alignment() -> None:
    """Compare all alignments, and fit the one with the best held-out P@5."""
    inputs = {"vectors": (str(Path(*VECTORS)),), "model": (str(Path(*MODEL)),)}
    step = AlignmentStep(compare=True, folds=10)
    run_step(Spec(step, inputs), Path(*MAP), overwrite=True)
    best = Workspace(DEMO).artifact(*MAP).manifest.numbers["best"]
    settings = build_settings(AlignmentSettings, best, "demo-map")
    shutil.rmtree(Path(*BEST), ignore_errors=True)
    run_step(Spec(AlignmentStep(settings), inputs), Path(*BEST))


def make_corpora(*texts: str) -> None:
    """Import our own notes, and count the words of biomedical texts, which are not shipped."""
    splitter = open_model(Path(*MODEL)).splitter
    # 1. The notes, with their text and cached word counts.
    shutil.rmtree("corpora", ignore_errors=True)
    shutil.rmtree("counts", ignore_errors=True)
    inputs = {"text": ("notes.txt",), "model": (str(Path(*MODEL)),)}
    run_step(Spec(CorpusStep(copy=True), inputs), Path(*NOTES))
    manifest = Manifest.load(Path(*NOTES))  # without its inputs: the text is a copy
    replace(manifest, inputs={}, command="").save(Path(*NOTES))
    assert build_counts_path(Path(), read_corpus([Path(*NOTES)]), splitter).is_file()

    # 2. The word counts; made last, so that pages offer them first.
    found = count_words(read_corpus(texts), splitter)
    kept = {word: count for word, count in found.counts.items() if count >= MIN_COUNT}
    counts = WordCounts(kept, found.lines, found.bytes, found.lines_read)
    with open_draft(Path(*COUNTED)) as draft:
        write_counts(counts, splitter, draft)
        numbers = {
            "bytes": counts.bytes,
            "words": counts.words,
            "distinct": counts.distinct,
            "lines": counts.lines,
            "min_count": MIN_COUNT,
            "words_left_out": found.words - counts.words,
        }
        Manifest("corpora", COUNTED[1], {}, numbers=numbers).save(draft)


def make_task() -> None:
    """Write the sentences of the constructed task, and import them."""
    shutil.rmtree(Path(*TASK), ignore_errors=True)
    with TemporaryDirectory() as folder:
        write_task_files(Path(folder))
        files = {split: Path(folder) / f"{split}.tsv" for split in ("train", "dev", "test")}
        import_task(find_kind("ner"), files, Path(*TASK), ABOUT)


def make_runs(checkpoints: str) -> None:
    """Fine-tune both models on the task of diseases."""
    step = FinetuneStep(RUN_SETTINGS, seeds=SEEDS)
    finetune_models(step, TASK, BASE_RUNS, ADAPTED_RUNS, checkpoints)


def make_words(checkpoints: str) -> None:
    """Write the task in which single words decide, fine-tune both models on it, and run its study."""
    shutil.rmtree(Path(*WORDS_TASK), ignore_errors=True)
    with TemporaryDirectory() as folder:
        write_words_task_files(Path(folder))
        files = {split: Path(folder) / f"{split}.tsv" for split in ("train", "dev", "test")}
        import_task(find_kind("classification"), files, Path(*WORDS_TASK), WORDS_ABOUT)
    step = FinetuneStep(WORDS_RUN_SETTINGS, seeds=WORDS_SEEDS)
    finetune_models(step, WORDS_TASK, WORDS_BASE_RUNS, WORDS_ADAPTED_RUNS, checkpoints)
    make_study(WORDS_STUDY)


def finetune_models(
    step: FinetuneStep, task: Place, base: Place, adapted: Place, checkpoints: str
) -> None:
    """Fine-tune the general model and the adapted one on a task; keep scores and predictions."""
    # 1. The adapted model, as the job of the demo makes it.
    adapt = next(job for job in list_demo_jobs(Workspace(DEMO)) if job.place == ADAPTED)
    if not Path(*ADAPTED).exists():
        run_step(adapt.spec, Path(*ADAPTED))

    # 2. The runs.
    for model, place in ((MODEL, base), (ADAPTED, adapted)):
        inputs = {"task": (str(Path(*task)),), "model": (str(Path(*model)),)}
        spec, folder = Spec(step, inputs), Path(*place)
        run_step(spec, folder, overwrite=True, keep=Path(checkpoints, place[1]))
        remove_weights(folder)
    forget_stamp(Path(*adapted))
    shutil.rmtree(Path(*ADAPTED))


def make_board(*texts: str) -> None:
    """Compare the initializers; the network reads sentences of a text, which is not shipped."""
    inputs = {"vectors": (str(Path(*VECTORS)),), "model": (str(Path(*MODEL)),)}
    with TemporaryDirectory() as folder:
        made = Path(folder) / BOARD[1]
        run_step(Spec(InitializersStep(), {**inputs, "held_out": texts}), made)
        manifest = Manifest.load(made)
        kept = {role: replace(manifest.inputs[role], paths=paths) for role, paths in inputs.items()}
        shutil.rmtree(Path(*BOARD), ignore_errors=True)
        with open_draft(Path(*BOARD)) as draft:
            shutil.copyfile(made / BOARD_FILE, draft / BOARD_FILE)
            replace(manifest, inputs=kept, command="", files=()).save(draft)


def make_study(place: Place = STUDY) -> None:
    """Run a study on two workers; keep the scores and predictions of its cells."""
    folder = Path(*place).absolute()
    for kind in ("models", "runs", "jobs"):
        shutil.rmtree(folder / kind, ignore_errors=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    # Only an artifact may hold more than the study fills in itself.
    Manifest(*place, {}).save(folder, lists_files=False)
    made = run_step(Spec(StudyStep(workers=2), {"file": (str(folder / FILE),)}), folder)
    replace(made.manifest, command="").save(folder, lists_files=False)
    for kind in ("models", "jobs"):
        shutil.rmtree(folder / kind)
    for cell in sorted((folder / "runs").iterdir()):
        remove_weights(cell, KEPT_OF_CELLS)
        manifest = Manifest.load(cell)
        inputs = {}
        for role, given in manifest.inputs.items():
            paths = tuple(name_from(folder, path) for path in given.paths)
            # The adapted model is not shipped, so it counts as unchanged.
            stamp = given.stamp if (folder / paths[0]).exists() else ""
            inputs[role] = replace(given, paths=paths, stamp=stamp)
        replace(manifest, inputs=inputs, command="").save(cell)


def name_from(folder: Path, path: str) -> str:
    """Return a path relative to a folder, so that it holds in every copy of the demo."""
    return os.path.relpath(folder / path, folder)


def remove_weights(folder: Path, kept: Collection[str] = KEPT_OF_RUNS) -> None:
    """Remove networks and tokenizers from runs, and list the remaining files in their manifest."""
    manifest = Manifest.load(folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        elif path.is_file() and path.name not in (*kept, MANIFEST):
            path.unlink()
    manifest.save(folder)


def forget_stamp(folder: Path) -> None:
    """Remove the stamp of the model of runs: the demo's job makes that model again."""
    manifest = Manifest.load(folder)
    model = replace(manifest.inputs["model"], stamp="")
    replace(manifest, inputs={**manifest.inputs, "model": model}).save(folder)


PARTS: dict[str, Callable[..., None]] = {
    "pretrained": copy_pretrained,
    "alignment": make_alignment,
    "corpora": make_corpora,
    "task": make_task,
    "runs": make_runs,
    "study": make_study,
    "words": make_words,
    "board": make_board,
}

if __name__ == "__main__":
    given = [str(Path(text).resolve()) for text in sys.argv[2:]]
    os.chdir(DEMO)  # so that the commands in the manifests name paths inside the demo
    PARTS[sys.argv[1]](*given)
