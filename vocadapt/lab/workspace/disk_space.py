"""Check of the free disk space before a step starts."""

import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import MEGABYTE, expand_path, show_path
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.vectors import VectorsStep

FLOOR = 50 * MEGABYTE  # any step: logs, records, tokenizers, figures
FLOAT = 4  # bytes
WIDTH = 768  # dimension of vectors trained for a model
BYTES_PER_WORD = 6  # of running text
HEAPS = 30.0  # Heaps' law: distinct words ≈ HEAPS · √words
WEIGHTS = (".safetensors", ".bin")
MODELS = (
    "model",
    "continued",
    "finetune",
    "convert",
)  # steps that write a changed copy of their model


def check_disk_space(place: Path, needed: int) -> None:
    """Raise InputError if the disk of a folder (which need not exist yet) has fewer than `needed`
    bytes free.
    """
    folder = Path(os.path.abspath(place))
    while not folder.is_dir():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        problem = (
            f"{show_path(place)}: about {_format_size(needed)} are needed, but the disk has"
            f" {_format_size(free)} free."
        )
        raise InputError(problem, "Make room, or choose another place.")


def estimate_bytes(spec: Spec) -> int:
    """Estimate the bytes that a step writes, from below, so that no step is refused that would
    fit.
    """
    if spec.step in MODELS:
        return FLOOR + _count_networks(spec) * sum(map(_measure_weights, spec.inputs["model"]))
    if spec.step == "corpus" and isinstance(spec.settings, CorpusStep) and spec.settings.copy:
        return FLOOR + _measure_files(spec.inputs["text"])
    if isinstance(spec.settings, VectorsStep):
        words = _measure_files(spec.inputs["text"]) / BYTES_PER_WORD
        return FLOOR + int(HEAPS * math.sqrt(words)) * (spec.settings.word2vec.dim or WIDTH) * FLOAT
    if spec.step == "import":
        return FLOOR + _measure_files(spec.inputs["file"])
    return FLOOR


def _count_networks(spec: Spec) -> int:
    """Return how many networks a step writes: one for each run of a fine-tuning."""
    return len(spec.settings.seeds) if isinstance(spec.settings, FinetuneStep) else 1


def _measure_weights(model: str) -> int:
    """Return the bytes of the weights of a model folder, of one format if it has two; 0 for a hub
    name.
    """
    folder = expand_path(model)
    if not os.path.isdir(folder):  # unlike Path, false for a name too long
        return 0
    return max(_measure_files(map(str, folder.glob(f"*{ending}"))) for ending in WEIGHTS)


def _measure_files(paths: Iterable[str]) -> int:
    """Return the total bytes of files and folders; links are followed, unreadable files skipped."""
    total = 0
    for path in map(Path, paths):
        files = path.rglob("*") if os.path.isdir(path) else [path]
        total += sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    return total


def _format_size(bytes_: int) -> str:
    return f"{bytes_ / 1e9:.1f} GB" if bytes_ >= 1e9 else f"{bytes_ / 1e6:.0f} MB"
