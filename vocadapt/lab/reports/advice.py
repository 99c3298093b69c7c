"""Advice on a text and a model: counts that the workspace keeps where it has them, else counted
now, all of it or a sample.
"""

import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.files import check_path
from vocadapt.lab.artifacts.corpora import counts_path, load_or_count_words
from vocadapt.lab.steps.command_lines import CORPUS_FLAGS, PROGRAM
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.models.language_model import LanguageModel, weight_files
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.text.entities import EntityWords, read_entity_words
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.vocabulary.advice.advice import Advice, Suggestion, advise
from vocadapt.vocabulary.growth.gains import ModelSize

VECTORS = "domain-vectors"  # the folder that the suggested command lines share
# bytes of text that are counted: some 15 s on a 2.5 GHz core (17 to 30 MB a second)
MOST = 250_000_000
UNPACKED = 4  # bytes of text to a byte of .gz or parquet, about


@dataclass(frozen=True)
class AdviceReport:
    """An advice, whether its counts were kept already, the words of the task file, and the seconds
    it took.
    """

    advice: Advice
    kept: bool
    task: EntityWords | None
    seconds: float


def build_answer(
    asked: AdviceReport,
    text: Sequence[str | Path],
    model: str,
    settings: CorpusSettings | None = None,
) -> dict[str, Any]:
    """The answer of `vocadapt advise --json`: the advice as plain values, with the command lines to
    run on this text.
    """
    advice, task = asked.advice.as_json(), asked.task
    for entry, recipe in zip(advice["recipes"], asked.advice.recipes, strict=True):
        entry["command"] = build_adapt_command(recipe, model)
    return {
        **advice,
        "first": build_training_command(text, model, settings) if advice["recipes"] else None,
        "task_file": (
            task and {"entities": task.entities, "sentences": task.sentences, "tokens": task.tokens}
        ),
        "counts": "kept" if asked.kept else "counted",
        "seconds": asked.seconds,
    }


def build_training_command(
    text: Sequence[str | Path], model: str, settings: CorpusSettings | None = None
) -> str:
    """The command line that every suggested recipe needs first: the word vectors of the text."""
    return shlex.join(
        [
            *PROGRAM,
            "vectors",
            "train",
            *map(str, text),
            "--model",
            model,
            *_flags(settings),
            "--out",
            VECTORS,
        ]
    )


def build_adapt_command(recipe: Suggestion, model: str) -> str:
    """The command line that follows a suggestion."""
    chosen = ["--preset", recipe.preset, "--max-added", str(recipe.max_added)]
    if recipe.map:
        given = {"--normalize": recipe.map.unit, "--center": recipe.map.center}
        chosen += ["--method", recipe.map.method, *(flag for flag, on in given.items() if on)]
    out = f"adapted-{recipe.name.replace(' ', '-')}"
    return shlex.join(
        [*PROGRAM, "adapt", *chosen, "--vectors", VECTORS, "--model", model, "--out", out]
    )


def build_advise_command(text: Sequence[str | Path], model: str, task: Path | None) -> str:
    """The command line that gives the same advice."""
    return shlex.join(
        [
            *PROGRAM,
            "advise",
            *map(str, text),
            "--model",
            model,
            *(["--task", str(task)] if task else []),
        ]
    )


def _flags(settings: CorpusSettings | None) -> Iterator[str]:
    """The options of a text that are not at their defaults."""
    given, default = asdict(settings or CorpusSettings()), asdict(CorpusSettings())
    for path, flag in CORPUS_FLAGS.items():
        name = path.removeprefix("corpus.")
        if given[name] != default[name]:
            yield from [flag] if given[name] is True else [flag, str(given[name])]


def advise_on(
    corpus: Corpus,
    model: LanguageModel,
    root: Path | None = None,
    task: Path | None = None,
    min_count: int = 5,
    progress: Progress = silent,
    keep: bool = False,
) -> AdviceReport:
    """Advise on a text; with `keep` what is counted is kept in the workspace at `root`.

    Of a text above about 250 MB a seeded sample of lines is counted. Raises InputError for text or
    a task that cannot be read.
    """
    start = time.perf_counter()
    entities = read_entity_words(task, model.splitter) if task else None
    counts = find_saved_counts(root, corpus, model.splitter)
    kept = counts is not None
    if counts is None:
        counts = load_or_count_words(
            root if keep else None, limit_corpus(corpus), model.splitter, progress
        )
    words = entities.counts if entities else None
    advice = advise(
        counts, model.vocabulary, model.splitter, measure_model(model), words, min_count
    )
    return AdviceReport(advice, kept, entities, time.perf_counter() - start)


def find_saved_counts(root: Path | None, corpus: Corpus, splitter: Splitter) -> WordCounts | None:
    """The counts that the workspace at `root` keeps of a text, or of the sample that would be
    counted; None for neither.
    """
    places = list_count_paths(root, corpus, splitter) if root is not None and root.is_dir() else ()
    return next((WordCounts.read(path) for path in places if path.is_file()), None)


def list_count_paths(root: Path, corpus: Corpus, splitter: Splitter) -> tuple[Path, ...]:
    """Where the counts of a text, and of the sample of it that would be counted, are kept once they
    are.
    """
    return tuple(
        counts_path(root, part, splitter) for part in dict.fromkeys((corpus, limit_corpus(corpus)))
    )


def limit_corpus(corpus: Corpus) -> Corpus:
    """The corpus, or where it is too large to be counted in seconds, a seeded sample of its
    lines.
    """
    wanted = estimate_text_bytes(corpus) * corpus.settings.sample
    if wanted <= MOST:
        return corpus
    return replace(
        corpus,
        settings=replace(corpus.settings, sample=round(corpus.settings.sample * MOST / wanted, 4)),
    )


def estimate_text_bytes(corpus: Corpus) -> int:
    """About how much text the files hold, unpacked."""
    return sum(
        path.stat().st_size * (UNPACKED if path.suffix in (".gz", ".parquet") else 1)
        for path in corpus.files
    )


def measure_model(model: LanguageModel) -> ModelSize:
    """Width and parameters of a model; neither for a bare vocabulary, no parameters where the
    weights are not safetensors.
    """
    if model.path.is_file():
        return ModelSize()
    width = model.config.get("hidden_size")
    try:
        return ModelSize(width, count_parameters(model))
    except InputError:
        return ModelSize(width)


def count_parameters(model: LanguageModel) -> int:
    """Numbers in a model's weight files, from their headers; raises InputError where there are
    none.
    """
    from math import prod

    from safetensors import SafetensorError, safe_open

    total = 0
    for file in weight_files(model.path):
        try:
            with safe_open(file, "np") as tensors:
                total += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118 (not a dict)
        except SafetensorError as error:
            raise InputError(f"{file} is not a readable safetensors file: {error}.") from error
    return total


def find_workspace(paths: Sequence[str | Path]) -> Path | None:
    """The workspace that a corpus lies in, where one of its corpora was given; None otherwise."""
    folder = check_path(paths[0]).resolve()
    inside = len(paths) == 1 and folder.parent.name == "corpora" and (folder / MANIFEST).is_file()
    return folder.parent.parent if inside else None
