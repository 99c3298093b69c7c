"""Seconds of every initializer for 18,522 new tokens of dimension 768, and FOCUS against its
published implementation.

Random data with the vocabulary overlap of Fast 2023: 12,000 common tokens, 18,522 new ones; 5,000
new ones for omp. The baseline of FOCUS: `focus_additional_token_initialization` of deepfocus (PyPI;
with entmax and fastdist) if FOCUS_AT names the folder in which it is installed; else a
reimplementation of its loop, with a full sort and a weighted sum for each token.
"""

import os
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np

from benchmarks._figures import Figure, run, time_in_turn
from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
    initialize,
)
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

TARGET, COMMON, DIM, OMP = 30_522, 12_000, 768, 5_000
# identity equals target here; the others need a network, a text or a glossary
LEFT_OUT = ("identity", "joined", "distilled", "attention", "grounded")
TARGET_SECONDS, OMP_TARGET = 2, 60


def materials(rng):
    """Build a model and a target with COMMON common tokens; the new tokens consist of the model's
    letters, and a third of them are continuations.
    """
    letters = [chr(ord("a") + i) for i in range(26)]
    pieces = [*letters, *(f"##{letter}" for letter in letters)]
    common = [f"{a}{b}{c}{d}" for a in letters for b in letters for c in letters for d in "aeiou"][
        : COMMON - len(pieces)
    ]
    base = WordPieceVocabulary(tuple(pieces + common), frozenset())
    digits = str.maketrans("0123456789", "abcdefghij")
    new = tuple(f"{'##' * (i % 3 == 0)}q{i:06d}".translate(digits) for i in range(TARGET - COMMON))
    model = EmbeddingSpace(base.tokens, rng.normal(size=(COMMON, DIM)).astype(np.float32))
    space = EmbeddingSpace(base.tokens + new, rng.normal(size=(TARGET, DIM)).astype(np.float32))
    return Materials(
        VocabularyPlan(base, tuple(AddedWord(token, ()) for token in new)), model, target=space
    )


def published(material):
    """Run the published loop on the same vectors; return its seconds, embeddings and name."""
    space, model, names = material.target, material.model, material.donors
    new = material.plan.new_embeddings
    folder = os.environ.get("FOCUS_AT")
    if folder:
        import torch

        sys.path.append(folder)
        sys.modules["deepfocus.fasttext_embs"] = types.ModuleType(
            "fasttext_embs"
        )  # a stub: the original trains fastText, which is not needed here
        sys.modules["deepfocus.fasttext_embs"].load_target_token_embedding = None
        sys.modules["deepfocus.logger"] = types.ModuleType("logger")
        sys.modules["deepfocus.logger"].logger = SimpleNamespace(debug=lambda *a, **k: None)
        from deepfocus.focus import focus_additional_token_initialization

        rows = torch.from_numpy(model.matrix[model.rows(names)].copy())
        overlap = {
            t: SimpleNamespace(auxiliary_embedding=space[t], source_embedding=rows[i])
            for i, t in enumerate(names)
        }
        fresh = {
            t: SimpleNamespace(auxiliary_embedding=space[t], target=SimpleNamespace(id=i))
            for i, t in enumerate(new)
        }
        start = time.perf_counter()
        with torch.no_grad():
            found = focus_additional_token_initialization(
                overlap, fresh, torch.zeros(len(new), DIM), "cpu"
            )
        return time.perf_counter() - start, found.numpy(), "deepfocus"
    start = time.perf_counter()
    cosines = space.unit[space.rows(new)] @ space.unit[space.rows(names)].T
    donors, found = model.matrix[model.rows(names)], np.zeros((len(new), DIM), np.float32)
    for row, scores in enumerate(cosines):
        ordered = np.sort(scores)[::-1]
        sums = np.cumsum(ordered) - 1
        support = int((ordered * np.arange(1, len(ordered) + 1) > sums).sum())
        weights = np.maximum(scores - sums[support - 1] / support, 0)
        found[row] = (donors[weights > 0] * weights[weights > 0][:, None]).sum(axis=0)
    return time.perf_counter() - start, found, "reimplemented loop"


def measure(full: bool) -> Iterator[Figure]:
    """Time each initializer once, and FOCUS in turn with the published loop."""
    material = materials(np.random.default_rng(1))
    material.donors  # noqa: B018 (cached: computed outside the timed part)
    alignment = fit_alignment(material.target, material.model)
    material = replace(material, alignment=alignment)
    few = replace(material, plan=replace(material.plan, added=material.plan.added[:OMP]))
    for method in INITIALIZERS:
        if method in LEFT_OUT:
            continue
        given = few if method == "omp" else material
        work = partial(initialize, given, InitializerSettings(method))
        seconds = time_in_turn({method: work}, 1)[method]
        target = OMP_TARGET if method == "omp" else TARGET_SECONDS
        label = f"{method}, {len(given.plan.new_embeddings):,} tokens"
        yield Figure(label, seconds, target=target)
    yield from compare_focus(material)


def compare_focus(material: Materials) -> Iterator[Figure]:
    """Time FOCUS in turn with the published loop, and compare their embeddings."""
    ours, slow = [], []
    for _ in range(2):
        start = time.perf_counter()
        rows = initialize(material, InitializerSettings("focus"))
        ours.append(time.perf_counter() - start)
        seconds, found, name = published(material)
        slow.append(seconds)
    off = np.abs(found - rows.matrix).max()
    yield Figure(
        "focus",
        tuple(ours),
        baseline=tuple(slow),
        against=name,
        speed=True,
        target=3,
        at_least=True,
        note=f"largest difference {off:.1e}",
    )


if __name__ == "__main__":
    sys.exit(run(measure))
