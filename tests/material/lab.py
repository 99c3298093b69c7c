"""A small text and a small step for the tests of the lab and the command line."""

import random
import time
from pathlib import Path

import numpy as np

from tests.material.tiny_bert import WORDS
from vocadapt.spaces.word2vec.trainer import Word2VecSettings

KNOWN = [word for word in WORDS if word.isalpha() and word not in ("diseases", "tachy", "cafe")]
QUICK = Word2VecSettings(epochs=1, min_count=1, workers=1)
LONG = 60  # seconds
NEW = ["aspirin", "euthymia", "dyspnea", "warfarin", "sepsis"]


def write_text(path: Path, lines: int = 300, seed: int = 1) -> Path:
    """Lines of ten words each, the model's own words and five that it lacks."""
    rng = random.Random(seed)
    path.write_text(
        "".join(" ".join(rng.choices(KNOWN + NEW, k=10)) + " .\n" for _ in range(lines)),
        encoding="utf-8",
    )
    return path


def write_documents(path: Path) -> Path:
    """Write forty documents of eight invented sentences, parted by empty lines."""
    rng = np.random.default_rng(1)
    documents = [
        [" ".join(rng.choice([*KNOWN, *NEW], size=6)) + " ." for _ in range(8)] for _ in range(40)
    ]
    path.write_text("\n\n".join("\n".join(own) for own in documents) + "\n", encoding="utf-8")
    return path


def wait_for(job, state, seconds=LONG):
    end = time.monotonic() + seconds
    while job.status().state != state:
        assert time.monotonic() < end, f"{job.status()}\n{job.log()}"
        time.sleep(0.05)
    return job.status()
