"""The registry of steps, and `run_step`: a spec in, an artifact out.

Command line, pages and jobs all run a step this way. A step is a function from a Task to its
headline figures, registered in STEPS; it fills the draft folder of the task.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import check_output_path
from vocadapt.lab.artifacts.alignments import save_evaluation
from vocadapt.lab.artifacts.corpora import load_or_count_words, read_corpus, write_corpus
from vocadapt.lab.steps.adapt import adapt_model
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.compare_initializers import rank_initializers
from vocadapt.lab.steps.context import Numbers, Task, summarize_space
from vocadapt.lab.steps.contextual import make_contextual_vectors
from vocadapt.lab.steps.projection import make_projection
from vocadapt.lab.steps.spec import (
    AlignmentStep,
    ContinuedPretrainingStep,
    ConvertStep,
    CorpusStep,
    FinetuneStep,
    ImportStep,
    PretrainStep,
    Spec,
    VectorsStep,
)
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.disk_space import check_disk_space, estimate_bytes
from vocadapt.lab.workspace.manifest import Input, Manifest, versions_of
from vocadapt.lab.workspace.workspace import KINDS, Artifact, open_artifact, writing
from vocadapt.models.convert import convert
from vocadapt.models.language_model import LanguageModel
from vocadapt.pipeline import Sources, domain_space
from vocadapt.progress import Progress, parts, silent
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.alignment.comparison import (
    compare_alignments,
    list_feasible_alignments,
    select_best_alignment,
)
from vocadapt.spaces.alignment.cross_validation import HeldOutQuality
from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.spaces.io.case_folding import fold_case
from vocadapt.spaces.io.import_formats import read_space
from vocadapt.spaces.io.storage import save_space
from vocadapt.spaces.space import EmbeddingSpace

CHECKPOINT = "checkpoint"  # <job>/checkpoint/
MADE_FROM = "made_from.json"  # in it: the stamps of the inputs that the checkpoint was made from


def import_corpus(task: Task, settings: CorpusStep) -> Numbers:
    """Import text files as a corpus, and count its words if a model is given."""
    text = read_corpus(task.spec.inputs["text"], settings.corpus)
    write_corpus(text, task.draft, settings.copy)
    numbers: Numbers = {"files": len(text.files), "bytes": text.bytes}
    if text.left_out:
        numbers["files_left_out"] = text.left_out
    if "model" in task.spec.inputs:
        counts = load_or_count_words(task.root, text, task.model.splitter, task.progress)
        numbers |= {
            "words": counts.words,
            "distinct": counts.distinct,
            "lines": counts.lines,
            **counts.left_out(),
        }
    return numbers


def train_vectors(task: Task, settings: VectorsStep) -> Numbers:
    """Train word vectors on a text, with a model's words and dimension."""
    text = read_corpus(task.spec.inputs["text"], settings.corpus)
    space = domain_space(
        Sources(corpus=text),
        task.model,
        settings.word2vec,
        task.progress,
        task.draft,
        settings.resample,
    )
    save_space(space, task.draft)
    new = sum(word not in task.model.vocabulary for word in space.words)
    return {**summarize_space(space), "new_words": new, "workers": settings.word2vec.threads}


def import_vectors(task: Task, settings: ImportStep) -> Numbers:
    """Import word vectors of another program."""
    words, text = task.spec.one("words"), task.spec.inputs.get("text")
    if (settings.fold or text) and "model" not in task.spec.inputs:
        raise InputError(
            "Folding case, and keeping only the words of a text, need a model.",
            "Give a model.",
        )
    only, stages = None, parts(task.progress, {"counts": 1.0 if text else 0.0, "reading": 1.0})
    if text:
        only = load_or_count_words(
            task.root, read_corpus(text, settings.corpus), task.model.splitter, stages["counts"]
        ).counts
    words_file, limit = Path(words) if words else None, settings.limit or None
    found = read_space(
        Path(task.spec.inputs["file"][0]),
        words=words_file,
        limit=limit,
        only=None if settings.fold else only,
        progress=stages["reading"],
    )
    space, notes = found.space, [*found.notes]
    if settings.fold:
        folded = fold_case(space, task.model.splitter, settings.collisions)
        space, notes = folded.space, [*notes, *folded.notes]
        if only is not None:  # these are words as the model meets them, which only folded words are
            space, notes = _keep_words_of_text(space, only, notes)
    save_space(space, task.draft)
    return {**summarize_space(space), "notes": notes}


