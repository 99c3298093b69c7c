"""Free room on the disk: looked at before a step starts, so that minutes of work do not end on a full disk."""

import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.files import MEGABYTE, show_path
from vocadapt.lab.spec import CorpusStep, FinetuneStep, Spec, VectorsStep

FLOOR = 50 * MEGABYTE  # every step: logs, records, tokenizers, figures
FLOAT = 4  # bytes
WIDTH = 768  # dimensions of vectors that are made to fit a model
BYTES_PER_WORD = 6  # of running text
HEAPS = 30.0  # distinct words grow like this many times the square root of all words (Heaps' law)
WEIGHTS = (".safetensors", ".bin")
MODELS = ("model", "further", "finetune", "convert")  # steps that write the model they are given, changed


def check_disk_space(place: Path, needed: int) -> None:
    """Raise InputError where the disk of a folder (that may not exist yet) has less room than `needed` bytes."""
    folder = Path(os.path.abspath(place))
    while not folder.is_dir():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        problem = f"{show_path(place)}: about {_format_size(needed)} are needed, and the disk has {_format_size(free)} free."
        raise InputError(problem, "Make room, or choose another place.")


def estimate_bytes(spec: Spec) -> int:
    """Return about how many bytes a step writes: a lower estimate, so that nothing is refused that would have fitted."""
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
    """How many networks a step leaves: one for each run of a fine-tuning."""
    return len(spec.settings.seeds) if isinstance(spec.settings, FinetuneStep) else 1


def _measure_weights(model: str) -> int:
    """Bytes of the weights in a model's folder, of one form where it holds two; 0 for a name on the hub."""
    folder = Path(model).expanduser()
    if not os.path.isdir(folder):  # unlike Path, false for a name too long
        return 0
    sizes = [sum(file.stat().st_size for file in folder.glob(f"*{ending}")) for ending in WEIGHTS]
    return max(sizes)


def _measure_files(paths: Iterable[str]) -> int:
    """Bytes of files, and of the files in folders; links followed, what cannot be read left out."""
    total = 0
    for path in map(Path, paths):
        files = path.rglob("*") if os.path.isdir(path) else [path]
        total += sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    return total


def _format_size(bytes_: int) -> str:
    return f"{bytes_ / 1e9:.1f} GB" if bytes_ >= 1e9 else f"{bytes_ / 1e6:.0f} MB"
