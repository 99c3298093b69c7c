"""A small text and a small step for the tests of the lab and the command line."""

import random
import time
from pathlib import Path

import numpy as np

from vocadapt.spaces.word2vec.trainer import Word2VecSettings

KNOWN = [
    "the",
    "a",
    "of",
    "and",
    "in",
    "with",
    "is",
    "was",
    "for",
    "patients",
    "patient",
    "disease",
    "cancer",
    "drug",
    "drugs",
    "treatment",
    "heart",
    "blood",
    "cell",
    "cells",
    "pain",
    "acid",
    "trial",
    "trials",
    "placebo",
    "we",
    "study",
    "group",
    "high",
    "low",
    "pressure",
    "hyper",
    "hypo",
]
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