def evaluate_alignment(task: Task, settings: AlignmentStep) -> Numbers:
    """Fit an alignment of word vectors to a model, and cross-validate it; all other methods if
    requested.
    """
    chosen = list_alignments(settings, task.space, task.model)[0]
    fit_alignment(task.space, task.model.space, chosen, task.model.vocabulary.special).save(
        task.draft
    )
    judged = cross_validate_alignments(settings, task.space, task.model, task.progress)
    save_evaluation(judged, task.draft)
    held = judged[0].as_json()["held_out"]
    assert isinstance(held, dict)
    return {
        "method": chosen.method,
        "anchors": len(judged[0].anchors),
        "verdict": judged[0].verdict,
        **{key: held[key] for key in ("cosine", "p@1", "p@5", "p@10", "chance@5")},
        **({"best": asdict(select_best_alignment(judged).settings)} if settings.compare else {}),
    }


def pretrain_model(task: Task, settings: PretrainStep) -> Numbers:
    """Pretrain a small BERT from scratch on a text."""
    from vocadapt.training.masked.from_scratch import pretrain_from_scratch

    text = read_corpus(task.spec.inputs["text"], settings.corpus)
    made = pretrain_from_scratch(
        text, settings.scratch, task.progress, task.checkpoint, settings.half
    )
    made.save(task.draft, settings.half)
    return {"stage": "from-scratch", **made.to_dict()}


def continue_pretraining(task: Task, settings: ContinuedPretrainingStep) -> Numbers:
    """Continue pretraining a model on a text, by stage."""
    from vocadapt.training.masked.continued import continue_and_save

    text = read_corpus(task.spec.inputs["text"], settings.corpus)
    return continue_and_save(
        task.model, text, settings.further, task.draft, task.checkpoint, task.progress
    ).to_dict()


def finetune_model(task: Task, settings: FinetuneStep) -> Numbers:
    """Fine-tune a model on a task: a run for each seed, scored under each tokenization."""
    from vocadapt.lab.steps import finetune

    return finetune.finetune_runs(task, settings)


def convert_model(task: Task, settings: ConvertStep) -> Numbers:
    """Convert a model's .bin weights to safetensors."""
    return {"tensors": convert(task.spec.inputs["model"][0], task.draft, task.spec.offline or None)}


@dataclass(frozen=True)
class Step:
    """A step: its function, a sentence that explains it, and the libraries whose versions are
    recorded.
    """

    run: Callable[[Task, Any], Numbers]
    about: str
    libraries: tuple[str, ...] = ("numpy", "tokenizers", "safetensors")
    steady: bool = False  # its progress keeps one pace, so that the time left follows from it


STEPS: dict[str, Step] = {
    "corpus": Step(import_corpus, "Take text into the workspace", steady=True),
    "vectors": Step(
        train_vectors, "Train word vectors", ("numpy", "tokenizers", "gensim", "safetensors")
    ),
    "contextual": Step(
        make_contextual_vectors,
        "Make vectors in context",
        ("numpy", "tokenizers", "safetensors", "torch", "transformers"),
        steady=True,
    ),
    "import": Step(import_vectors, "Import word vectors"),
    "alignment": Step(
        evaluate_alignment, "Fit and judge a map", ("numpy", "scipy", "tokenizers", "safetensors")
    ),
    "model": Step(
        adapt_model,
        "Adapt a model",
        ("numpy", "scipy", "tokenizers", "gensim", "safetensors", "torch", "transformers"),
    ),
    "leaderboard": Step(
        rank_initializers,
        "Compare initializers",
        ("numpy", "scipy", "tokenizers", "gensim", "safetensors"),
    ),
    "pretrain": Step(
        pretrain_model,
        "Train a model from scratch",
        ("numpy", "tokenizers", "gensim", "safetensors", "torch", "transformers"),
    ),
    "further": Step(
        continue_pretraining,
        "Pretrain a model further",
        ("numpy", "tokenizers", "safetensors", "torch", "transformers"),
    ),
    "finetune": Step(
        finetune_model,
        "Fine-tune a model",
        ("numpy", "tokenizers", "safetensors", "torch", "transformers"),
    ),
    "convert": Step(convert_model, "Convert a model", ("torch", "safetensors")),
    "map": Step(
        make_projection,
        "Draw a map",
        ("numpy", "scikit-learn", "openTSNE", "umap-learn", "safetensors"),
    ),
}


