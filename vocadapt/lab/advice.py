"""Advice on a text and a model: counts that the workspace keeps where it has them, else counted now, all of it or a sample."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError
from vocadapt.lab.commands import CORPUS_FLAGS, PROGRAM
from vocadapt.lab.corpora import counts_path, kept_counts
from vocadapt.lab.manifest import MANIFEST
from vocadapt.models.language_model import LanguageModel, weight_files
from vocadapt.progress import Progress, silent
from vocadapt.text.corpus import Corpus, CorpusSettings
from vocadapt.text.entities import EntityWords, read_entity_words
from vocadapt.text.splitter import Splitter
from vocadapt.text.words import WordCounts
from vocadapt.vocabulary.advise import Advice, Suggestion, advise
from vocadapt.vocabulary.gains import ModelSize

VECTORS = "domain-vectors"  # the folder that the suggested command lines share
MOST = 250_000_000  # bytes of text that are counted: some 15 s on a 2.5 GHz core (17 to 30 MB a second)
UNPACKED = 4  # bytes of text to a byte of .gz or parquet, about


@dataclass(frozen=True)
class Asked:
    """An advice, whether its counts were kept already, the words of the task file, and the seconds it took."""

    advice: Advice
    kept: bool
    task: EntityWords | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The answer of `vocadapt advise --json`, without the command lines."""
        task = self.task and {"entities": self.task.entities, "sentences": self.task.sentences, "tokens": self.task.tokens}
        return {**self.advice.as_json(), "task_file": task, "counts": "kept" if self.kept else "counted", "seconds": self.seconds}


def training_command(paths: Sequence[str | Path], model: str, settings: CorpusSettings = CorpusSettings()) -> str:
    """The command line that every suggested recipe needs first: the word vectors of the text."""
    given, default = asdict(settings), asdict(CorpusSettings())
    flags = [[flag] if given[name] is True else [flag, str(given[name])] for name, flag in _corpus_flags() if given[name] != default[name]]
    return shlex.join([*PROGRAM, "vectors", "train", *map(str, paths), "--model", model, *sum(flags, []), "--out", VECTORS])


def command_of(recipe: Suggestion, model: str) -> str:
    """The command line that follows a suggestion."""
    chosen = ["--preset", recipe.preset, "--max-added", str(recipe.max_added)]
    if recipe.map:
        given = {"--unit": recipe.map.unit, "--centre": recipe.map.centre}
        chosen += ["--method", recipe.map.method, *(flag for flag, on in given.items() if on)]
    out = f"adapted-{recipe.name.replace(' ', '-')}"
    return shlex.join([*PROGRAM, "adapt", *chosen, "--vectors", VECTORS, "--model", model, "--out", out])


def _corpus_flags() -> list[tuple[str, str]]:
    """The settings of a text and their flags."""
    return [(path.removeprefix("corpus."), flag) for path, flag in CORPUS_FLAGS.items()]


def advise_on(
    corpus: Corpus,
    model: LanguageModel,
    root: Path | None = None,
    task: Path | None = None,
    min_count: int = 5,
    progress: Progress = silent,
    keep: bool = False,
) -> Asked:
    """Advise on a text; with `keep` what is counted is kept in the workspace at `root`.

    Of a text above about 250 MB a seeded sample of lines is counted. Raises InputError for text or a task that cannot be read.
    """
    start = time.perf_counter()
    entities = read_entity_words(task, model.splitter) if task else None
    counts = found_counts(root, corpus, model.splitter)
    kept = counts is not None
    if counts is None:
        counts = kept_counts(root if keep else None, bounded(corpus), model.splitter, progress)
    words = entities.counts if entities else None
    advice = advise(counts, model.vocabulary, model.splitter, size_of(model), words, min_count)
    return Asked(advice, kept, entities, time.perf_counter() - start)


def found_counts(root: Path | None, corpus: Corpus, splitter: Splitter) -> WordCounts | None:
    """The counts that the workspace at `root` keeps of a text, or of the sample that would be counted; None for neither."""
    if root is None or not root.is_dir():
        return None
    for part in dict.fromkeys((corpus, bounded(corpus))):
        path = counts_path(root, part, splitter)
        if path.is_file():
            return WordCounts.read(path)
    return None


def bounded(corpus: Corpus) -> Corpus:
    """The corpus, or where it is too large to be counted in seconds, a seeded sample of its lines."""
    wanted = text_bytes(corpus) * corpus.settings.sample
    if wanted <= MOST:
        return corpus
    return replace(corpus, settings=replace(corpus.settings, sample=round(corpus.settings.sample * MOST / wanted, 4)))


def text_bytes(corpus: Corpus) -> int:
    """About how much text the files hold, unpacked."""
    return sum(path.stat().st_size * (UNPACKED if path.suffix in (".gz", ".parquet") else 1) for path in corpus.files)


def size_of(model: LanguageModel) -> ModelSize:
    """Width and parameters of a model; neither for a bare vocabulary, no parameters where the weights are not safetensors."""
    if model.path.is_file():
        return ModelSize()
    width = model.config.get("hidden_size")
    try:
        return ModelSize(width, count_parameters(model))
    except InputError:
        return ModelSize(width)


def count_parameters(model: LanguageModel) -> int:
    """Numbers in a model's weight files, from their headers; raises InputError where there are none."""
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


def workspace_of(paths: Sequence[str | Path]) -> Path | None:
    """The workspace that a corpus lies in, where one of its corpora was given; None otherwise."""
    folder = Path(paths[0]).resolve()
    inside = len(paths) == 1 and folder.parent.name == "corpora" and (folder / MANIFEST).is_file()
    return folder.parent.parent if inside else None
