"""Vocabulary advice for a text and a model, from word counts of the workspace or new ones."""

import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import build_counts_path, estimate_text_bytes, load_or_count_words
from vocadapt.lab.steps.command_lines import PROGRAM, build_command
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import find_artifact_root
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_files import list_weight_files
from vocadapt.progress import Progress, silent
from vocadapt.system.files import check_path
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.training.examples.examples import Sentence
from vocadapt.training.tasks.formats.conll import read_sentences
from vocadapt.vocabulary.advice.advice import RECOMMENDED, Advice, Suggestion, advise
from vocadapt.vocabulary.growth.word_tokenizations import ModelSize

RECIPE_FILE = f"{RECOMMENDED}.toml"  # file of the recommended recipe
VECTORS = "domain-vectors"  # the folder that the suggested command lines share
# bytes of text that are counted: some 15 s on a 2.5 GHz core (17 to 30 MB a second)
MAX_COUNTED_BYTES = 250_000_000


@dataclass(frozen=True)
class TaskFile:
    """Size of the task file."""

    entities: int
    sentences: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class AdviceReport(Advice):
    """The advice; proportions are fractions, unknown values null.

    task_file: size of the task file. counts: whether saved word counts were used. first: the
    command to run before any recipe.
    """

    task_file: TaskFile | None
    counts: Literal["kept", "counted"]
    seconds: float
    first: str | None = None


def add_commands(
    report: AdviceReport,
    text: Sequence[str | Path],
    model: str,
    settings: CorpusSettings | None = None,
) -> AdviceReport:
    """Return the report with the command lines that follow from it."""
    if report.recommended:
        recommended = replace(report.recommended, command=build_recommended_command(model))
        report = replace(report, recommended=recommended)
    recipes = tuple(replace(one, command=build_adapt_command(one, model)) for one in report.recipes)
    first = build_training_command(text, model, settings) if recipes else None
    return replace(report, recipes=recipes, first=first)


def build_training_command(
    text: Sequence[str | Path], model: str, settings: CorpusSettings | None = None
) -> str:
    """Build the command line that every recipe needs first: training word vectors on the text."""
    step = VectorsStep(settings or CorpusSettings())
    spec = Spec(step, {"text": tuple(map(str, text)), "model": (model,)})
    return build_command(spec, Path(VECTORS))


def build_adapt_command(recipe: Suggestion, model: str) -> str:
    """Build the command line of a suggested recipe."""
    chosen = ["--preset", recipe.preset, "--max-added", str(recipe.max_added)]
    if recipe.min_count:
        chosen += ["--min-count", str(recipe.min_count)]
    out = f"adapted-{recipe.name.replace(' ', '-')}"
    return shlex.join(
        [*PROGRAM, "adapt", *chosen, "--vectors", VECTORS, "--model", model, "--out", out]
    )


def build_recommended_command(model: str, vectors: str = VECTORS) -> str:
    """Build the command line that adapts a model by the recipe that `advise` has written."""
    chosen = ["--recipe", RECIPE_FILE, "--vectors", vectors, "--model", model]
    return shlex.join([*PROGRAM, "adapt", *chosen, "--out", f"adapted-{RECOMMENDED}"])


def build_advise_command(text: Sequence[str | Path], model: str, task: Path | None) -> str:
    """Build the command line that gives the same advice, and writes the recommended recipe."""
    command = [*PROGRAM, "advise", *map(str, text), "--model", model]
    if task:
        command += ["--task", str(task)]
    return shlex.join([*command, "--out", RECIPE_FILE])


def advise_on(
    corpus: Corpus,
    model: LanguageModel,
    root: Path | None = None,
    task: Path | None = None,
    progress: Progress = silent,
) -> AdviceReport:
    """Advise on a text; word counts that are saved in the workspace at `root` are used.

    A seeded sample of lines is counted if the text is larger than about 250 MB. Raises InputError
    if the text or the task cannot be read.
    """
    # 1. Words of the task file, and word counts of the text: saved ones if there are any.
    start = time.perf_counter()
    words, task_file = _read_task(task, model.splitter) if task else (None, None)
    counts = find_saved_counts(root, corpus, model.splitter)
    origin: Literal["kept", "counted"] = "kept"
    if counts is None:
        origin = "counted"
        counts = load_or_count_words(None, limit_corpus(corpus), model.splitter, progress)

    # 2. The advice that follows from them.
    advice = advise(counts, model.vocabulary, model.splitter, measure_model_size(model), words)
    return AdviceReport(
        **vars(advice), task_file=task_file, counts=origin, seconds=time.perf_counter() - start
    )


def _read_task(path: Path, splitter: Splitter) -> tuple[Mapping[str, int], TaskFile]:
    """Return the words inside the entities of a task file, most frequent first, and its size."""
    sentences = cast(Sequence[Sentence], read_sentences(path).examples)
    entities = Counter(entity for sentence in sentences for entity in sentence.entities)
    words = Counter[str]()
    for entity, count in entities.items():
        for word in splitter.words(entity):
            words[word] += count
    n_words = sum(len(sentence.words) for sentence in sentences)
    if not words:
        raise InputError(
            f"{path}: no entity in {n_words:,} words.",
            "Give tagged sentences with entities.",
            code="no-entity",
        )
    return dict(words.most_common()), TaskFile(entities.total(), len(sentences), n_words)


def find_saved_counts(root: Path | None, corpus: Corpus, splitter: Splitter) -> WordCounts | None:
    """Return the saved word counts of a text, or of the sample that would be counted, if any."""
    if root is None or not root.is_dir():
        return None
    stored = filter(Path.is_file, list_count_paths(root, corpus, splitter))
    return next(map(WordCounts.read, stored), None)


def list_count_paths(root: Path, corpus: Corpus, splitter: Splitter) -> tuple[Path, ...]:
    """List the paths at which the word counts of a text, and of its sample, are saved."""
    parts = dict.fromkeys((corpus, limit_corpus(corpus)))
    return tuple(build_counts_path(root, one, splitter) for one in parts)


def limit_corpus(corpus: Corpus) -> Corpus:
    """Return the corpus, or a seeded sample of its lines if counting all would take too long."""
    wanted = estimate_text_bytes(corpus) * corpus.settings.sample
    if wanted <= MAX_COUNTED_BYTES:
        return corpus
    sample = round(corpus.settings.sample * MAX_COUNTED_BYTES / wanted, 4)
    return replace(corpus, settings=replace(corpus.settings, sample=sample))


def measure_model_size(model: LanguageModel) -> ModelSize:
    """Return width and number of parameters of a model.

    Both are unknown for a bare vocabulary; the parameters also if the weights are not safetensors.
    """
    if model.path.is_file():
        return ModelSize()
    width = model.config.get("hidden_size")
    try:
        return ModelSize(width, count_parameters(model))
    except InputError:
        return ModelSize(width)


def count_parameters(model: LanguageModel) -> int:
    """Count the parameters in a model's safetensors headers; raises InputError if there are none."""
    from math import prod

    from safetensors import SafetensorError, safe_open

    total = 0
    for file in list_weight_files(model.path):
        try:
            with safe_open(file, "np") as tensors:
                total += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118 (not a dict)
        except SafetensorError as error:
            raise InputError(f"{file} is not a readable safetensors file: {error}.") from error
    return total


def find_workspace(paths: Sequence[str | Path]) -> Path | None:
    """Return the workspace of a corpus artifact; None if the paths are anything else."""
    folder = check_path(paths[0])
    return find_artifact_root(folder, "corpora") if len(paths) == 1 else None
