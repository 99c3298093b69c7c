"""Time every initializer on a target of 30 522 tokens with dimension 768, and FOCUS against its
published implementation.

Random data with the vocabulary overlap of Fast 2023: 12 000 common tokens, 18 522 new ones. Budgets:
syntactic and aligned < 1 s, semantic ≤ 4 s, focus < 10 s and at most 1/3 of the published
implementation on the same input, omp for 5 000 tokens < 60 s.

Baseline: `focus_additional_token_initialization` of deepfocus (PyPI; with entmax and fastdist) if
FOCUS_AT names the folder in which it is installed; else a reimplementation of its loop, with a full
sort and a weighted sum for each token. Run `python -m benchmarks.initializers` on an idle machine.
"""

import os
import sys
import time
import types
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

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
BUDGETS = {"syntactic": 1, "aligned": 1, "semantic": 4, "focus": 10, "omp": 60}


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


def main():
    print(
        "load of the machine:",
        ", ".join(f"{x:.1f}" for x in os.getloadavg()),
        f"on {os.cpu_count()} cores",
    )
    material = materials(np.random.default_rng(1))
    material.donors  # noqa: B018 (cached: computed outside the timed part)
    print(
        f"{len(material.plan.new_embeddings):,} new tokens, {len(material.donors):,} common, dimension {DIM}"
    )
    start = time.perf_counter()
    material = replace(material, alignment=fit_alignment(material.target, material.model))
    print(f"  fit_alignment     {time.perf_counter() - start:6.2f} s")
    few = replace(material, plan=replace(material.plan, added=material.plan.added[:OMP]))
    for method in INITIALIZERS:
        if method in LEFT_OUT:
            continue
        given = few if method == "omp" else material
        start = time.perf_counter()
        initialize(given, InitializerSettings(method))
        budget = f"budget {BUDGETS[method]} s" if method in BUDGETS else ""
        print(
            f"  {method:<17} {time.perf_counter() - start:6.2f} s  {len(given.plan.new_embeddings):,}"
            f" tokens  {budget}",
            flush=True,
        )
    compare_focus(material)


def compare_focus(material, rounds=2):
    """Time FOCUS against the published loop, best of alternating rounds, and compare their
    embeddings.
    """
    ours, slow = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        rows = initialize(material, InitializerSettings("focus"))
        ours.append(time.perf_counter() - start)
        seconds, found, name = published(material)
        slow.append(seconds)
    donors = np.mean([len(source.donors) for source in rows.provenance])
    off = np.abs(found - rows.matrix).max()
    print(f"  published focus   {min(slow):6.2f} s  ({name}), ours {min(ours):.2f} s", flush=True)
    print(
        f"    {min(slow) / min(ours):.1f} × ours (budget 3); largest difference {off:.1e};"
        f" {donors:.0f} donors per embedding"
    )


if __name__ == "__main__":
    main()