def run_step(
    spec: Spec,
    folder: Path,
    progress: Progress = silent,
    overwrite: bool = False,
    job: Path | None = None,
    keep: Path | None = None,
) -> Artifact:
    """Run one step and write its artifact to `folder`, completely or not at all.

    `job`: folder of the job that runs the step; it holds the step's checkpoints, and the manifest
    names the job. `keep`: folder for checkpoints without a job; the same step resumes from it, and
    removes it when done. Raises InputError for mistakes in the spec, if `folder` exists, and if the
    disk is full.
    """
    start = time.perf_counter()
    folder = Path(folder)
    _check_output_outside_inputs(spec, folder)
    check_disk_space(folder, estimate_bytes(spec))
    with writing(folder, overwrite) as draft:
        root = folder.absolute().parent.parent if folder.absolute().parent.name in KINDS else None
        inputs = Task(
            spec, draft, root, progress
        ).inputs()  # before the step: what changes meanwhile makes its result stale
        checkpoint = (
            prepare_job_checkpoint(job, inputs)
            if job
            else keep and prepare_own_checkpoint(keep, spec, inputs)
        )
        task = Task(spec, draft, root, progress, checkpoint)
        numbers = STEPS[spec.step].run(task, spec.settings)
        Manifest(
            kind=spec.kind,
            name=folder.name,
            settings=asdict(spec.settings),
            inputs=inputs,
            numbers=numbers,
            versions=versions_of(STEPS[spec.step].libraries),
            seed=spec.settings.seed,
            seconds=time.perf_counter() - start,
            command=build_command(spec, folder),
            job=job.name if job else "",
            casing=spec.casing,
        ).save(draft)
    if keep is not None and not job:
        shutil.rmtree(keep, ignore_errors=True)
    return open_artifact(folder)


def _check_output_outside_inputs(spec: Spec, folder: Path) -> None:
    """Raise InputError if the output would replace one of the inputs, or a folder that contains it."""
    check_output_path(folder)
    place = folder.resolve()
    for role, paths in spec.inputs.items():
        there = [os.path.expanduser(path) for path in paths]
        if any(
            os.path.exists(path) and Path(path).resolve().is_relative_to(place) for path in there
        ):  # False for a hub name
            raise InputError(
                f"{folder} is, or contains, the {role} that it would be made from.",
                "Choose another output folder.",
            )


def prepare_job_checkpoint(job: Path, inputs: Mapping[str, Input]) -> Path:
    """Return the checkpoint folder of a job, emptied if its checkpoint was made from other inputs."""
    folder = job / CHECKPOINT
    stamps = {role: given.stamp for role, given in inputs.items()}
    try:
        made_from = strict_json.read(folder / MADE_FROM)
    except InputError:
        made_from = None
    if made_from != stamps:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        strict_json.write(folder / MADE_FROM, stamps)
    return folder


def prepare_own_checkpoint(folder: Path, spec: Spec, inputs: Mapping[str, Input]) -> Path:
    """Return the folder of a step's own checkpoints.

    Raises InputError if it holds anything else, such as those of another step.
    """
    about = {
        "spec": spec.to_json(),
        "inputs": {role: given.stamp for role, given in inputs.items()},
    }
    if folder.is_dir() and any(folder.iterdir()):
        try:
            same = strict_json.read(folder / MADE_FROM) == about
        except InputError:
            same = False
        if not same:
            raise InputError(
                f"{folder} does not hold the checkpoints of this command, with these settings and"
                " these inputs.",
                "Run the command that was stopped, or give another folder.",
            )
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strict_json.write(folder / MADE_FROM, about)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot write there: {error.strerror}.", "Choose another folder."
        ) from error
    return folder


def cross_validate_alignments(
    settings: AlignmentStep,
    space: EmbeddingSpace,
    model: LanguageModel,
    progress: Progress = silent,
) -> tuple[HeldOutQuality, ...]:
    """Cross-validate the chosen alignment, and all other methods if requested."""
    maps = list_alignments(settings, space, model)
    return compare_alignments(
        space,
        model.space,
        maps,
        settings.folds,
        exclude=model.vocabulary.special,
        progress=progress,
    )


def list_alignments(
    settings: AlignmentStep, space: EmbeddingSpace, model: LanguageModel
) -> list[AlignmentSettings]:
    """Return the chosen alignment, followed by all other methods if requested.

    If the chosen one cannot be cross-validated, the first that can comes first.
    """
    chosen = settings.alignment
    if not settings.compare:
        return [chosen]
    able = list_feasible_alignments(
        space, model.space, settings.folds, chosen.anchors, model.vocabulary.special
    )
    first = [chosen] if chosen.method in {other.method for other in able} else []
    return [*first, *(other for other in able if other != chosen)]


def _keep_words_of_text(
    space: EmbeddingSpace, only: Mapping[str, int], notes: list[str]
) -> tuple[EmbeddingSpace, list[str]]:
    """Keep the words that occur in a text, and note how many; raises InputError if there are none."""
    rows = [row for row, word in enumerate(space.words) if word in only]
    if not rows:
        raise InputError(
            f"None of the {len(space):,} words of {space.name} occurs in the text.",
            "Give another text, or none.",
        )
    return space.take(rows), [
        *notes,
        f"{len(rows):,} of {len(space):,} words occur in the text: the others are left out",
    ]
